"""The worktree of a conflict, with plain git as the person in it."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ci.errors import ConfigProblem, NoRebase, RebaseInProgress, RebaseUnfinished, ResolutionProblem
from ci.git import EPOCH, Git
from ci.home import Home
from ci.process import Completed, Running, run, scrubbed_env
from ci.series.byhand.collecting import Collected, collect
from ci.series.byhand.rebase_state import abort, load_state, refuse_in_progress, ways_out, worktree_of
from ci.series.byhand.resolutions import load_store
from ci.series.byhand.worktree import Worktree, instructions, open_worktree, shell_word
from ci.upstream.tags import build_tags
from tests.helpers.clashes import LINES, PATCH_ID, PATCHED, SETTLED, UPSTREAM, Clash, files_below
from tests.helpers.histories import Entry, Past, changed, message, numbered

ROOT = Path(__file__).parents[3]


class Person:
    """Somebody with a shell in the worktree: their own git, not ours."""

    def __init__(self, clash: Clash, *, replaces: bool = False) -> None:
        self.clash = clash
        self.worktree: Worktree = open_worktree(clash.home, clash.history, clash.state, replaces=replaces)
        self.path = self.worktree.path

    def git(self, *words: str, ok_codes: tuple[int, ...] = (0,)) -> Completed:
        return run(
            ("git", "-C", str(self.path), *words), ok_codes=ok_codes, env=scrubbed_env(extra={"GIT_EDITOR": "true"})
        )

    def write(self, path: str, data: bytes) -> None:
        (self.path / path).write_bytes(data)

    def resolve(self, path: str = "a.txt", data: bytes = SETTLED) -> None:
        self.write(path, data)
        self.git("add", "--", path)

    def done(self) -> Collected:
        return collect(self.clash.home, self.clash.history)

    def refused(self) -> RebaseUnfinished:
        with pytest.raises(RebaseUnfinished) as caught:
            self.done()
        return caught.value


@pytest.fixture
def clash(tmp_path: Path) -> Clash:
    return Clash.usual(tmp_path / "one")


@pytest.fixture
def person(clash: Clash) -> Person:
    return Person(clash)


def test_a_person_finds_an_ordinary_cherry_pick(person: Person) -> None:
    status = person.git("status").text
    assert f"You are currently cherry-picking commit {person.clash.theirs[:7]}" in status
    assert "both modified:   a.txt" in status
    text = (person.path / "a.txt").read_text()
    # with the base, in markers of the usual length
    assert "<<<<<<< ours\nupstream\n||||||| base\nline 12\n=======\nspeed\n>>>>>>> theirs\n" in text
    assert person.worktree.conflicts == ("a.txt",)
    assert person.worktree.path == person.clash.home.root / "rebase" / PATCH_ID


def test_what_merges_is_no_conflict_because_the_base_is_shown(tmp_path: Path) -> None:
    base, upstream, patch = (
        b"".join(b"%c\n" % letter for letter in side) for side in (b"cabbab", b"ccaabab", b"caba")
    )
    clash = Clash.of(
        tmp_path / "one",
        {"a.txt": LINES, "b.txt": base},
        upstream={"a.txt": UPSTREAM, "b.txt": upstream},
        patch={"a.txt": PATCHED, "b.txt": patch},
    )
    person = Person(clash)
    assert person.worktree.conflicts == ("a.txt",)
    assert (person.path / "b.txt").read_bytes() == b"c\nc\na\na\nb\na\n"


@pytest.mark.parametrize(("upstream", "patch"), [("100644", "100755"), ("100755", "100644")])
def test_a_conflict_keeps_the_mode_that_git_chose(tmp_path: Path, upstream: str, patch: str) -> None:
    clash = Clash.of(
        tmp_path / "one",
        {"a.txt": LINES},
        upstream={"a.txt": Entry(UPSTREAM, upstream)},
        patch={"a.txt": Entry(PATCHED, patch)},
    )
    person = Person(clash)
    assert b"|||||||" in (person.path / "a.txt").read_bytes()
    person.resolve()
    assert clash.past.listing(person.done().settled.commit) == {"a.txt": "100755"}


def test_a_new_worktree_changes_nothing_elsewhere(clash: Clash) -> None:
    before = clash.past.footprint()
    Person(clash)
    assert clash.past.footprint() == before


def test_the_round_trip(person: Person, tmp_path: Path) -> None:
    person.resolve()
    collected = person.done()
    clash = person.clash
    assert (len(collected.recorded.ids), collected.recorded.left) == (1, ())
    commit = collected.settled.commit
    assert clash.past.content(commit, "a.txt") == SETTLED
    assert collected.settled.result_tree == clash.history.tree_of(commit)
    assert collected.settled.tip_tree == clash.history.tree_of(clash.ours)
    other = Clash.usual(tmp_path / "two")
    shutil.copytree(clash.store, other.store)
    assert other.replayed() == {"a.txt": SETTLED}


def test_the_commit_is_the_patchs_own_on_the_tip(person: Person) -> None:
    person.resolve()
    commit = person.done().settled.commit
    head, _, text = person.clash.history("cat-file", "commit", commit).text.partition("\n\n")
    picked, _, message_before = person.clash.history("cat-file", "commit", person.clash.theirs).text.partition("\n\n")
    assert text == message_before
    assert head.splitlines()[1:] == [f"parent {person.clash.ours}", *picked.splitlines()[2:]]


def test_collecting_again_gives_the_same(person: Person) -> None:
    person.resolve()
    first, second = person.done(), person.done()
    assert first.settled == second.settled
    assert second.recorded.ids == ()


@pytest.mark.parametrize("words", [("cherry-pick", "--continue"), ("commit",), ("commit", "--no-edit")])
def test_a_person_may_finish_the_cherry_pick(person: Person, words: tuple[str, ...]) -> None:
    person.resolve()
    person.git(*words)
    settled = person.done().settled
    other = Person(person.clash, replaces=True)
    other.resolve()
    assert other.done().settled == settled  # the same id: author, message and dates are the patch's


def test_a_persons_message_and_author_are_taken(person: Person) -> None:
    person.resolve()
    person.git("commit", "-m", message(PATCH_ID, "b100", "Say it better"), "--author", "Zoë <z@example.org>")
    raw = person.clash.history("cat-file", "commit", person.done().settled.commit).text
    assert "\nauthor Zoë <z@example.org> " in raw
    assert f"\ncommitter speedfork <speedfork@example.org> {EPOCH}\n" in raw
    assert "\n\nSay it better\n" in raw


def test_a_message_with_comment_signs_survives(tmp_path: Path) -> None:
    base = Clash.of(tmp_path, {"a.txt": LINES}, upstream={"a.txt": UPSTREAM}, patch={"o": b"1"})
    text = message(PATCH_ID, "b100", body="#include is gone\n# and so on")
    base.past.tip = base.past.builds["b100"]
    base.past.patch(PATCH_ID, {"a.txt": PATCHED}, text=text)
    person = Person(base)
    person.resolve()
    person.git("cherry-pick", "--continue")
    assert "#include is gone\n# and so on" in base.history("cat-file", "commit", person.done().settled.commit).text


def make_other_id(person: Person) -> None:
    person.git("commit", "-m", message("other", "b100"))


def make_no_trailers(person: Person) -> None:
    person.git("commit", "-m", "fix")


def make_two_commits(person: Person) -> None:
    person.git("commit", "--no-edit")
    person.git("commit", "--allow-empty", "-m", "second")


def make_other_base(person: Person) -> None:
    person.git("commit", "--no-edit")
    person.git("reset", "--hard", person.clash.past.builds["b100"])


def make_change_after_commit(person: Person) -> None:
    person.git("commit", "--no-edit")
    person.resolve(data=changed(SETTLED, 1))


def make_unsaved(person: Person) -> None:
    person.write("a.txt", changed(SETTLED, 1))


def make_new_file(person: Person) -> None:
    person.write("new file.cu", b"x")


def make_marker(person: Person) -> None:
    person.resolve(data=SETTLED + b"=======\n")


def make_given_up(person: Person) -> None:
    person.git("cherry-pick", "--abort")


def make_skipped(person: Person) -> None:
    person.git("cherry-pick", "--skip")


def make_upstreams(person: Person) -> None:
    person.resolve(data=UPSTREAM)


def make_none(person: Person) -> None:
    person.git("checkout", "-m", "--", "a.txt")


def make_edited_only(person: Person) -> None:
    make_none(person)
    person.write("a.txt", SETTLED)


def make_deleted(person: Person) -> None:
    make_none(person)
    (person.path / "a.txt").unlink()


SKIP = f"invoke rebase-upstream --skip {PATCH_ID}"
REFUSALS: dict[Callable[[Person], None], tuple[str, str]] = {
    make_other_id: ("Speed-Id is other, expected speed-up", "git commit --amend"),
    make_no_trailers: ("the commit message: ", "git commit --amend"),
    make_two_commits: ("HEAD is not one commit on ", "git reset --soft "),
    make_other_base: ("HEAD is not one commit on ", "git reset --soft "),
    make_change_after_commit: ("changes were added after the commit", "git commit --amend"),
    make_unsaved: ("a.txt: changed and not added", "git add -- a.txt"),
    make_new_file: ("'new file.cu': a new file, not added", "git add -- 'new file.cu'"),
    make_marker: ("a.txt: still holds conflict markers: =======", "  edit a.txt\n  git add -- a.txt\n"),
    make_given_up: ("nothing is left of speed-up", SKIP),
    make_skipped: ("nothing is left of speed-up", SKIP),
    make_upstreams: ("nothing is left of speed-up", SKIP),
    make_none: ("a.txt: still holds conflict markers", "  edit a.txt\n  git add -- a.txt\n"),
    make_edited_only: ("a.txt: edited and not added", "speed-up\n  git add -- a.txt\n"),
    make_deleted: ("a.txt: in conflict (git add what is right, or git rm it)", "git add -- a.txt"),
}


@pytest.mark.parametrize(("make", "words"), REFUSALS.items(), ids=[make.__name__ for make in REFUSALS])
def test_what_is_not_ready_is_refused_with_the_command(
    person: Person, make: Callable[[Person], None], words: tuple[str, str]
) -> None:
    person.resolve()
    make(person)
    before = files_below(person.path / ".git")
    refused = person.refused()
    assert words[0] in refused.message
    assert words[1] in refused.hint
    assert refused.exit_code == 3
    assert not person.clash.store.exists()
    assert files_below(person.path / ".git").keys() >= before.keys()


def test_the_advice_on_two_commits_works(person: Person) -> None:
    person.resolve()
    make_two_commits(person)
    cd, *commands, back, _ = person.refused().hint.splitlines()[1:]
    assert (cd, back) == (f"  cd {person.path}", "  cd -")
    for command in commands:
        run(("bash", "-c", command), cwd=person.path)
    assert person.clash.past.content(person.done().settled.commit, "a.txt") == SETTLED


def test_everything_that_is_missing_is_said_at_once(person: Person) -> None:
    make_new_file(person)
    refused = person.refused()
    assert "a.txt: still holds" in refused.message
    assert "new file.cu" in refused.message


def test_ignored_files_do_not_stop_anybody(tmp_path: Path) -> None:
    base = {".gitignore": b"build\n", "a.txt": LINES}
    person = Person(Clash.of(tmp_path, base, upstream={"a.txt": UPSTREAM}, patch={"a.txt": PATCHED}))
    (person.path / "build").mkdir()
    person.write("build/x.o", b"x")
    person.resolve()
    assert person.done().recorded.ids


def test_what_a_person_changed_beyond_the_conflict_is_named(tmp_path: Path) -> None:
    """Whoever replays the resolution gets the file in conflict, and nothing else of this."""
    base: dict[str, bytes | Entry | None] = {
        "a.txt": LINES,
        "caller": b"1\n",
        "gone": b"1\n",
        "run": b"1\n",
        "same": b"1\n",
    }
    clash = Clash.of(tmp_path, base, upstream={"a.txt": UPSTREAM}, patch={"a.txt": PATCHED, "same": b"2\n"})
    person = Person(clash)
    person.resolve()
    person.resolve("caller", b"2\n")
    person.resolve("new", b"2\n")
    person.git("rm", "gone")
    person.git("update-index", "--chmod=+x", "run")
    (person.path / "run").chmod(0o755)
    recorded = person.done().recorded
    assert len(recorded.ids) == 1
    assert {left.path for left in recorded.left} == {"caller", "new", "gone", "run"}
    assert {left.why for left in recorded.left} == {"changed without a conflict: rerere records conflicts only"}


def test_a_new_file_that_was_added_belongs_to_the_patch(person: Person) -> None:
    person.resolve()
    make_new_file(person)
    person.git("add", "new file.cu")
    assert person.clash.past.content(person.done().settled.commit, "new file.cu") == b"x"


def test_marker_lines_of_the_sources_are_no_leftovers(tmp_path: Path) -> None:
    """reStructuredText underlines, in files that both sides have them in."""
    head = b"Heading\n=======\n"
    clash = Clash.of(
        tmp_path, {"a.rst": head + LINES}, upstream={"a.rst": head + UPSTREAM}, patch={"a.rst": head + PATCHED}
    )
    person = Person(clash)
    person.resolve("a.rst", head + SETTLED)
    assert clash.past.content(person.done().settled.commit, "a.rst") == head + SETTLED


def test_what_cannot_be_recorded_is_named(tmp_path: Path) -> None:
    clash = Clash.of(
        tmp_path,
        {"a.txt": LINES, "gone.txt": LINES},
        upstream={"a.txt": UPSTREAM, "gone.txt": None},
        patch={"a.txt": PATCHED, "gone.txt": PATCHED},
    )
    person = Person(clash)
    assert person.worktree.conflicts == ("a.txt", "gone.txt")
    person.resolve()
    person.git("rm", "gone.txt")
    recorded = person.done().recorded
    assert len(recorded.ids) == 1
    assert [(left.path, left.why) for left in recorded.left] == [
        ("gone.txt", "rerere knows only files that are there on both sides")
    ]


def test_a_conflict_in_a_file_that_upstream_renamed_is_recorded_under_its_new_name(tmp_path: Path) -> None:
    clash = Clash.of(tmp_path, {"o.c": LINES}, upstream={"o.c": None, "n.c": UPSTREAM}, patch={"o.c": PATCHED})
    person = Person(clash)
    person.resolve("n.c")
    recorded = person.done().recorded
    assert (len(recorded.ids), recorded.left) == (1, ())
    again = Person(clash, replaces=True)
    assert again.worktree.conflicts == ()
    assert [resolution.path for resolution in again.worktree.resolutions] == ["n.c"]
    assert (again.path / "n.c").read_bytes() == SETTLED


def test_known_conflicts_are_settled_before_a_person_comes(tmp_path: Path, clash: Clash) -> None:
    clash.record({"a.txt": SETTLED})
    two = Clash.of(
        tmp_path / "two",
        {"a.txt": LINES, "run me": Entry(numbered(5), "100755")},
        upstream={"a.txt": UPSTREAM, "run me": Entry(changed(numbered(5), 2, b"up"), "100755")},
        patch={"a.txt": PATCHED, "run me": Entry(changed(numbered(5), 2), "100755")},
    )
    shutil.copytree(clash.store, two.store)
    person = Person(two)
    assert person.worktree.conflicts == ("run me",)
    assert (person.path / "a.txt").read_bytes() == SETTLED
    assert "git diff --cached -- a.txt  # resolved from patches/resolutions: read it" in instructions(person.worktree)
    person.resolve("run me", changed(numbered(5), 2, b"both"))
    collected = person.done()
    assert len(collected.recorded.ids) == 1
    assert two.past.listing(collected.settled.commit) == {"a.txt": "100644", "run me": "100755"}
    assert load_store(two.store).unused(collected.recorded.ids) == load_store(clash.store).ids


def test_a_second_opinion_on_a_known_conflict_is_named(clash: Clash) -> None:
    clash.record({"a.txt": SETTLED})
    person = Person(clash)
    person.resolve(data=changed(LINES, 12, b"better"))
    recorded = person.done().recorded
    assert recorded.ids == ()
    assert "holds another resolution" in recorded.left[0].why


def test_a_clean_merge_that_a_person_must_judge(tmp_path: Path) -> None:
    """Upstream landed a part of the patch: git merges that without a word."""
    part = changed(LINES, 3)
    clash = Clash.of(tmp_path, {"a.txt": LINES}, upstream={"a.txt": part}, patch={"a.txt": changed(part, 20)})
    person = Person(clash)
    assert person.worktree.conflicts == ()
    assert "git found no conflict" in instructions(person.worktree)
    assert "You are currently cherry-picking" in person.git("status").text
    assert clash.past.content(person.done().settled.commit, "a.txt") == changed(part, 20)
    person.git("commit", "--no-edit")
    assert clash.past.content(person.done().settled.commit, "a.txt") == changed(part, 20)


def test_a_patch_of_which_nothing_is_left(tmp_path: Path) -> None:
    clash = Clash.of(tmp_path, {"a.txt": LINES}, upstream={"a.txt": PATCHED}, patch={"a.txt": PATCHED})
    assert SKIP in Person(clash).refused().hint


ODD = ["with blank/\"quoted\" 'name'.cu", "caf\udce9.cpp", "new\nline", "-x"]


@pytest.mark.parametrize("path", ODD)
def test_odd_names(tmp_path: Path, path: str) -> None:
    clash = Clash.of(tmp_path / "c", {path: LINES}, upstream={path: UPSTREAM}, patch={path: PATCHED})
    person = Person(clash)
    assert person.worktree.conflicts == (path,)
    refused = person.refused()
    assert shell_word(path) in refused.message
    assert str(refused).encode()  # can be printed
    person.write(path, SETTLED)
    said = instructions(person.worktree)
    add = next(line for line in said.splitlines() if line.startswith("  git add"))
    run(("bash", "-c", add), cwd=person.path)  # as it was printed
    assert clash.past.content(person.done().settled.commit, path) == SETTLED


def test_instructions_name_the_place_the_files_and_the_ways_out(person: Person) -> None:
    assert instructions(person.worktree).splitlines() == [
        "settle speed-up on b101 in its worktree",
        f"  cd {person.path}",
        "  edit a.txt",
        "  git add -- a.txt",
        "  cd -",
        "then one of",
        *ways_out(person.worktree.state).splitlines()[1:],
    ]


def test_settings_and_attributes_do_not_change_bytes(tmp_path: Path, sealed: Path) -> None:
    (sealed / ".gitconfig").write_text(
        f"[core]\n\tautocrlf = true\n\thooksPath = {sealed}\n[commit]\n\tgpgSign = true\n"
        '[filter "evil"]\n\tclean = touch ran\n\tsmudge = touch ran\n'
    )
    (sealed / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (sealed / "pre-commit").chmod(0o755)
    base = {".gitattributes": b"* text eol=crlf filter=evil merge=union\n", "a.txt": LINES}
    clash = Clash.of(tmp_path / "c", base, upstream={"a.txt": UPSTREAM}, patch={"a.txt": PATCHED})
    person = Person(clash)
    person.resolve()
    person.git("commit", "--no-edit")
    assert clash.past.content(person.done().settled.commit, "a.txt") == SETTLED
    assert not (person.path / "ran").exists()


def test_a_link_to_somewhere_else_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"mine")
    link = Entry(str(secret).encode(), "120000")
    clash = Clash.of(
        tmp_path / "c",
        {"l": Entry(b"nowhere", "120000"), "a.txt": LINES},
        upstream={"l": link, "a.txt": UPSTREAM},
        patch={"l": Entry(b"elsewhere", "120000"), "a.txt": PATCHED},
    )
    person = Person(clash)
    assert person.worktree.conflicts == ("a.txt", "l")
    assert "l: in conflict" in person.refused().message
    person.resolve()
    person.git("add", "l")
    assert [left.path for left in person.done().recorded.left] == ["l"]
    assert secret.read_bytes() == b"mine"


def test_a_second_rebase_is_refused_with_three_ways_out(person: Person) -> None:
    for ask in (lambda: refuse_in_progress(person.clash.home), lambda: Person(person.clash)):
        with pytest.raises(RebaseInProgress, match="speed-up waits in ") as caught:
            ask()
        assert all(word in caught.value.hint for word in ("--continue", "--skip speed-up", "--abort"))


def test_abort_removes_the_worktree_and_nothing_else(person: Person) -> None:
    clash = person.clash
    clash.home.patches.mkdir(parents=True)
    (clash.home.patches / "series").write_bytes(b"x")
    before = clash.past.footprint()
    assert abort(clash.home)
    assert load_state(clash.home) is None
    assert not (clash.home.root / "rebase").exists()
    assert clash.past.footprint() == before
    assert (clash.home.patches / "series").read_bytes() == b"x"
    assert not abort(clash.home)


def test_without_a_rebase_there_is_nothing_to_collect(clash: Clash) -> None:
    refuse_in_progress(clash.home)
    with pytest.raises(NoRebase, match="no rebase is in progress"):
        collect(clash.home, clash.history)


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"schema_version": 1, "tree": "../../patches"}', b"\xff"])
def test_a_damaged_state_is_named_and_can_be_aborted(person: Person, text: bytes) -> None:
    (person.clash.home.root / "rebase" / "state.json").write_bytes(text)
    with pytest.raises(ConfigProblem, match=r"state\.json") as caught:
        person.done()
    assert caught.value.hint == "invoke rebase-upstream --abort"
    assert abort(person.clash.home)
    Person(person.clash)


def test_a_worktree_that_somebody_removed(person: Person) -> None:
    shutil.rmtree(person.path)
    with pytest.raises(ConfigProblem, match="is not there") as caught:
        person.done()
    assert caught.value.hint == "invoke rebase-upstream --abort"


def test_a_damaged_store_leaves_no_worktree(clash: Clash) -> None:
    (clash.store / "not-an-id").mkdir(parents=True)
    with pytest.raises(ResolutionProblem, match="not-an-id"):
        Person(clash)
    assert load_state(clash.home) is None
    assert list((clash.home.root / "rebase").iterdir()) == []


def test_the_next_conflict_replaces_the_worktree(person: Person) -> None:
    second = Person(person.clash, replaces=True)
    assert second.path.name == f"{PATCH_ID}.2"
    assert load_state(person.clash.home) == second.worktree.state
    assert sorted(path.name for path in second.path.parent.iterdir()) == [f"{PATCH_ID}.2", "state.json"]


@pytest.mark.native
def test_a_conflict_in_the_real_sources(real_home: Home, tmp_path: Path) -> None:
    """Real names, modes, attributes and size; settled once, then known."""
    git = Git(path=real_home.history)
    tag = build_tags(git.tags())[-1]
    past = Past(tmp_path)
    borrowed = past.git.path / "objects" / "info" / "alternates"
    borrowed.write_text(f"{real_home.history / 'objects'}\n")
    base = past.builds["b100"] = str(git.commit_of(tag.ref))
    path = "src/llama-context.cpp"
    source = past.content(base, path)
    past.patch(PATCH_ID, {path: changed(source, 100)})
    past.builds["b101"] = past.commit(past.tree({path: changed(source, 100, b"upstream")}, start=base), [base], "up")
    person = Person(Clash(past, Home(root=tmp_path / "state", checkout=tmp_path / "fork")))
    person.resolve(path, changed(source, 100, b"both"))
    first = person.done()
    assert len(first.recorded.ids) == 1
    again = Person(person.clash, replaces=True)
    assert again.worktree.conflicts == ()
    assert again.done().settled == first.settled


SCRIPT = """
import sys
from pathlib import Path
from ci.upstream.tags import build_tags
from tests.helpers.clashes import Clash
from tests.helpers.histories import Past
from ci.git import Git
from ci.home import Home
from ci.series.byhand.rebase_state import State
from ci.series.byhand.worktree import open_worktree
root = Path(sys.argv[1])
state = State.model_validate_json(sys.argv[2])
home = Home(root=root / "state", checkout=root / "fork")
for _ in range(100):
    open_worktree(home, Git(path=root / "history.git"), state, replaces=True)
"""


@pytest.mark.parametrize("moment", [0.02, 0.11, 0.23, 0.31, 0.37])
def test_a_kill_leaves_the_old_worktree_or_the_new_one(clash: Clash, tmp_path: Path, moment: float) -> None:
    argv = (sys.executable, "-c", SCRIPT, str(tmp_path / "one"), clash.state.model_dump_json())
    folder = clash.home.root / "rebase"
    with Running(argv, env=scrubbed_env(extra={"PYTHONPATH": str(ROOT)}), log=tmp_path / "log") as program:
        until = time.monotonic() + 60
        while not (folder / "state.json").exists():
            assert program.exit_code() is None, program.log_tail()
            assert time.monotonic() < until
            time.sleep(0.002)
        time.sleep(moment)
        os.kill(program.pid, signal.SIGKILL)
    state = load_state(clash.home)
    assert state
    (worktree_of(clash.home, state) / "a.txt").write_bytes(SETTLED)
    run(("git", "add", "a.txt"), cwd=worktree_of(clash.home, state))
    assert clash.past.content(collect(clash.home, clash.history).settled.commit, "a.txt") == SETTLED
    Person(clash, replaces=True)
    assert len(list(folder.iterdir())) == 2
