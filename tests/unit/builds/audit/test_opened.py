"""Taking a stranger's archive apart: nothing is written outside, nothing is believed."""

import bz2
import gzip
import lzma
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ci.builds.audit import opened as module
from ci.builds.audit.opened import Opened, open_archive
from ci.errors import NotAnArchive
from tests.helpers.archives import Member, tar_bytes

FILE = Member(name=b"top/a", data=b"content", mode=0o755)


def packed(tmp_path: Path, members: Sequence[Member], pack: Callable[[bytes], bytes] = gzip.compress) -> Path:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(pack(tar_bytes(members)))
    return path


def opened(tmp_path: Path, *members: Member) -> Opened:
    return open_archive(packed(tmp_path, members), tmp_path / "into")


def link(name: bytes, to: bytes, kind: bytes = tarfile.SYMTYPE) -> Member:
    return Member(name=name, kind=kind, link=to)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packings(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    found = open_archive(packed(tmp_path, [FILE], pack), tmp_path / "into")
    assert (found.folder / "a").read_bytes() == b"content"
    assert found.members["a"].mode == 0o755
    assert (found.tops, found.refused) == (("top",), ())


def test_folders_links_and_modes_are_noted(tmp_path: Path) -> None:
    found = opened(
        tmp_path,
        Member(name=b"top/", kind=tarfile.DIRTYPE, mode=0o755),
        Member(name=b"top/lib/b", mode=0o4755),
        link(b"top/lib/c", b"../a"),
        link(b"top/lib/d", b"top/a", tarfile.LNKTYPE),
    )
    assert {name: (member.kind, member.to) for name, member in found.members.items()} == {
        ".": ("folder", ""),
        "lib/b": ("file", ""),
        "lib/c": ("link", "../a"),
        "lib/d": ("link", "../../top/a"),
    }
    assert found.members["lib/b"].mode == 0o4755
    assert not (found.folder / "lib/c").is_symlink()


@pytest.mark.parametrize(
    ("member", "words"),
    [
        (Member(name=b"../evil"), "outside"),
        (Member(name=b"/etc/evil"), "outside"),
        (Member(name=b"top/../../evil"), "outside"),
        (Member(name=b"top/a\nb"), "cannot be shown"),
        (Member(name=b"top/a\x1b[31m"), "cannot be shown"),
        (Member(name=b"top/\xff"), "cannot be shown"),
        (link(b"top/l", b"a\x1bb"), "cannot be shown"),
        (Member(name=b"top/" + b"a" * 201), "more than 200 bytes"),
        (Member(name=b"top/pipe", kind=tarfile.FIFOTYPE), "neither"),
        (Member(name=b"top/null", kind=tarfile.CHRTYPE), "neither"),
        (FILE, "twice"),
        (Member(name=b"top/a/b"), "below a file"),
        (Member(name=b"top/a/", kind=tarfile.DIRTYPE), "twice"),
        (Member(name=b"top", data=b"x"), "where a folder is"),
        (Member(name=b"top/" + b"a/" * 1500 + b"b"), "more than 12 folders"),
    ],
)
def test_what_nobody_should_unpack(tmp_path: Path, member: Member, words: str) -> None:
    found = opened(tmp_path, FILE, member)
    ((name, why),) = found.refused
    assert words in why
    assert name.isprintable()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "into", "top", "x.tar.gz"]
    assert (found.folder / "a").read_bytes() == b"content"


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    found = opened(tmp_path, FILE, link(b"top/l", bytes(outside)), Member(name=b"top/l/evil"))
    assert [name for name, _ in found.refused] == ["top/l/evil"]
    assert list(outside.iterdir()) == []


def test_several_tops_keep_their_names(tmp_path: Path) -> None:
    found = opened(tmp_path, FILE, Member(name=b"other/b"), Member(name=b"c"))
    assert found.tops == ("top", "other", "c")
    assert sorted(found.members) == ["c", "other/b", "top/a"]


def test_a_single_file_is_no_top_folder(tmp_path: Path) -> None:
    assert list(opened(tmp_path, Member(name=b"a")).members) == ["a"]


def test_an_empty_archive(tmp_path: Path) -> None:
    assert opened(tmp_path).tops == ()


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"\x7fELF", b"\x1f\x8b", gzip.compress(b"no tar at all"), b"BZh9"]
)
def test_what_is_no_archive(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(content)
    with pytest.raises(NotAnArchive, match=r"x\.tar\.gz"):
        open_archive(path, tmp_path / "into")
    assert not (tmp_path / "into").exists()


@pytest.mark.parametrize("keep", [20, 60, -9, -1])
def test_a_cut_archive(tmp_path: Path, keep: int) -> None:
    path = packed(tmp_path, [FILE, Member(name=b"top/b", data=bytes(range(256)) * 40)])
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(NotAnArchive):
        open_archive(path, tmp_path / "into")


def test_a_changed_byte_behind_the_last_file(tmp_path: Path) -> None:
    path = packed(tmp_path, [FILE])
    content = bytearray(path.read_bytes())
    content[-6] ^= 1  # in the checksum
    path.write_bytes(content)
    with pytest.raises(NotAnArchive, match="CRC"):
        open_archive(path, tmp_path / "into")


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(NotAnArchive, match="no such file"):
        open_archive(tmp_path / "gone", tmp_path / "into")


def test_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNPACKED_LIMIT", 1000)
    with pytest.raises(NotAnArchive, match="unpacks to more"):
        opened(tmp_path, Member(name=b"top/a", data=bytes(1001)))
    assert not (tmp_path / "into").exists()


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_notes_that_would_fill_the_memory(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(NotAnArchive, match="a name or note of 100001 bytes"):
        opened(tmp_path, Member(name=b"note", kind=kind, data=bytes(100_001)), FILE)


def test_headers_that_only_announce_headers(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    note = tar_bytes([Member(name=b"n" * 120)])[:1024]
    path.write_bytes(gzip.compress(note * 3000 + tar_bytes([FILE])))
    with pytest.raises(NotAnArchive, match="recursion"):
        open_archive(path, tmp_path / "into")


@pytest.mark.parametrize("second", [gzip.compress, lambda content: gzip.compress(bytes(20480) + content)])
def test_a_second_archive_behind_the_end(tmp_path: Path, second: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(tar_bytes([FILE])) + second(tar_bytes([Member(name=b"top/evil")])))
    found = open_archive(path, tmp_path / "into")
    assert [why for _, why in found.refused] == ["something follows the end of the archive"]


def test_nothing_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REST_LIMIT", 50_000)
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(tar_bytes([FILE]) + bytes(60_000)))
    with pytest.raises(NotAnArchive, match="behind its end"):
        open_archive(path, tmp_path / "into")


def test_too_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MEMBER_LIMIT", 3)
    with pytest.raises(NotAnArchive, match="more than 3"):
        opened(tmp_path, *(Member(name=b"../%d" % at) for at in range(4)))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), min_size=1, max_size=8))
def test_any_changed_tar_is_taken_apart_or_refused(tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    content = bytearray(tar_bytes([FILE, link(b"top/l", b"a"), Member(name=b"top/b", data=b"x" * 600)]))
    for at, byte in changes:
        content[at % len(content)] = byte
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(bytes(content), 1))
    try:
        found = open_archive(path, tmp_path / "into")
    except NotAnArchive:
        return
    assert {path.name for path in tmp_path.iterdir()} <= {"x.tar.gz", "into"}
    assert all(member.name.isprintable() for member in found.members.values())
