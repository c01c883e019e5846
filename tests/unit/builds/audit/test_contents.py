"""The archive as a heap of files."""

from dataclasses import replace

import pytest

from ci.builds.audit.contents import companions, links, members, modes, parts, stated, version
from ci.builds.audit.values import Member, Stated
from ci.builds.elf_facts import ElfFacts
from ci.outcome import Verdict
from tests.helpers.bundles import LANE, sound, strange, the, verdict_of, with_member


@pytest.mark.parametrize("rule", [members, links, modes, parts, stated, version])
def test_a_sound_archive(rule: object) -> None:
    assert callable(rule)
    assert verdict_of(rule(sound())) is Verdict.PASS


def test_entries_that_nobody_should_unpack() -> None:
    finding = the(members(sound(refused=(("../../x", "outside"),))))
    assert (finding.file, finding.found) == ("../../x", "outside")


@pytest.mark.parametrize("tops", [(), ("a", "b")])
def test_an_archive_without_one_folder(tops: tuple[str, ...]) -> None:
    assert the(members(sound(tops=tops))).found.startswith(f"{len(tops)} top entries")


def test_a_good_link() -> None:
    assert verdict_of(links(with_member(Member(name="liba.so", kind="link", to="./libllama.so.0")))) is Verdict.PASS


@pytest.mark.parametrize(
    ("name", "to", "words"),
    [
        ("liba.so", "libgone.so.0", "it leads to nothing"),
        ("liba.so", "liba.so", "it leads to nothing"),
        ("liba.so", "../libllama.so.0", "it leads out of the archive"),
        ("liba.so", "..", "it leads out of the archive"),
        ("lib/a.so", "../../x", "it leads out of the archive"),
        ("liba.so", "/lib/libc.so.6", "it leads out of the archive"),
        ("liba.so", "", "it leads to nothing"),
    ],
)
def test_a_bad_link(name: str, to: str, words: str) -> None:
    bundle = with_member(Member(name=name, kind="link", to=to))
    for finding in (the(links(bundle)), the(links(strange(bundle)))):
        assert (finding.file, finding.words) == (name, words)


@pytest.mark.parametrize(
    ("name", "mode", "words"),
    [
        ("llama-server", 0o644, "a program that cannot be started"),
        ("llama-server", 0o700, "expected 755"),
        ("llama-server", 0o4755, "it borrows the rights of its owner or group, or is sticky"),
        ("llama-server", 0o2755, "it borrows the rights of its owner or group, or is sticky"),
        ("llama-server", 0o757, "others may change it"),
        ("libllama.so.0", 0o775, "others may change it"),
        ("libllama.so.0", 0o600, "expected 755 or 644"),
        ("LICENSE", 0o755, "expected 644"),
        ("LICENSE", 0o666, "others may change it"),
    ],
)
def test_bad_modes(name: str, mode: int, words: str) -> None:
    finding = the(modes(with_member(Member(name=name, mode=mode))))
    assert (finding.file, finding.found, finding.words) == (name, f"{mode:04o}", words)


def test_modes_of_a_library_and_of_folders() -> None:
    assert verdict_of(modes(with_member(Member(name="libllama.so.0", mode=0o644)))) is Verdict.PASS
    assert verdict_of(modes(with_member(Member(name="lib", kind="folder", mode=0o755)))) is Verdict.PASS
    assert verdict_of(modes(with_member(Member(name="lib", kind="folder", mode=0o777)))) is Verdict.FAIL


def test_only_harmful_modes_of_a_stranger_count() -> None:
    assert verdict_of(modes(strange(with_member(Member(name="README", mode=0o755))))) is Verdict.PASS
    assert verdict_of(modes(strange(with_member(Member(name="README", mode=0o666))))) is Verdict.FAIL
    assert verdict_of(modes(strange(with_member(Member(name="llama-server", mode=0o644))))) is Verdict.FAIL


@pytest.mark.parametrize("name", ["llama-server", "libggml-cuda.so"])
def test_a_missing_part(name: str) -> None:
    bundle = sound()
    finding = the(parts(replace(bundle, elves={n: e for n, e in bundle.elves.items() if n != name})))
    assert (finding.file, finding.found) == (name, "not in the archive")


