import errno
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci import files
from ci.digest import canonical_json, digest_json, sha256_bytes
from ci.errors import Busy, ConfigProblem, DiskFull
from ci.process import run, scrubbed_env

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_digests(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"")
    assert files.sha256_file(path) == sha256_bytes(b"") == EMPTY


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_the_digest_of_a_value_does_not_depend_on_key_order(value: dict[str, object]) -> None:
    assert digest_json(value) == digest_json(dict(reversed(value.items())))


def test_nan_has_no_canonical_form() -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "f"
    files.write_atomic(path, b"old")

    def fail() -> None:
        with files.no_space_as_error("f"), files.staged_file(path) as staging:
            staging.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DiskFull, match="f"):
        fail()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["f"]  # noqa: PTH208 - hidden staging names must show


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(PermissionError), files.no_space_as_error("f"):
        raise PermissionError


def test_a_staged_directory_replaces_the_old_one_whole(tmp_path: Path) -> None:
    final = tmp_path / "d"
    for text in ("one", "two"):
        with files.staged_dir(final) as staging:
            (staging / text).write_text(text)
    assert [path.name for path in final.iterdir()] == ["two"]
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


@pytest.mark.parametrize(("text", "words"), [(None, "no such file"), ("{", "not valid JSON"), ("[]", "found list")])
def test_unreadable_json_is_named(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "f.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigProblem, match=words):
        files.read_json(path)


def test_too_little_space_is_found_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match="unpacking needs"):
        files.require_free_space(tmp_path / "not" / "there", 10**18, what="unpacking")


def test_the_lock_excludes_another_process_and_is_freed(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    code = (
        "import sys; from pathlib import Path; from ci.files import exclusive\n"
        f"with exclusive(Path({str(lock)!r})): pass\n"
    )
    argv = (sys.executable, "-c", code)
    env = scrubbed_env(extra={"PYTHONPATH": str(Path(__file__).parents[2])})
    with files.exclusive(lock):
        assert b"Busy" in run(argv, env=env, ok_codes=(1,)).stderr
    run(argv, env=env)


def test_a_held_lock_is_reported(tmp_path: Path) -> None:
    waits: list[str] = []
    with (
        files.exclusive(tmp_path / "lock"),
        pytest.raises(Busy),
        files.exclusive(tmp_path / "lock", on_wait=lambda: waits.append("waiting")),
    ):
        pass
    assert waits == ["waiting"]


def test_what_a_killed_process_left_behind_is_removed_by_the_next_writer(tmp_path: Path) -> None:
    dead = run((sys.executable, "-c", "import os; print(os.getpid())")).text
    mine = os.getpid()
    for owner in (dead, mine):
        (tmp_path / f".d.{owner}.x.part").mkdir()
        (tmp_path / f".f.{owner}.x.part").write_text("half")
    with files.staged_dir(tmp_path / "d"), files.staged_file(tmp_path / "f"):
        pass
    left = {path.name for path in tmp_path.iterdir() if path.name.startswith(".")}
    assert left == {f".d.{mine}.x.part", f".f.{mine}.x.part"}
