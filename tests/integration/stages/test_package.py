"""The package stage tries what it packed: a bad archive is caught before anybody downloads it."""

import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from ci.builds.archive import unpack
from ci.builds.package import pack_build
from ci.builds.store import Build
from ci.home import Home
from ci.outcome import Verdict
from ci.stages.package import clear_strays, tried

pytestmark = pytest.mark.native


def test_the_real_archive_names_its_release_and_answers(real_home: Home, speed_build: Build, tmp_path: Path) -> None:
    gate = tried(real_home, pack_build(speed_build, tmp_path), speed_build)
    assert gate.verdict is Verdict.PASS
    assert speed_build.label in gate.evidence["version"]


def test_stock_under_the_release_name_fails(
    real_home: Home, stock_build: Build, speed_build: Build, tmp_path: Path
) -> None:
    archive = pack_build(stock_build, tmp_path)
    gate = tried(real_home, archive, replace(stock_build, label=speed_build.label))
    assert gate.verdict is Verdict.FAIL
    assert "names no" in gate.reason


def test_an_archive_that_cannot_run_fails(real_home: Home, speed_build: Build, tmp_path: Path) -> None:
    whole = pack_build(speed_build, tmp_path / "whole")
    folder = unpack(whole, tmp_path / "unpacked")
    for library in folder.glob("libllama.so*"):
        library.unlink()
    broken = tmp_path / "broken.tar.gz"
    with tarfile.open(broken, "w:gz") as archive:
        for path in folder.iterdir():
            archive.add(path, f"{folder.name}/{path.name}")
    gate = tried(real_home, broken, speed_build)
    assert gate.verdict is Verdict.FAIL
    assert "does not run on its own" in gate.reason


def test_what_an_earlier_run_left_is_cleared(tmp_path: Path) -> None:
    for name in ("keep.tar.gz", "old.tar.gz", "SHA256SUMS"):
        (tmp_path / name).touch()
    clear_strays(tmp_path, keep=("keep.tar.gz",))
    assert [path.name for path in tmp_path.iterdir()] == ["keep.tar.gz"]