def test_a_part_that_cannot_be_read_is_there() -> None:
    bundle = sound()
    elves = {name: elf for name, elf in bundle.elves.items() if name != "llama-server"}
    assert verdict_of(parts(replace(bundle, elves=elves, unreadable={"llama-server": "cut"}))) is Verdict.PASS


def test_a_stranger_promises_no_parts() -> None:
    assert the(parts(strange(sound())), Verdict.UNPROVEN).found == "programs: llama-server"


def test_companions_are_all_there_and_nothing_else() -> None:
    own = {name: ElfFacts() for name in LANE.companions}
    assert verdict_of(companions(sound(elves=own, companions=LANE))) is Verdict.PASS
    missing = the(companions(sound(elves={"libcudart.so.13": ElfFacts()}, companions=LANE)))
    assert (missing.file, missing.found) == ("libcublas.so.13", "not in the archive")
    extra = the(companions(sound(elves={**own, "libnvblas.so.13": ElfFacts()}, companions=LANE)))
    assert (extra.file, extra.found) == ("libnvblas.so.13", "none of the lane's libraries")
    older = the(
        companions(sound(elves={**own, "libcudart.so.13": ElfFacts(soname="libcudart.so.12")}, companions=LANE))
    )
    assert (older.file, older.found) == ("libcudart.so.13", "it calls itself libcudart.so.12")


def test_an_archive_that_says_nothing_of_itself() -> None:
    assert the(stated(sound(stated=None))).found == "no build.json"
    assert the(stated(strange(sound())), Verdict.UNPROVEN).found == "no build.json"


def test_an_archive_whose_files_are_others() -> None:
    own = Stated(label="b7-speed.1", target="sm75", lane="cu13", fault="LICENSE: missing")
    assert the(stated(sound(stated=own))).found == "LICENSE: missing"


@pytest.mark.parametrize(("target", "lane", "told"), [("sm120", "cu13", "sm120-cu13"), ("cpu", "", "cpu")])
def test_an_archive_of_another_target(target: str, lane: str, told: str) -> None:
    finding = the(stated(sound(stated=Stated(label="b7-speed.1", target=target, lane=lane))))
    assert (finding.found, finding.expected) == (told, "sm75-cu13")


@pytest.mark.parametrize("driver", ["", "525", "58"])
def test_an_archive_that_asks_for_another_driver_or_for_none(driver: str) -> None:
    own = Stated(label="b7-speed.1", target="sm75", lane="cu13", minimum_driver=driver)
    finding = the(stated(sound(stated=own)))
    assert (finding.found, finding.expected) == (f"minimum driver {driver or 'not stated'}", "minimum driver 580")


def test_an_archive_under_the_name_of_another_one() -> None:
    bundle = sound(archive="llama-b7-speed.1-bin-linux-sm120-cu13-x64.tar.gz")
    finding = the(stated(bundle))
    assert finding.found == "llama-b7-speed.1-bin-linux-sm120-cu13-x64.tar.gz"
    assert finding.expected == "the file's name to be llama-b7-speed.1-bin-linux-sm75-cu13-x64.tar.gz"


def test_a_name_that_promises_nothing_is_no_fault() -> None:
    assert the(stated(sound(archive="download (1).tar.gz")), Verdict.PASS).rule == "build.json"


@pytest.mark.parametrize("said", ["version: 7 (b7-speed.10)", "version: 7 (b7)", "illegal instruction", ""])
def test_another_version(said: str) -> None:
    assert the(version(sound(version=said))).file == "llama-server"


@pytest.mark.parametrize("said", ["version: 0.6.0-dev (build 7, commit b7-speed.1)", "b7-speed.1"])
def test_the_version_of_the_label(said: str) -> None:
    assert verdict_of(version(sound(version=said))) is Verdict.PASS


def test_a_version_that_nobody_asked_for_or_can_compare() -> None:
    finding = the(version(sound(version=None, version_untold="not run")), Verdict.UNPROVEN)
    assert finding.found == "not run"
    assert the(version(sound(stated=None)), Verdict.UNPROVEN).found == "version: 7 (b7-speed.1)"
