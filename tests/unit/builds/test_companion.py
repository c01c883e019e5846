"""The companion archive: the lane's libraries, all and no other, never without their terms."""

import json
import os
import tarfile
from pathlib import Path

import pytest

from ci.builds.audit.companions import DESCRIPTION
from ci.builds.companion import Companions, companion_name, pack_companion
from ci.builds.target import Lane, find_lane
from ci.digest import sha256_bytes
from ci.errors import ArchiveProblem

LANE = find_lane("cu13")


def companions(folder: Path, *, without: str = "", extra: str = "") -> Companions:
    folder.mkdir(parents=True)
    for name in (*LANE.companions, "LICENSE-nvidia-cublas", extra):
        if name and name != without:
            (folder / name).write_text(f"bytes of {name}", encoding="utf-8")
    return Companions(folder=folder, toolkit="release 13.5, V13.5.37", sources=("a.whl sha256:0",))


def test_it_names_lane_toolkit_driver_and_every_file(tmp_path: Path) -> None:
    path = pack_companion(LANE, companions(tmp_path / "lib"), tmp_path / "out")
    assert path.name == companion_name(LANE) == "cudart-cu13-linux-x64.tar.gz"
    with tarfile.open(path) as archive:
        names = [member.name for member in archive.getmembers()]
        stream = archive.extractfile(f"cudart-cu13/{DESCRIPTION}")
        assert stream
        about = json.load(stream)
    assert set(names) == {f"cudart-cu13/{name}" for name in (DESCRIPTION, *about["files"])}
    assert (about["lane"], about["toolkit"], about["minimum_driver"]) == ("cu13", "release 13.5, V13.5.37", "580")
    assert about["sources"] == ["a.whl sha256:0"]
    library = b"bytes of libcudart.so.13"
    assert about["files"]["libcudart.so.13"] == {"sha256": sha256_bytes(library), "size": len(library)}


def test_the_same_libraries_pack_to_the_same_bytes(tmp_path: Path) -> None:
    archives = []
    for name, stamp in (("one", 1), ("two", 1_900_000_000)):
        made = companions(tmp_path / name)
        for path in made.folder.iterdir():
            os.utime(path, (stamp, stamp))
        archives.append(pack_companion(LANE, made, tmp_path / f"out-{name}").read_bytes())
    assert archives[0] == archives[1]


@pytest.mark.parametrize("lane", [LANE, find_lane("cu12")])
def test_a_missing_library_is_named(tmp_path: Path, lane: Lane) -> None:
    with pytest.raises(ArchiveProblem, match=r"libcublas\.so\.1[23] is missing"):
        pack_companion(lane, companions(tmp_path / "lib", without="libcublas.so.13"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_drivers_own_library_never_ships(tmp_path: Path) -> None:
    with pytest.raises(ArchiveProblem, match=r"libcuda\.so\.1 is none of its libraries"):
        pack_companion(LANE, companions(tmp_path / "lib", extra="libcuda.so.1"), tmp_path / "out")


def test_libraries_without_terms_are_not_passed_on(tmp_path: Path) -> None:
    with pytest.raises(ArchiveProblem, match="without NVIDIA's terms"):
        pack_companion(LANE, companions(tmp_path / "lib", without="LICENSE-nvidia-cublas"), tmp_path / "out")
