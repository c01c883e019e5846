"""`pin-upstream` against an index on this machine: what is pinned is what came, and only then."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import tenacity

from ci.console import Console
from ci.errors import DigestMismatch, IndexUnreachable, SourceArchiveProblem, TreeMismatch, UnknownBuild, UsageProblem
from ci.git import Git
from ci.home import Home
from ci.upstream.pinning import entry_for, to_toml
from ci.upstream.snapshot import Snapshot, SnapshotSource, load_lock
from ci.upstream.tags import BuildTag
from ci.verbs import upstream
from tests.helpers.archives import PROJECT, Member, archive_name, write_archive
from tests.helpers.histories import Past
from tests.helpers.package_index import Index, serving

FILES = (Member(name=b"a.txt", data=b"1\n"), Member(name=b"run", data=b"#!x\n", mode=0o755))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "state", checkout=tmp_path)


@pytest.fixture
def entries(tmp_path: Path) -> dict[int, Snapshot]:
    """What the lock should say of the archives in `made`, which the index offers."""
    (tmp_path / "made").mkdir()
    scratch = Git.open_bare(tmp_path / "scratch.git")
    archives = {number: write_archive(tmp_path / "made", number, FILES) for number in (7, 8, 9)}
    return {number: entry_for(scratch, archive, BuildTag(number)) for number, archive in archives.items()}


@pytest.fixture
def lock_file(tmp_path: Path, entries: dict[int, Snapshot]) -> Path:
    """Pins of b7 and b9."""
    path = tmp_path / "upstream.toml"
    path.write_text(f'project = "{PROJECT}"\n\n{to_toml(entries[7])}\n{to_toml(entries[9])}', encoding="utf-8")
    return path


@pytest.fixture
def index(tmp_path: Path, entries: dict[int, Snapshot], monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    monkeypatch.setattr("ci.index.WAITS", tenacity.wait_none())
    files = {path.name: path.read_bytes() for path in sorted((tmp_path / "made").iterdir())}
    with serving(Index(files=files, project=PROJECT)) as running:
        for name, value in running.environ.items():
            monkeypatch.setenv(name, value)
        yield running


def pin(home: Home, lock_file: Path, build: str, *, dry_run: bool = False) -> int:
    return upstream.pin(home, Console(json_output=True), build=build, dry_run=dry_run, lock_file=lock_file)


@pytest.mark.parametrize("digests", [True, False])
def test_a_build_is_pinned_between_its_neighbours_and_can_be_synced(
    home: Home,
    lock_file: Path,
    index: Index,
    entries: dict[int, Snapshot],
    capsys: pytest.CaptureFixture[str],
    digests: bool,
) -> None:
    index.digests = digests
    before = lock_file.read_text(encoding="utf-8")
    assert pin(home, lock_file, "b8") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["state"], told["entry"]) == ("pinned", entries[8].model_dump())
    assert told["next"] == "invoke sync-upstream --build b8"
    assert load_lock(lock_file).snapshot == (entries[7], entries[8], entries[9])
    assert lock_file.read_text(encoding="utf-8").replace(f"{to_toml(entries[8])}\n", "") == before
    git = Git(path=home.history)
    assert git("for-each-ref").text == ""
    index.requests.clear()
    SnapshotSource(git=git, downloads=home.downloads, lock=load_lock(lock_file)).sync([BuildTag(8)])
    assert git.tree_of("b8") == entries[8].tree
    assert index.requests == []


def test_after_the_newest_build_comes_the_rebase(
    home: Home, lock_file: Path, index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index.files[archive_name(10)] = write_archive(tmp_path / "made", 10, FILES).read_bytes()
    pin(home, lock_file, "b10")
    assert json.loads(capsys.readouterr().out)["next"] == "invoke rebase-upstream --onto b10 --dry-run"
    assert list(load_lock(lock_file).by_tag()) == [BuildTag(n) for n in (7, 9, 10)]


def test_a_dry_run_shows_the_entry_and_writes_nothing(
    home: Home, lock_file: Path, index: Index, entries: dict[int, Snapshot], capsys: pytest.CaptureFixture[str]
) -> None:
    before = lock_file.read_bytes()
    assert upstream.pin(home, Console(), build="b8", dry_run=True, lock_file=lock_file) == 0
    said = capsys.readouterr().out
    assert said.startswith(to_toml(entries[8]))
    assert "was not changed\nnext: invoke pin-upstream --build b8\n" in said
    assert lock_file.read_bytes() == before


def test_a_pinned_build_is_said_to_be_so_without_asking_anybody(
    home: Home, lock_file: Path, index: Index, entries: dict[int, Snapshot], capsys: pytest.CaptureFixture[str]
) -> None:
    before = lock_file.read_bytes()
    assert pin(home, lock_file, "b9") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["state"], told["entry"]) == ("already pinned", entries[9].model_dump())
    assert (index.requests, lock_file.read_bytes()) == ([], before)


def test_a_build_that_the_index_lacks_is_named_with_its_neighbours(home: Home, lock_file: Path, index: Index) -> None:
    with pytest.raises(UnknownBuild, match=r"no source archive of b6 .* near that: b7, b8, b9") as refused:
        pin(home, lock_file, "b6")
    assert "invoke sync-upstream --remote URL --build b6" in refused.value.hint


def test_whatever_goes_wrong_leaves_the_lock_alone(
    home: Home, lock_file: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lock_file.read_bytes()
    with pytest.raises(UsageProblem, match="--build is required"):
        pin(home, lock_file, "")
    whole = index.files[archive_name(8)]
    index.files[archive_name(8)] = whole[:-9]
    with pytest.raises(SourceArchiveProblem, match="damaged or cut short"):
        pin(home, lock_file, "b8")
    index.files[archive_name(8)] = whole
    with monkeypatch.context() as lying:
        lying.setattr(Index, "_hashes", lambda *_: {"sha256": "0" * 64})
        with pytest.raises(DigestMismatch):
            pin(home, lock_file, "b8")
    Past(home.root).build("b8", {"a.txt": b"another\n"})
    with pytest.raises(TreeMismatch, match="the build in"):
        pin(home, lock_file, "b8")
    index.server_errors = 99
    with pytest.raises(IndexUnreachable):
        pin(home, lock_file, "b10")
    assert lock_file.read_bytes() == before
