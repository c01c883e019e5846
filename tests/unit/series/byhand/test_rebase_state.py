"""The file of a waiting rebase: strict, and no way out of its directory."""

from pathlib import Path

import pytest

from ci.config import parse
from ci.errors import ConfigProblem, RebaseInProgress
from ci.home import Home
from ci.series.byhand.rebase_state import (
    Settled,
    State,
    abort,
    load_state,
    refuse_in_progress,
    save_state,
    sweep,
    worktree_of,
)

ID = "0123456789abcdef0123456789abcdef01234567"
STATE = State(
    onto="b101",
    base="b100",
    series="digest",
    patch_id="speed-up",
    tip=ID,
    picked=ID,
    accepted=("other",),
    settled=(Settled(patch_id="first", tip_tree=ID, result_tree=ID, commit=ID),),
    tree="speed-up.2",
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "state", checkout=tmp_path / "fork")


def test_what_is_saved_is_loaded(home: Home) -> None:
    assert load_state(home) is None
    save_state(home, STATE)
    assert load_state(home) == STATE


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tree", "../patches"),
        ("tree", ".."),
        ("tree", "a/b"),
        ("tree", "speed-up.3"),
        ("tree", "speed-up\n"),
        ("patch_id", "-rf"),
        ("tip", "HEAD"),
        ("onto", "main"),
        ("schema_version", 2),
        ("unknown", 1),
    ],
)
def test_a_state_that_we_never_wrote_is_refused(key: str, value: object) -> None:
    with pytest.raises(ConfigProblem, match=key):
        parse(State, STATE.model_dump(mode="json") | {key: value}, source="state.json")


def test_a_state_names_its_worktree(home: Home) -> None:
    save_state(home, STATE.model_copy(update={"tree": None}))
    with pytest.raises(ConfigProblem, match="names no worktree"):
        load_state(home)


def test_the_ways_out_are_in_the_refusal(home: Home) -> None:
    refuse_in_progress(home)
    save_state(home, STATE)
    with pytest.raises(RebaseInProgress, match=str(worktree_of(home, STATE))) as caught:
        refuse_in_progress(home)
    head, *ways = caught.value.hint.splitlines()
    assert head == "one of"
    assert [way.partition("  # ")[0] for way in ways] == [
        "  invoke rebase-upstream --continue",
        "  invoke rebase-upstream --skip speed-up",
        "  invoke rebase-upstream --abort",
    ]


def test_sweeping_keeps_the_state_and_its_worktree(home: Home) -> None:
    save_state(home, STATE)
    for name in ("speed-up.2", "speed-up", ".speed-up.1.x.part"):
        (home.root / "rebase" / name).mkdir()
    sweep(home, STATE)
    assert sorted(path.name for path in (home.root / "rebase").iterdir()) == ["speed-up.2", "state.json"]


def test_an_abort_that_was_killed_is_repeated(home: Home) -> None:
    (home.root / "rebase" / "speed-up").mkdir(parents=True)
    assert load_state(home) is None
    assert abort(home)
    assert not (home.root / "rebase").exists()
