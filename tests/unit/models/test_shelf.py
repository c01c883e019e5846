"""What was verified is believed only while nothing about the file has changed."""

import os
import shutil
import time
from pathlib import Path

import pytest

from ci.models.shelf import Stamp, digest, fault_of
from tests.helpers.made_models import GGUF, sha256, shard

HOUR_S = 3600


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A model that was written an hour ago."""
    path = tmp_path / "tiny.gguf"
    path.write_bytes(GGUF)
    return aged(path)


def aged(path: Path) -> Path:
    then = time.time() - HOUR_S
    os.utime(path, (then, then))
    return path


@pytest.fixture
def stamp(tmp_path: Path, file: Path) -> Stamp:
    made = Stamp.of(tmp_path / "shelf", shard())
    made.put(file, shard())
    return made


def test_a_stamp_holds_for_the_file_it_was_made_for(file: Path, stamp: Stamp) -> None:
    assert stamp.holds(file, shard())


def test_a_file_written_just_before_its_stamp_proves_nothing(file: Path, stamp: Stamp) -> None:
    file.write_bytes(GGUF)
    stamp.put(file, shard())
    assert not stamp.holds(file, shard())


def test_bytes_changed_behind_a_restored_time_are_noticed(file: Path, stamp: Stamp) -> None:
    times = file.stat()
    file.write_bytes(GGUF[::-1])
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    while file.stat().st_ctime_ns == times.st_ctime_ns:  # the clock of the file system moves in steps
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert not stamp.holds(file, shard())


def test_another_file_in_its_place_is_noticed(file: Path, stamp: Stamp, tmp_path: Path) -> None:
    shutil.copy2(file, tmp_path / "copy")
    (tmp_path / "copy").replace(file)
    assert not stamp.holds(file, shard())


def test_another_pin_or_no_file_is_noticed(file: Path, stamp: Stamp) -> None:
    assert not stamp.holds(file, shard().model_copy(update={"sha256": "0" * 64}))
    file.unlink()
    assert not stamp.holds(file, shard())


def test_a_digest_reports_what_it_reads(file: Path) -> None:
    told = list[tuple[int, int | None, str]]()
    assert digest(file, lambda *words: told.append(words)) == sha256(GGUF)
    assert told == [(1000, 1000, "verifying")]


def test_a_fault_says_what_differs(file: Path) -> None:
    assert fault_of(file, shard()) is None
    assert fault_of(file, shard(GGUF + b"x")) == "1000 bytes, the pin says 1001"
    other = shard().model_copy(update={"sha256": "0" * 64})
    assert fault_of(file, other) == f"sha256 is {sha256(GGUF)}, the pin is {'0' * 64}"
