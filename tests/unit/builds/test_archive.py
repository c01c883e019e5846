"""Archives: the same bytes every time, whatever the files' size, and safe to unpack."""

import gzip
import io
import os
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from ci.builds.archive import add_bytes, add_file, add_link, new_archive, unpack
from ci.errors import ArchiveProblem


def hostile(path: Path, *members: tuple[str, bytes] | tarfile.TarInfo) -> Path:
    """A .tar.gz with exactly these members."""
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            info = member if isinstance(member, tarfile.TarInfo) else tarfile.TarInfo(member[0])
            content = b"" if isinstance(member, tarfile.TarInfo) else member[1]
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def special(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


def packed(path: Path, content: bytes) -> Path:
    with new_archive(path) as archive:
        add_bytes(archive, "top/program", content, executable=True)
    return path


def test_a_file_packs_as_its_bytes_would(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"x" * 3000)
    program.chmod(0o711)
    os.utime(program, (1, 1))
    with new_archive(tmp_path / "from-file.tar.gz") as archive:
        add_file(archive, "top/program", program)
    from_bytes = packed(tmp_path / "from-bytes.tar.gz", b"x" * 3000)
    assert (tmp_path / "from-file.tar.gz").read_bytes() == from_bytes.read_bytes()


def test_a_large_file_goes_through_in_chunks(tmp_path: Path) -> None:
    size = 64_000_000
    with (tmp_path / "large").open("wb") as stream:
        stream.truncate(size)
    tracemalloc.start()
    try:
        with new_archive(tmp_path / "a.tar.gz") as archive:
            add_file(archive, "top/large", tmp_path / "large")
        unpack(tmp_path / "a.tar.gz", tmp_path / "into")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < size // 8
    assert (tmp_path / "into" / "top" / "large").stat().st_size == size


def test_an_archive_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), new_archive(tmp_path / "a.tar.gz") as archive:
        add_file(archive, "top/x", tmp_path / "missing")
    assert list(tmp_path.iterdir()) == []


def test_links_are_packed_as_links(tmp_path: Path) -> None:
    with new_archive(tmp_path / "a.tar.gz") as archive:
        add_link(archive, "top/link", "program")
    with tarfile.open(tmp_path / "a.tar.gz") as archive:
        (member,) = archive.getmembers()
    assert (member.issym(), member.linkname, member.mode) == (True, "program", 0o777)


@pytest.mark.parametrize(
    "member",
    [
        ("/abs/x", b"1"),
        ("top/../../x", b"1"),
        ("../x", b"1"),
        ("loose", b"1"),
        special("top/link", tarfile.SYMTYPE, "/etc/passwd"),
        special("top/hard", tarfile.LNKTYPE, "top/ok"),
        special("top/pipe", tarfile.FIFOTYPE),
        special("top/device", tarfile.CHRTYPE),
    ],
)
def test_members_that_are_no_plain_file_below_one_folder_are_refused(
    tmp_path: Path, member: tuple[str, bytes] | tarfile.TarInfo
) -> None:
    path = hostile(tmp_path / "a.tar.gz", ("top/ok", b"1"), member)
    with pytest.raises(ArchiveProblem, match="not a plain file below one folder"):
        unpack(path, tmp_path / "into")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tar.gz"]


def test_a_member_that_comes_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchiveProblem, match="twice"):
        unpack(hostile(tmp_path / "a.tar.gz", ("top/x", b"1"), ("top/./x", b"2")), tmp_path / "into")


def test_two_top_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchiveProblem, match=r"one top folder, found \['a', 'b'\]"):
        unpack(hostile(tmp_path / "a.tar.gz", ("a/x", b"1"), ("b/x", b"2")), tmp_path / "into")
    assert not (tmp_path / "into").exists()


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ci.builds.archive.UNPACKED_LIMIT", 1000)
    path = hostile(tmp_path / "a.tar.gz", ("top/x", bytes(600)), ("top/y", bytes(600)))
    with pytest.raises(ArchiveProblem, match="unpacks to more"):
        unpack(path, tmp_path / "into")


@pytest.mark.parametrize("damage", ["truncated", "no checksum", "flipped", "not gzip", "empty"])
def test_a_damaged_archive_is_refused(tmp_path: Path, damage: str) -> None:
    whole = packed(tmp_path / "out.tar.gz", b"program").read_bytes()
    middle = len(whole) // 2
    broken = {
        "truncated": whole[:middle],
        "no checksum": whole[:-8],
        "flipped": whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :],
        "not gzip": b"<!DOCTYPE html>",
        "empty": gzip.compress(b""),
    }[damage]
    (tmp_path / "a.tar.gz").write_bytes(broken)
    with pytest.raises(ArchiveProblem, match=r"a\.tar\.gz"):
        unpack(tmp_path / "a.tar.gz", tmp_path / "into")
    assert not (tmp_path / "into").exists()
