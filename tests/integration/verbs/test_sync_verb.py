"""`sync-upstream` and the sync stage: archives against git path by path, and what is found before any download."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import BaseMismatch, TreeMismatch, UnknownBuild
from ci.git import Git
from ci.home import Home
from ci.stage import Context, Options
from ci.stages import sync
from ci.stages.values import Synced
from ci.upstream.pinning import entry_for
from ci.upstream.snapshot import SnapshotLock
from ci.upstream.tags import BuildTag
from ci.verbs import rebase, upstream
from ci.verbs.pipeline import check_aim
from ci.verbs.rebase_words import Request
from tests.helpers.archives import Member, lock_for, write_archive
from tests.helpers.histories import Entry, Past

SCRIPT = b"#!/bin/sh\n"
B7, B8 = BuildTag(7), BuildTag(8)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "state", checkout=tmp_path)


@pytest.fixture
def remote(tmp_path: Path) -> Past:
    """Upstream's own repository: b7, b8 and b9, with a script that may be run."""
    past = Past(tmp_path / "remote")
    for number in (7, 8, 9):
        past.build(f"b{number}", {"run.sh": Entry(SCRIPT, "100755"), "version": b"%d\n" % number})
    return past


@pytest.fixture
def lock(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SnapshotLock:
    """Pins of b7, whose archive is whole, and of b8, whose archive lost the executable bit."""
    scratch = Git.open_bare(tmp_path / "scratch.git")
    home.downloads.mkdir(parents=True)
    archives = {}
    for number, mode in ((7, 0o755), (8, 0o644)):
        members = (
            Member(name=b"run.sh", data=SCRIPT, mode=mode),
            Member(name=b"version", data=b"%d\n" % number),
        )
        archives[number] = write_archive(home.downloads, number, members)
    made = lock_for(archives, {n: entry_for(scratch, path, BuildTag(n)).tree for n, path in archives.items()})
    monkeypatch.setattr("ci.stages.sync.load_lock", lambda: made)
    monkeypatch.setattr("ci.verbs.upstream.load_lock", lambda: made)
    return made


@pytest.fixture
def series(home: Home, lock: SnapshotLock) -> Callable[[int, str], None]:
    """Writes a series on a base with a tree."""

    def write(base: int, tree: str) -> None:
        past = Past(home.checkout / "author")
        past.build(f"b{base}", {"version": b"%d\n" % base})
        past.patch("one", {"version": b"fast\n"})
        past.save(home.patches)
        (home.patches / "base.toml").write_text(f'tag = "b{base}"\ntree = "{tree}"\nrevision = 1\n')

    return write


def context(home: Home, onto: str = "b8") -> Context:
    return Context(home=home, console=Console(), options=Options(onto=onto))


def synced(home: Home, *builds: str, remote: str = "") -> int:
    return upstream.sync(home, Console(json_output=bool(remote)), builds, all_builds=False, remote=remote)


def test_archives_in_the_history_are_compared_with_a_remote_path_by_path(
    home: Home, lock: SnapshotLock, remote: Past, capsys: pytest.CaptureFixture[str]
) -> None:
    synced(home, "b7", "b8")
    assert "not compared with git" in capsys.readouterr().out
    synced(home, "b7", "b8", "b9", remote=str(remote.git.path))
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert {tag: found["equal"] for tag, found in told["compared"].items()} == {"b7": True, "b8": False, "b9": True}
    [difference] = told["compared"]["b8"]["differences"]
    assert (difference["path"], difference["here"][0], difference["git"][0]) == ("run.sh", "100644", "100755")
    said = captured.err.splitlines()
    assert "b7: equal to git's tree" in said
    at = said.index(f"b8: 1 path differs from git's tree {remote.git.tree_of('b8')}")
    assert said[at + 1] == "  run.sh: mode 100644, in git 100755"
    assert said.index("b9: equal to git's tree") < said.index(f"b9: tree {remote.git.tree_of('b9')}, 2 files")
    assert "refs/tags" not in captured.err


def test_a_build_that_only_the_remote_gives_must_be_the_pinned_one_and_the_advice_works(
    home: Home, lock: SnapshotLock, remote: Past
) -> None:
    with pytest.raises(TreeMismatch) as refused:
        synced(home, "b8", remote=str(remote.git.path))
    assert refused.value.hint.startswith("invoke sync-upstream --build b8, then this command again")
    synced(home, "b8")
    assert synced(home, "b8", remote=str(remote.git.path)) == 0


def test_the_stage_says_in_one_line_how_faithful_the_aim_is(
    home: Home,
    lock: SnapshotLock,
    series: Callable[[int, str], None],
    remote: Past,
    capsys: pytest.CaptureFixture[str],
) -> None:
    series(7, lock.trees()[B7])
    value = sync.run(context(home)).value
    assert value == Synced(base="b7", base_tree=lock.trees()[B7], onto="b8", onto_tree=lock.trees()[B8])
    words = "b8: 2 files, 0 executable, 0 links; 1 script without the executable bit;"
    assert f"{words} not compared with git\n" in capsys.readouterr().err
    synced(home, "b8", remote=str(remote.git.path))
    capsys.readouterr()
    sync.run(context(home))
    assert f"{words} 1 path differs from git's tree" in capsys.readouterr().err


def test_an_unknown_base_is_found_before_anything_is_fetched(
    home: Home, series: Callable[[int, str], None], remote: Past
) -> None:
    series(9, str(remote.git.tree_of("b9")))
    with pytest.raises(UnknownBuild, match=r"base b9 of the series .* neither pinned nor fetched") as refused:
        check_aim(context(home))
    assert not home.history.exists()
    assert refused.value.hint == "invoke sync-upstream --remote URL --build b9"
    synced(home, "b9", remote=str(remote.git.path))
    check_aim(context(home, onto="b9"))


def test_a_series_on_a_build_newer_than_all_pins_stays_there_unless_told_otherwise(
    home: Home,
    lock: SnapshotLock,
    series: Callable[[int, str], None],
    remote: Past,
    capsys: pytest.CaptureFixture[str],
) -> None:
    synced(home, "b9", remote=str(remote.git.path))
    assert sync.aim(home, None, base=B7) == B8
    assert sync.aim(home, None, base=BuildTag(9)) == BuildTag(9)
    assert sync.aim(home, "b8", base=BuildTag(9)) == B8
    series(9, str(remote.git.tree_of("b9")))
    unasked = Context(home=home, console=Console(), options=Options())
    check_aim(unasked)
    assert sync.wanted(unasked)[1] == BuildTag(9)


def test_a_build_without_pin_names_the_command_that_pins_it(home: Home, lock: SnapshotLock) -> None:
    with pytest.raises(UnknownBuild, match=r"the pinned archives of .* do not have b99; of 2 there") as refused:
        synced(home, "b99")
    assert refused.value.hint == "invoke pin-upstream --build b99"


def test_a_base_with_another_tree_than_pinned_is_found_before_anything_is_fetched(
    home: Home, lock: SnapshotLock, series: Callable[[int, str], None]
) -> None:
    series(7, "f" * 40)
    for ask in (
        lambda: check_aim(context(home)),
        lambda: rebase.rebase(home, Console(), Request(onto="b8", dry_run=True)),
    ):
        with pytest.raises(BaseMismatch) as refused:
            ask()
        assert "f" * 40 in refused.value.message
        assert lock.trees()[B7] in refused.value.message
    assert not home.history.exists()


def test_a_base_with_another_tree_than_the_fetched_one_is_refused(
    home: Home, series: Callable[[int, str], None], remote: Past
) -> None:
    series(9, "f" * 40)
    synced(home, "b9", remote=str(remote.git.path))
    with pytest.raises(BaseMismatch, match=str(remote.git.tree_of("b9"))):
        check_aim(context(home, onto="b9"))
