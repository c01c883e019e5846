"""How binaries were linked, and what they tell of the machine that made them."""

from typing import Any

import pytest

from ci.builds.audit.hardening import build_paths, hardening, machine, readable, safety, stripped
from ci.outcome import Verdict
from tests.helpers.bundles import sound, strange, the, verdict_of, with_elf

LIB = "libllama.so.0"


@pytest.mark.parametrize("rule", [readable, machine, hardening, safety, stripped, build_paths])
def test_a_sound_archive(rule: Any) -> None:
    assert verdict_of(rule(sound())) is Verdict.PASS


def test_a_file_that_cannot_be_read() -> None:
    finding = the(readable(sound(unreadable={"libx.so": "cut"})))
    assert (finding.file, finding.found) == ("libx.so", "cut")


def test_an_archive_without_programs() -> None:
    assert the(readable(sound(elves={}))).found == "no program and no library"


def test_another_machine() -> None:
    bundle = with_elf(LIB, machine="EM_AARCH64")
    assert (the(machine(bundle)).file, the(machine(bundle)).found) == (LIB, "EM_AARCH64")
    assert the(machine(strange(bundle)), Verdict.UNPROVEN).found == "EM_AARCH64 x64"


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"relro": "partial"}, "partial RELRO"),
        ({"relro": "none"}, "none RELRO"),
        ({"executable_stack": True}, "executable stack"),
        ({"text_relocations": True}, "text relocations"),
        ({"program": True, "position_independent": False}, "no PIE"),
        ({"executable_stack": True, "relro": "none"}, "executable stack, none RELRO"),
    ],
)
def test_unhardened(changes: dict[str, Any], found: str) -> None:
    finding = the(hardening(with_elf(LIB, **changes)))
    assert (finding.file, finding.found) == (LIB, found)


def test_of_another_makers_libraries_only_what_harms_a_user_is_judged() -> None:
    assert verdict_of(safety(with_elf(LIB, relro="partial"))) is Verdict.PASS
    assert the(safety(with_elf(LIB, executable_stack=True))).found == "executable stack"
    assert the(safety(with_elf(LIB, text_relocations=True))).found == "text relocations"


def test_debug_information() -> None:
    assert the(stripped(with_elf(LIB, stripped=False))).file == LIB


def test_build_paths() -> None:
    finding = the(build_paths(with_elf(LIB, paths=("/src/a.cpp", "/build/b.h"))))
    assert (finding.file, finding.found) == (LIB, "/src/a.cpp, /build/b.h")
