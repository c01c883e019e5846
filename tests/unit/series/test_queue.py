"""Replacing the queue: the old one or the new one, at whatever point the process dies."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ci.errors import DiskFull
from ci.files import write_atomic
from ci.series import queue
from ci.series.queue import finish_replacement, replace_queue

OLD = {"a.patch": b"old a", "b.patch": b"old b", "series": b"a.patch\nb.patch\n", "base.toml": b"old"}
NEW = {"b.patch": b"new b", "retired/a.patch": b"old a", "series": b"b.patch\n", "base.toml": b"new"}


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it."""


@pytest.fixture
def patches(tmp_path: Path) -> Path:
    for name, data in OLD.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "resolutions").mkdir()
    (tmp_path / "resolutions" / "kept").write_bytes(b"kept")
    return tmp_path


def content(patches: Path) -> dict[str, bytes]:
    files = (path for path in patches.rglob("*") if path.is_file())
    return {str(path.relative_to(patches)): path.read_bytes() for path in files}


def test_the_new_queue_replaces_the_old_and_leaves_the_rest(patches: Path) -> None:
    replace_queue(patches, NEW)
    assert content(patches) == {**NEW, "resolutions/kept": b"kept"}


def test_a_whole_queue_has_nothing_to_finish(patches: Path) -> None:
    assert finish_replacement(patches) is False
    assert content(patches) == {**OLD, "resolutions/kept": b"kept"}


def dying_after(real: Callable[..., None], calls: int) -> Callable[..., None]:
    left = iter(range(calls))

    def write(path: Path, data: bytes) -> None:
        if next(left, None) is None:
            raise Killed
        real(path, data)

    return write


@pytest.mark.parametrize("calls", range(2 * len(NEW)))
def test_a_death_at_any_write_leaves_the_old_queue_or_one_that_finishes_as_the_new(
    patches: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(queue, "write_atomic", dying_after(write_atomic, calls))
        with pytest.raises(Killed):
            replace_queue(patches, NEW)
    assert finish_replacement(patches) is (calls >= len(NEW))
    assert finish_replacement(patches) is False
    expected = NEW if calls >= len(NEW) else OLD
    assert content(patches) == {**expected, "resolutions/kept": b"kept"}


def test_a_full_disk_leaves_the_old_queue(patches: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise DiskFull("no space left")

    monkeypatch.setattr(queue, "write_atomic", full)
    with pytest.raises(DiskFull):
        replace_queue(patches, NEW)
    assert content(patches) == {**OLD, "resolutions/kept": b"kept"}


def test_a_file_that_stays_the_same_is_not_touched(patches: Path) -> None:
    before = (patches / "a.patch").stat().st_ino
    replace_queue(patches, {**OLD, "base.toml": b"new"})
    assert (patches / "a.patch").stat().st_ino == before
