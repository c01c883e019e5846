"""rebase-upstream when it stops: worktree, --continue, --skip, --abort, recorded resolutions, the matrix."""

import json
import os
import re
import shlex
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import (
    ConfigProblem,
    NoRebase,
    RebaseInProgress,
    RebaseUnfinished,
    SeriesConflict,
    SeriesProblem,
    UsageProblem,
)
from ci.git import Git
from ci.home import Home
from ci.series.byhand.resolutions import load_store
from ci.series.export import export_commits
from ci.series.order import load_series
from ci.series.results import CommitOf
from ci.verbs import rebase
from ci.verbs.rebase_words import Request
from tasks import told
from tests.helpers.histories import Entry, Past, changed, numbered

LINES = numbered(30)
ONTO = Request(onto="b102")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "a state", checkout=tmp_path / "a checkout")


@pytest.fixture
def past(home: Home) -> Past:
    """Two patches; b101 is harmless, b102 changes the line that `first` changes."""
    past = Past(home.root)
    past.build("b100", {"a.txt": LINES, "b.txt": LINES})
    past.patch("first", {"a.txt": changed(LINES, 12)})
    past.patch("second", {"b.txt": changed(LINES, 20)})
    past.build("b101", {"a.txt": b"new\n" + LINES, "b.txt": LINES})
    past.build("b102", {"a.txt": b"new\n" + changed(LINES, 12, b"upstream's"), "b.txt": b"new\n" + LINES})
    past.save(home.patches)
    return past


def queue(home: Home) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(home.patches.iterdir()) if path.is_file()}


def stop(home: Home, asked: Request = ONTO) -> SeriesConflict:
    with pytest.raises(SeriesConflict) as caught:
        rebase.rebase(home, Console(), asked)
    return caught.value


def worktree(error: SeriesConflict) -> Path:
    """Where the printed commands lead."""
    (path,) = re.findall(r"^ +cd ([^-].*)$", error.hint, re.MULTILINE)
    return Path(*shlex.split(path))


def mend(error: SeriesConflict, text: bytes, name: str = "a.txt") -> None:
    """What a person does: edit, then type the printed `git add`."""
    tree = worktree(error)
    (tree / name).write_bytes(text)
    (command,) = re.findall(r"^ +git (add .+)$", error.hint, re.MULTILINE)
    Git(path=tree)(*shlex.split(command))


MENDED = b"new\n" + changed(LINES, 12, b"both")
GO_ON = Request(go_on=True)


def test_a_conflict_names_the_build_that_caused_it(past: Past, home: Home) -> None:
    error = stop(home)
    assert "patch first (1 of 2" in error.message
    assert "since b102 (b101 still took it)" in error.message


def test_what_a_person_makes_of_a_conflict_becomes_the_patch(past: Past, home: Home) -> None:
    mend(stop(home), MENDED)
    assert rebase.rebase(home, Console(), GO_ON) == 0
    moved = load_series(home.patches)
    assert (str(moved.base.tag), moved.ids) == ("b102", ("first", "second"))
    assert past.content("refs/heads/speed/b102", "a.txt") == MENDED
    assert past.content("refs/heads/speed/b102", "b.txt") == b"new\n" + changed(LINES, 20)
    assert not (home.root / "rebase").exists()


