"""Archives of builds: the same bytes every time, sums that catch every change."""

import os
import tarfile
from pathlib import Path

import pytest

from ci.builds.archive import unpack
from ci.builds.package import (
    SUMS_FILE,
    archive_name,
    pack_build,
    read_sums,
    source_archive_name,
    verify_sums,
    write_sums,
)
from ci.builds.store import BUILD_JSON, load_build
from ci.errors import ConfigProblem, DigestMismatch
from tests.helpers.made_build import FILES, made_build, made_key


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
