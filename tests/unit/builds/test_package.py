"""Archives: the same bytes every time, safe to unpack, sums that catch every change."""

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from ci.builds.package import (
    SUMS_FILE,
    archive_name,
    pack_build,
    read_sums,
    source_archive_name,
    unpack,
    verify_sums,
    write_sums,
)
from ci.builds.store import BUILD_JSON, load_build
from ci.errors import ArchiveProblem, ConfigProblem, DigestMismatch
from tests.helpers.made_build import FILES, made_build, made_key


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


def test_names_follow_the_release_id(tmp_path: Path) -> None:
    speed = made_build(tmp_path)
    stock = made_build(tmp_path, made_key(variant="stock", label="b7"))
    assert archive_name(speed) == "llama-b7-speed.1-bin-linux-cpu-x64.tar.gz"
    assert archive_name(stock) == "llama-b7-stock-bin-linux-cpu-x64.tar.gz"
    assert source_archive_name("b7-speed.1") == "llama-b7-speed.1-source.tar.gz"


def test_the_same_build_packs_to_the_same_bytes(tmp_path: Path) -> None:
    archives = []
    for name, stamp in (("one", 1), ("two", 1_900_000_000)):
        made = made_build(tmp_path / name)
        for path in made.path.iterdir():
            os.utime(path, (stamp, stamp))
        archives.append(pack_build(made, tmp_path / f"out-{name}").read_bytes())
    assert archives[0] == archives[1]


def test_members_are_sorted_plain_files_without_owner_or_name_or_time(tmp_path: Path) -> None:
    path = pack_build(made_build(tmp_path), tmp_path / "out")
    with tarfile.open(path) as archive:
        members = archive.getmembers()
    assert [m.name for m in members] == [f"llama-b7-speed.1/{name}" for name in sorted((*FILES, BUILD_JSON))]
    assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in members} == {(0, 0, "", "", 1_700_000_000)}
    assert {m.name.rpartition("/")[2]: m.mode for m in members} == {
        "llama-server": 0o755,
        "libx.so.0": 0o755,
        "LICENSE": 0o644,
        BUILD_JSON: 0o644,
    }
    # gzip header: no flags (so no file name), time 0
    assert path.read_bytes()[3:8] == bytes(5)
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_build_that_changed_since_it_was_made_is_not_packed(tmp_path: Path) -> None:
    made = made_build(tmp_path)
    (made.path / "llama-server").write_bytes(b"patched later")
    with pytest.raises(DigestMismatch, match="llama-server"):
        pack_build(made, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_unpacked_archive_is_the_build(tmp_path: Path) -> None:
    made = made_build(tmp_path)
    top = unpack(pack_build(made, tmp_path / "out"), tmp_path / "here")
    assert top == tmp_path / "here" / "llama-b7-speed.1"
    again = load_build(top, check=True)
    assert (again.digest, again.label) == (made.digest, made.label)
    assert os.access(top / "llama-server", os.X_OK)


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
    monkeypatch.setattr("ci.builds.package.UNPACKED_LIMIT", 1000)
    path = hostile(tmp_path / "a.tar.gz", ("top/x", bytes(600)), ("top/y", bytes(600)))
    with pytest.raises(ArchiveProblem, match="unpacks to more"):
        unpack(path, tmp_path / "into")


@pytest.mark.parametrize("damage", ["truncated", "no checksum", "flipped", "not gzip", "empty"])
def test_a_damaged_archive_is_refused(tmp_path: Path, damage: str) -> None:
    whole = pack_build(made_build(tmp_path / "home"), tmp_path / "out").read_bytes()
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


def test_sums_are_sorted_and_verify(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    write_sums(tmp_path, ["b", "a"])
    assert list(read_sums(tmp_path / SUMS_FILE)) == ["a", "b"]
    assert verify_sums(tmp_path) == ("a", "b")


def test_sums_list_every_changed_and_missing_file(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    write_sums(tmp_path, ["a", "b", "c"])
    (tmp_path / "a").write_text("A", encoding="utf-8")
    (tmp_path / "b").unlink()
    with pytest.raises(DigestMismatch, match=r"a: sha256 is .*\n.*b: missing\n"):
        verify_sums(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "abc  x\n", "A" * 64 + "  x\n", "0" * 64 + " x\n", "0" * 64 + "  ../x\n", ("0" * 64 + "  x\n") * 2]
)
def test_malformed_or_empty_sums_never_verify(tmp_path: Path, text: str) -> None:
    (tmp_path / SUMS_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigProblem, match=SUMS_FILE):
        verify_sums(tmp_path)


def test_missing_sums_never_verify(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblem, match="no such file"):
        verify_sums(tmp_path)