def test_a_recorded_resolution_is_replayed_on_another_machine(
    past: Past, home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = queue(home)
    mend(stop(home), MENDED)
    rebase.rebase(home, Console(), GO_ON)
    (conflict_id,) = load_store(home.patches / "resolutions").ids
    other = Home(root=tmp_path / "other", checkout=home.checkout)
    other.root.mkdir()
    Git(path=tmp_path)("clone", "--quiet", "--bare", home.history, other.history)
    for path in home.patches.glob("*.patch"):
        path.unlink()
    for name, data in before.items():
        (home.patches / name).write_bytes(data)
    capsys.readouterr()
    assert rebase.rebase(other, Console(), ONTO) == 0
    said = capsys.readouterr().out
    assert f"a.txt: settled by resolutions/{conflict_id}" in said
    assert "+both" in said
    assert Git(path=other.history).tree_of("refs/heads/speed/b102") == past.git.tree_of("refs/heads/speed/b102")


def test_an_unused_resolution_is_reported(past: Past, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    mend(stop(home), MENDED)
    rebase.rebase(home, Console(), GO_ON)
    (conflict_id,) = load_store(home.patches / "resolutions").ids
    capsys.readouterr()
    rebase.rebase(home, Console(json_output=True), Request(onto="b102"))
    assert json.loads(capsys.readouterr().out)["unused_resolutions"] == [conflict_id]


def test_going_on_before_the_conflict_is_resolved_changes_nothing(past: Past, home: Home) -> None:
    before = queue(home)
    tree = worktree(stop(home))
    with pytest.raises(RebaseUnfinished, match=r"a\.txt"):
        rebase.rebase(home, Console(), GO_ON)
    assert queue(home) == before
    assert tree.is_dir()


def test_a_second_rebase_does_not_trample_on_the_first(past: Past, home: Home) -> None:
    tree = worktree(stop(home))
    (tree / "a.txt").write_bytes(b"half done\n")
    with pytest.raises(RebaseInProgress, match="first waits in") as caught:
        rebase.rebase(home, Console(), ONTO)
    for way in ("--continue", "--skip first", "--abort"):
        assert way in caught.value.hint
    assert (tree / "a.txt").read_bytes() == b"half done\n"


def test_a_skipped_patch_is_left_out_and_kept(past: Past, home: Home) -> None:
    stop(home)
    assert rebase.rebase(home, Console(), Request(skip=("first",))) == 0
    assert load_series(home.patches).ids == ("second",)
    kept = (home.patches / "retired" / "first.patch").read_bytes()
    assert b"---\nSkipped: left out by hand (last carried on b100).\n" in kept
    assert past.content("refs/heads/speed/b102", "a.txt") == past.content("b102", "a.txt")


def test_an_aborted_rebase_leaves_everything_as_it_was(past: Past, home: Home) -> None:
    before = (queue(home), past.footprint())
    stop(home)
    assert rebase.rebase(home, Console(), Request(abort=True)) == 0
    assert (queue(home), past.footprint()) == before
    assert not (home.root / "rebase").exists()
    with pytest.raises(NoRebase):
        rebase.rebase(home, Console(), GO_ON)


def test_what_no_record_can_hold_is_in_the_patch_and_said(
    past: Past, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    error = stop(home)
    mend(error, MENDED)
    tree = worktree(error)
    (tree / "b.txt").write_bytes(b"beside\n" + LINES)
    Git(path=tree)("add", "b.txt")
    text = Git(path=tree)("log", "-1", "--format=%B", "CHERRY_PICK_HEAD").text.replace("Make first", "Make it")
    Git(path=tree)("commit", "--quiet", "--file=-", stdin=text.encode())
    capsys.readouterr()
    assert rebase.rebase(home, Console(), GO_ON) == 0
    said = capsys.readouterr().out
    assert "a.txt: settled by resolutions/" in said
    assert "not used" not in said
    assert load_series(home.patches).patches[0].subject == "Make it fast"
    moved = "refs/heads/speed/b102"
    assert past.content(f"{moved}~1", "b.txt") == b"beside\n" + LINES
    assert past.content(moved, "b.txt") == b"beside\n" + changed(LINES, 20)


@pytest.mark.parametrize("kept", [True, False])
def test_a_conflict_that_no_record_can_hold_is_settled_once(home: Home, kept: bool) -> None:
    past = Past(home.root)
    past.build("b100", {"a.txt": LINES, "b.txt": LINES, "c.txt": LINES})
    past.patch("first", {"a.txt": changed(LINES, 12), "c.txt": changed(LINES, 5)})
    past.patch("last", {"b.txt": changed(LINES, 20)})
    past.build("b102", {"b.txt": changed(LINES, 20, b"their b"), "c.txt": LINES})
    past.save(home.patches)
    error = stop(home)
    tree = Git(path=worktree(error))
    tree("add" if kept else "rm", "a.txt")
    error = stop(home, GO_ON)
    assert "patch first" not in error.message
    mend(error, changed(LINES, 20, b"both b"), "b.txt")
    assert rebase.rebase(home, Console(), GO_ON) == 0
    there = {"a.txt", "b.txt", "c.txt"} if kept else {"b.txt", "c.txt"}
    assert past.listing("refs/heads/speed/b102").keys() == there
    assert past.content("refs/heads/speed/b102", "c.txt") == changed(LINES, 5)


def test_a_rebase_whose_state_is_damaged_can_be_forgotten(past: Past, home: Home) -> None:
    stop(home)
    (home.root / "rebase" / "state.json").write_text("{")
    with pytest.raises(ConfigProblem) as damaged:
        rebase.rebase(home, Console(), GO_ON)
    assert damaged.value.hint == "invoke rebase-upstream --abort"
    assert rebase.rebase(home, Console(), Request(abort=True)) == 0
    assert not (home.root / "rebase").exists()


def test_conflicts_are_met_one_after_the_other_and_none_is_forgotten(home: Home) -> None:
    past = Past(home.root)
    past.build("b100", {"a.txt": LINES, "b.txt": LINES})
    past.patch("first", {"a.txt": changed(LINES, 12)})
    past.patch("between", {"b.txt": changed(LINES, 2)})
    past.patch("last", {"b.txt": changed(changed(LINES, 2), 20)})
    past.build("b102", {"a.txt": changed(LINES, 12, b"their a"), "b.txt": changed(LINES, 20, b"their b")})
    past.save(home.patches)
    error = stop(home)
    assert "patch first (1 of 3" in error.message
    assert "patch last (3 of 3" in error.message
    mend(error, changed(LINES, 12, b"both a"))
    error = stop(home, GO_ON)
    assert "patch first" not in error.message
    mend(error, changed(changed(LINES, 2), 20, b"both b"), "b.txt")
    assert rebase.rebase(home, Console(), GO_ON) == 0
    assert past.content("refs/heads/speed/b102", "a.txt") == changed(LINES, 12, b"both a")
    assert past.content("refs/heads/speed/b102", "b.txt") == changed(changed(LINES, 2), 20, b"both b")
    assert len(load_store(home.patches / "resolutions").ids) == 2


def test_a_queue_edited_meanwhile_is_neither_overwritten_nor_believed(past: Past, home: Home) -> None:
    mend(stop(home), MENDED)
    extra = home.patches / "second.patch"
    edited = extra.read_bytes().replace(b"+speed", b"+speedy")
    extra.write_bytes(edited)
    with pytest.raises(RebaseInProgress, match="no longer the series"):
        rebase.rebase(home, Console(), GO_ON)
    assert extra.read_bytes() == edited


def test_an_edit_while_the_series_is_replayed_is_not_lost(
    past: Past, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited = (home.patches / "second.patch").read_bytes().replace(b"+speed", b"+speedy")

    def edit_meanwhile(git: Git, commits: Sequence[CommitOf], *, work: Path) -> tuple[bytes, ...]:
        (home.patches / "second.patch").write_bytes(edited)
        return export_commits(git, commits, work=work)

    monkeypatch.setattr(rebase, "export_commits", edit_meanwhile)
    with pytest.raises(SeriesProblem, match="changed while the new series was being made"):
        rebase.rebase(home, Console(), Request(onto="b101"))
    assert (home.patches / "second.patch").read_bytes() == edited
    assert str(load_series(home.patches).base.tag) == "b100"


@pytest.mark.parametrize("moment", ["write_series", "update", "abort"])
def test_a_kill_at_the_end_leaves_the_old_state_or_the_new(
    past: Past, home: Home, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mend(stop(home), MENDED)

    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        if moment == "update":
            monkeypatch.setattr(Git, "update_ref", die)
        else:
            monkeypatch.setattr(rebase, moment, die)
        rebase.rebase(home, Console(), GO_ON)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    if moment == "write_series":
        assert str(load_series(home.patches).base.tag) == "b100"
        assert rebase.rebase(home, Console(), GO_ON) == 0
    else:
        assert rebase.rebase(home, Console(), ONTO) == 0
    assert load_series(home.patches).ids == ("first", "second")
    assert past.content("refs/heads/speed/b102", "a.txt") == MENDED
    assert not (home.root / "rebase").exists()


def test_a_partly_landed_patch_can_be_accepted_while_it_waits(home: Home) -> None:
    past = Past(home.root)
    both = changed(changed(LINES, 3, b"first half"), 27, b"second half")
    past.build("b100", {"a.txt": LINES})
    past.patch("first", {"a.txt": both})
    past.build("b102", {"a.txt": changed(LINES, 3, b"first half")})
    past.save(home.patches)
    accept = "--accept-partial first  # when what is left of first is right by itself; else\n"
    error = stop(home)
    assert f"{accept}settle first on b102 in its worktree\n" in error.hint
    assert worktree(error).is_dir()
    assert rebase.rebase(home, Console(), Request(onto="b102", accept_partial=("first",))) == 0
    assert past.content("refs/heads/speed/b102", "a.txt") == both


@pytest.mark.parametrize(
    "asked",
    [
        Request(go_on=True, abort=True),
        Request(go_on=True, skip=("first",)),
        Request(go_on=True, onto="b102"),
        Request(abort=True, dry_run=True),
        Request(go_on=True, matrix=True),
    ],
)
def test_options_that_exclude_each_other_are_refused(past: Past, home: Home, asked: Request) -> None:
    stop(home)
    with pytest.raises(UsageProblem):
        rebase.rebase(home, Console(), asked)


def test_what_went_through_but_wants_a_look_is_named(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    past = Past(home.root)
    block = LINES[: LINES.index(b"line 8")]
    past.build("b100", {"run.sh": LINES, "twice.txt": LINES})
    past.patch("one", {"run.sh": changed(LINES, 12), "twice.txt": changed(LINES, 4)})
    past.build("b101", {"run.sh": Entry(LINES, "100755"), "twice.txt": LINES + block})
    past.save(home.patches)
    assert rebase.rebase(home, Console(), Request(onto="b101", dry_run=True)) == 0
    said = capsys.readouterr().out
    assert "look at one: run.sh: upstream changed its mode from 100644 to 100755, which stays" in said
    assert "look at one: twice.txt: hunk 1 went to line 1, its old text stands at 31 too" in said


def test_a_conflict_is_one_document_for_a_machine(past: Past, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    error = stop(home)
    capsys.readouterr()
    assert told(Console(json_output=True), error) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["error"] == "SeriesConflict"
    (conflict,) = document["conflicts"]
    assert (conflict["id"], conflict["since"]["build"], conflict["since"]["after"]) == ("first", "b102", "b101")
    (path,) = conflict["paths"]
    assert (path["path"], path["kind"]) == ("a.txt", "content")
    (clash,) = path["clashes"]
    assert (clash["base"], clash["upstream"]) == ("line 12\n", "upstream's\n")
    assert document["worktree"] == {
        "path": str(worktree(error)),
        "id": "first",
        "onto": "b102",
        "edit": ["a.txt"],
        "resolved": [],
    }


def test_the_matrix_moves_nothing_and_shows_where_it_begins(
    past: Past, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (queue(home), past.footprint())
    assert rebase.rebase(home, Console(json_output=True), Request(onto="b102", matrix=True)) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["builds"] == ["b100", "b101", "b102"]
    first, second = told["patches"]
    assert first["cumulative"] == ["applied", "applied", "conflict"]
    assert first["since"]["build"] == "b102"
    assert second["cumulative"] == second["alone"] == ["applied"] * 3
    assert Path(told["picture"]).read_bytes().startswith(b"<?xml")
    assert (queue(home), past.footprint()) == before


def test_the_build_that_absorbed_a_patch_is_named_not_the_aim(home: Home) -> None:
    past = Past(home.root)
    past.build("b100", {"a.txt": LINES, "b.txt": LINES})
    past.patch("first", {"a.txt": changed(LINES, 12)})
    past.patch("second", {"b.txt": changed(LINES, 20)})
    past.build("b101", {"a.txt": LINES + b"more\n", "b.txt": LINES})
    past.build("b103", {"a.txt": changed(LINES, 12) + b"more\n", "b.txt": LINES})
    past.build("b104", {"a.txt": changed(LINES, 12) + b"more\n", "b.txt": b"new\n" + LINES})
    past.save(home.patches)
    rebase.rebase(home, Console(), Request(onto="b104"))
    note = (home.patches / "retired" / "first.patch").read_bytes()
    doubt = b"1 build number between them is not known here"
    assert b"Retired: all of it is in b103 (b101 did not have it; %b); last carried on b100.\n" % doubt in note


def test_where_git_itself_breaks_off_a_person_can_go_on_without_the_patch(home: Home) -> None:
    past = Past(home.root)
    other = numbered(12, end="x\n")
    twice = changed(changed(numbered(12), 1), 2)
    past.build("b100", {"src/a.c": numbered(12), "src/b.c": other})
    past.patch("first", {"src/a.c": changed(numbered(12), 1)})
    past.patch("second", {"src/a.c": None, "src/a.c/inner": twice})
    past.patch("third", {"src/a.c/inner": None, "lib/a.c/inner": twice, "src/b.c": None, "lib/b.c": other})
    past.patch("fourth", {"note": b"kept\n"})
    past.build("b102", {"src/a.c": changed(numbered(12), 1, b"x"), "src/b.c": other})
    past.save(home.patches)
    error = stop(home, Request(onto="b102", skip=("first", "second")))  # git 2.39 aborts in merge-ort.c
    assert "patch third (3 of 4" in error.message
    assert "--skip third" in error.hint
    everything = Request(onto="b102", skip=("first", "second", "third"))
    assert rebase.rebase(home, Console(), everything) == 0
    assert load_series(home.patches).ids == ("fourth",)
