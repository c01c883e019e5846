"""The pipeline's own move of the series: resolutions replayed and named, absorbed patches named, nobody to ask."""

from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import SeriesConflict
from ci.git import Git
from ci.home import Home
from ci.series.byhand.resolutions import load_store
from ci.series.order import load_series
from ci.stage import Context, Options
from ci.stages import rebase
from ci.stages.values import Rebased, Synced
from ci.verbs import rebase as verb
from ci.verbs.rebase_words import Request
from tests.helpers.histories import Past, changed, numbered

LINES = numbered(30)
MENDED = changed(LINES, 12, b"both")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "state", checkout=tmp_path / "checkout")


@pytest.fixture
def past(home: Home) -> Past:
    """Three patches; b101 has the second one, b102 changes the line that the first one changes."""
    past = Past(home.root)
    past.build("b100", {"a.txt": LINES, "b.txt": LINES})
    past.patch("first", {"a.txt": changed(LINES, 12)})
    past.patch("second", {"b.txt": changed(LINES, 20)})
    past.patch("third", {"c.txt": LINES})
    past.build("b101", {"a.txt": LINES, "b.txt": changed(LINES, 20)})
    past.build("b102", {"a.txt": changed(LINES, 12, b"upstream's"), "b.txt": changed(LINES, 20)})
    past.save(home.patches)
    return past


def on(home: Home, past: Past, onto: str) -> Context:
    trees = [past.git.tree_of(build) or "" for build in ("b100", onto)]
    synced = Synced(base="b100", base_tree=trees[0], onto=onto, onto_tree=trees[1])
    return Context(home=home, console=Console(), options=Options(onto=onto), values=(synced,))


def moved(context: Context) -> Rebased:
    value = rebase.STAGE.run(context).value
    assert isinstance(value, Rebased)
    return value


def record(home: Home) -> str:
    """A person settles the conflict of `first` on b102 and keeps the queue where it is; the conflict's id."""
    before = {path: path.read_bytes() for path in home.patches.iterdir()}
    with pytest.raises(SeriesConflict) as stop:
        verb.rebase(home, Console(), Request(onto="b102"))
    worktree = stop.value.facts["worktree"]
    assert isinstance(worktree, dict)
    (Path(worktree["path"]) / "a.txt").write_bytes(MENDED)
    Git(path=Path(worktree["path"]))("add", "a.txt")
    verb.rebase(home, Console(), Request(go_on=True))
    for path, data in before.items():
        path.write_bytes(data)
    (conflict_id,) = load_store(home.patches / "resolutions").ids
    return conflict_id


def test_a_recorded_resolution_is_replayed_shown_and_named(
    past: Past, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    conflict_id = record(home)
    capsys.readouterr()
    value = moved(on(home, past, "b102"))
    assert [(patch.id, patch.state, patch.build, patch.resolutions) for patch in value.patches] == [
        ("first", "applied", None, (conflict_id,)),
        ("second", "absorbed", "b101", ()),
        ("third", "applied", None, ()),
    ]
    assert past.content(value.head, "a.txt") == MENDED
    assert past.git.resolve(rebase.branch_of("b102")) == value.head
    said = capsys.readouterr().err
    assert f"a.txt: settled by resolutions/{conflict_id}" in said
    assert "+both" in said


def test_a_resolution_that_nothing_needs_is_named_on_a_move_only(
    past: Past, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    conflict_id = record(home)
    unused = f"resolutions/{conflict_id}: not used by this rebase"
    for onto, named in (("b101", True), ("b100", False)):
        capsys.readouterr()
        moved(on(home, past, onto))
        assert (unused in capsys.readouterr().err) is named


def test_another_resolution_is_another_input(past: Past, home: Home) -> None:
    context = on(home, past, "b102")
    before = rebase.STAGE.plan(context)
    record(home)
    assert rebase.STAGE.plan(context) != before


def test_a_conflict_moves_nothing_and_says_who_opens_a_worktree(past: Past, home: Home) -> None:
    before = (past.footprint(), load_series(home.patches))
    with pytest.raises(SeriesConflict) as stop:
        moved(on(home, past, "b102"))
    assert "invoke rebase-upstream --onto b102" in stop.value.hint
    assert "worktree" not in stop.value.facts
    assert (past.footprint(), load_series(home.patches)) == before
    assert not (home.root / "rebase").exists()


def test_a_partly_landed_patch_can_be_accepted_or_adapted(home: Home) -> None:
    past = Past(home.root)
    past.build("b100", {"a.txt": LINES})
    past.patch("first", {"a.txt": changed(changed(LINES, 3, b"first half"), 27, b"second half")})
    past.build("b102", {"a.txt": changed(LINES, 3, b"first half")})
    past.save(home.patches)
    with pytest.raises(SeriesConflict) as stop:
        moved(on(home, past, "b102"))
    accept, opens = (line.partition("  #")[0] for line in stop.value.hint.splitlines())
    assert accept == "invoke rebase-upstream --onto b102 --accept-partial first"
    assert opens == "invoke rebase-upstream --onto b102"
