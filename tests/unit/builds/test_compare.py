"""Two builds of the same inputs: each difference is named, and nothing is ever compared with itself."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ci.builds.compare import MODE, OUTSIDE, WHOLE, compare
from ci.builds.elf import sections
from ci.errors import NotComparable

PROGRAM = Path(sys.executable).resolve()


def pair(folder: Path, change: Callable[[bytearray], None]) -> tuple[dict[str, Path], dict[str, Path]]:
    """A real program, and a copy of it with a change."""
    content = bytearray(PROGRAM.read_bytes())
    (folder / "stored").write_bytes(content)
    change(content)
    (folder / "fresh").write_bytes(content)
    return {"program": folder / "stored"}, {"program": folder / "fresh"}


def flip(at: int) -> Callable[[bytearray], None]:
    def change(content: bytearray) -> None:
        content[at] ^= 1

    return change


def texts(folder: Path, stored: dict[str, str], fresh: dict[str, str]) -> tuple[dict[str, Path], dict[str, Path]]:
    sides = []
    for side, files in (("stored", stored), ("fresh", fresh)):
        (folder / side).mkdir()
        for name, text in files.items():
            (folder / side / name).write_text(text, encoding="utf-8")
        sides.append({name: folder / side / name for name in files})
    return sides[0], sides[1]


def words(found: object) -> list[tuple[str, str, str]]:
    assert isinstance(found, tuple)
    return [(item.file, item.where, item.what) for item in found]


def test_equal_builds_have_no_difference(tmp_path: Path) -> None:
    assert compare(*pair(tmp_path, lambda content: None)) == ()


@pytest.mark.parametrize("name", [".text", ".rodata", ".dynstr"])
def test_one_changed_byte_is_named_by_section_and_offset(tmp_path: Path, name: str) -> None:
    section = sections(PROGRAM)[name]
    (found,) = compare(*pair(tmp_path, flip(section.offset + 3)))
    assert (found.file, found.where) == ("program", name)
    assert found.what == f"{section.size:,} bytes; first differs at byte 0x3"


def test_a_change_in_two_sections_is_named_twice(tmp_path: Path) -> None:
    known = sections(PROGRAM)

    def change(content: bytearray) -> None:
        content[known[".text"].offset] ^= 1
        content[known[".dynstr"].offset] ^= 1

    assert {found.where for found in compare(*pair(tmp_path, change))} == {".text", ".dynstr"}


def test_a_change_outside_all_sections_is_no_silence(tmp_path: Path) -> None:
    padding_of_the_header = 9
    (found,) = compare(*pair(tmp_path, flip(padding_of_the_header)))
    assert (found.where, "byte 0x9" in found.what) == (OUTSIDE, True)


def test_a_file_that_is_cut_short_is_compared_as_bytes(tmp_path: Path) -> None:
    def change(content: bytearray) -> None:
        del content[100:]

    (found,) = compare(*pair(tmp_path, change))
    size = PROGRAM.stat().st_size
    assert (found.where, found.what) == (WHOLE, f"{size:,} bytes, fresh 100; first differs at byte 0x64")


def test_files_without_sections_are_compared_by_their_first_byte_that_differs(tmp_path: Path) -> None:
    found = compare(*texts(tmp_path, {"LICENSE": "MIT one", "same": "x"}, {"LICENSE": "MIT two!", "same": "x"}))
    assert words(found) == [("LICENSE", WHOLE, "7 bytes, fresh 8; first differs at byte 0x4")]


def test_missing_and_extra_files_are_named(tmp_path: Path) -> None:
    found = compare(*texts(tmp_path, {"a": "1", "b": "2"}, {"b": "2", "c": "3"}))
    assert words(found) == [("a", WHOLE, "missing from the fresh build"), ("c", WHOLE, "only in the fresh build")]


def test_a_program_that_cannot_be_started_any_more_differs(tmp_path: Path) -> None:
    stored, fresh = texts(tmp_path, {"a": "1"}, {"a": "1"})
    fresh["a"].chmod(0o755)
    assert words(compare(stored, fresh)) == [("a", MODE, "executable in one of the builds only")]


@pytest.mark.parametrize("how", ["the same", "hard link", "link"])
def test_a_build_is_never_compared_with_itself(tmp_path: Path, how: str) -> None:
    stored, other = tmp_path / "stored", tmp_path / "other"
    stored.write_bytes(b"1")
    if how == "hard link":
        os.link(stored, other)
    elif how == "link":
        other.symlink_to(stored)
    with pytest.raises(NotComparable, match="the same file on both sides"):
        compare({"a": stored}, {"a": stored if how == "the same" else other})


@pytest.mark.parametrize("empty", [0, 1])
def test_a_build_without_files_is_equal_to_nothing(tmp_path: Path, empty: int) -> None:
    (tmp_path / "a").write_bytes(b"1")
    sides = [{"a": tmp_path / "a"}, {"a": tmp_path / "a"}]
    sides[empty] = {}
    with pytest.raises(NotComparable, match="no files"):
        compare(sides[0], sides[1])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(at=st.integers(0, PROGRAM.stat().st_size - 1))
def test_no_changed_byte_goes_unseen(tmp_path: Path, at: int) -> None:
    shutil.rmtree(tmp_path / "here", ignore_errors=True)
    (tmp_path / "here").mkdir()
    assert compare(*pair(tmp_path / "here", flip(at)))


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=st.binary(max_size=300))
def test_any_bytes_behind_the_magic_of_elf_are_read_or_given_up(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd").write_bytes(b"\x7fELF\x02\x01\x01" + content)
    sections(tmp_path / "odd")
