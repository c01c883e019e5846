"""Rebases of small real histories: what git am and git cherry-pick say is what we say, and nothing else moves."""

import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from ci.errors import BaseMismatch, Busy, SeriesProblem, UsageProblem
from ci.files import exclusive
from ci.git import Git
from ci.series.conflict import PARTLY_UPSTREAM, Conflict
from ci.series.culprit import Culprit
from ci.series.engine.fold import Decisions
from ci.series.engine.scratch import LOCK, leftovers
from ci.series.export import export_commits, write_series
from ci.series.matrix import Cell
from ci.series.order import Series, load_series
from ci.series.replay import rebase
from ci.series.results import Absorbed, Rebased, Stopped
from ci.upstream.tags import BuildTag
from tests.helpers.histories import Entry, Past, changed, message, numbered

LINES = numbered(30)


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path)


def run(past: Past, onto: str = "b101", **options: object) -> Rebased | Conflict:
    accept = options.get("accept_partial", ())
    assert isinstance(accept, tuple)
    series = load_series(past.save(past.root / "patches"))
    work = past.root / "work"
    decisions = Decisions(accept_partial=accept)
    result = rebase(past.git, series, BuildTag.parse(onto), work=work, decisions=decisions)
    return result.conflicts[0] if isinstance(result, Stopped) else result


def done(past: Past, onto: str = "b101", **options: object) -> Rebased:
    result = run(past, onto, **options)
    assert isinstance(result, Rebased), result.describe()
    return result


def stopped(past: Past, onto: str = "b101") -> Conflict:
    before = past.footprint()
    result = run(past, onto)
    assert isinstance(result, Conflict)
    assert past.footprint() == before
    assert left_in_work(past) == []
    return result


def left_in_work(past: Past) -> list[str]:
    work = past.root / "work"
    others = [path for path in work.iterdir() if path.name != LOCK and path not in leftovers(work)]
    return [str(path) for path in (*others, *leftovers(work))]


def written(past: Past, patches: Path, series: Series, rebased: Rebased) -> None:
    exported = export_commits(past.git, rebased.commits, work=past.root / "work")
    write_series(past.git, patches, series, rebased, exported)


def git_rebase(past: Past, rebased: Rebased) -> str:
    """The tree that git's own rebase of the imported commits gives."""
    place = past.root / "oracle"
    past.git("worktree", "add", "--quiet", "--detach", str(place), past.tip)
    oracle = Git(path=place)
    oracle("rebase", "--quiet", "--empty=drop", "--onto", rebased.onto_commit, past.builds[past.base])
    tree = oracle.tree_of("HEAD")
    past.git("worktree", "remove", "--force", str(place))
    return tree or ""


def test_a_hunk_that_only_moved_is_applied(past: Past) -> None:
    past.build("b100", {"a.txt": LINES})
    past.patch("one", {"a.txt": changed(LINES, 12)})
    past.build("b101", {"a.txt": b"new\nnew\nnew\n" + LINES})
    rebased = done(past)
    assert past.content(rebased.head, "a.txt") == b"new\nnew\nnew\n" + changed(LINES, 12)
    assert [commit.patch_id for commit in rebased.commits] == ["one"]
    assert rebased.tree == git_rebase(past, rebased) == past.git.tree_of(rebased.head)


def test_a_rebase_moves_no_ref_and_leaves_no_file(past: Past) -> None:
    past.build("b100", {"a.txt": LINES})
    past.patch("one", {"a.txt": changed(LINES, 12)})
    past.build("b101", {"a.txt": b"new\n" + LINES})
    before = past.footprint()
    done(past)
    assert past.footprint() == before
    assert left_in_work(past) == []


def test_the_same_series_gives_the_same_commit_ids_everywhere(tmp_path: Path) -> None:
    heads = set()
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        past = Past(tmp_path / name)
        past.build("b100", {"a.txt": LINES})
        past.patch("one", {"a.txt": changed(LINES, 12)})
        past.build("b101", {"a.txt": b"new\n" + LINES})
        heads |= {done(past).head, done(past).head}
    assert len(heads) == 1


def test_author_date_and_message_survive_and_the_committer_is_fixed(past: Past) -> None:
    past.build("b100", {"a.txt": LINES})
    author = {"GIT_AUTHOR_NAME": "Zoë", "GIT_AUTHOR_EMAIL": "zoe@example.org", "GIT_AUTHOR_DATE": "1600000000 +0200"}
    text = message("one", "b100", subject="[CUDA] a subject " + "that is long enough to be folded " * 4 + "é")
    past.patch("one", {"a.txt": changed(LINES, 12)}, text=text, env=author)
    past.build("b101", {"a.txt": b"new\n" + LINES})
    rebased = done(past)
    said = past.git("show", "-s", "--format=%an <%ae> %ad | %cn %ct%n%B", "--date=raw", rebased.head).text
    assert said == f"Zoë <zoe@example.org> 1600000000 +0200 | speedfork 1700000000\n{text}".rstrip("\n")


def test_onto_its_own_base_the_commits_are_the_imported_ones(past: Past) -> None:
    past.build("b100", {"a.txt": LINES})
    past.patch("one", {"a.txt": changed(LINES, 12)})
    past.patch("two", {"b.txt": b"new\n"})
    rebased = done(past, "b100")
    assert rebased.tree == past.git.tree_of(past.tip)
    assert past.git.resolve(f"{rebased.head}~2") == past.builds["b100"]


COLLISIONS: Mapping[str, tuple[dict[str, bytes], dict[str, bytes | None], dict[str, bytes], str, str]] = {
    "new file on new file": ({}, {"f": b"content-2\n"}, {"f": b"content-1\n"}, "f", "add/add"),
    "rename onto a new file": (
        {"a": LINES},
        {"a": None, "b": LINES},
        {"a": LINES, "b": b"upstream\n"},
        "b",
        "add/add",
    ),
    "delete of a changed file": (
        {"f": LINES},
        {"f": None},
        {"f": changed(LINES, 30, b"upstream")},
        "f",
        "modify/delete: deleted by the patch",
    ),
    "change of a deleted file": (
        {"f": LINES},
        {"f": changed(LINES, 3)},
        {},
        "f",
        "modify/delete: deleted upstream",
    ),
    "same line": (
        {"f": LINES},
        {"f": changed(LINES, 3)},
        {"f": changed(LINES, 3, b"upstream")},
        "f",
        "content",
    ),
    "binary": (
        {"f": b"\0one"},
        {"f": b"\0two"},
        {"f": b"\0three"},
        "f",
        "content",
    ),
}


@pytest.mark.parametrize("name", COLLISIONS)
def test_what_git_refuses_is_a_conflict_that_names_the_path(past: Past, name: str) -> None:
    before, patch, after, path, kind = COLLISIONS[name]
    past.build("b100", {"other": b"x\n", **before})
    past.patch("first", {"first": b"fine\n"})
    past.patch("one", patch)
    past.build("b101", {"other": b"x\n", **after})
    conflict = stopped(past)
    assert (conflict.patch_id, conflict.index, conflict.total, conflict.upon) == ("one", 2, 2, "b101")
    assert (path, kind) in [(found.path, found.kind) for found in conflict.paths]


def test_a_file_where_upstream_has_a_directory_is_a_conflict(past: Past) -> None:
    past.build("b100", {"other": b"x\n"})
    past.patch("one", {"d": b"file\n"})
    past.build("b101", {"other": b"x\n", "d/x": b"below\n"})
    conflict = stopped(past)
    assert [(found.path, found.kind) for found in conflict.paths] == [("d", "file/directory")]


def test_a_conflict_shows_both_sides_and_the_common_text(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    past.build("b101", {"f": changed(LINES, 3, b"upstream")})
    conflict = stopped(past)
    (clash,) = conflict.paths[0].clashes
    assert (clash.line, clash.base, clash.upstream, clash.patch) == (3, "line 3\n", "upstream\n", "speed\n")
    shown = conflict.describe()
    assert "<<<<<<< b101\nupstream\n||||||| before\nline 3\n=======\nspeed\n>>>>>>> one" in shown
    assert "patch one (1 of 1: Make one fast) conflicts with b101" in shown


def test_lines_that_look_like_markers_do_not_confuse_the_sides(past: Past) -> None:
    tricky = b"<<<<<<< x\n=======\n>>>>>>> y\n"
    past.build("b100", {"f": tricky + LINES})
    past.patch("one", {"f": tricky + changed(LINES, 1)})
    past.build("b101", {"f": tricky + changed(LINES, 1, b"=======")})
    (clash,) = stopped(past).paths[0].clashes
    assert (clash.upstream, clash.patch) == ("=======\n", "speed\n")


def test_a_patch_that_does_not_fit_its_own_base_is_a_conflict_there(past: Past) -> None:
    past.build("b100", {"f": LINES, "g": b"\0binary"})
    past.patch("one", {"f": changed(LINES, 3), "g": b"\0other"})
    past.patches["one"] = past.patches["one"].replace(b"-line 3\n", b"-line x\n")
    past.build("b101", {"f": LINES, "g": b"\0binary"})
    conflict = stopped(past)
    assert conflict.upon == "b100"
    assert [(found.path, found.kind) for found in conflict.paths] == [("f", "patch does not apply")]


def test_a_damaged_patch_is_named_as_damaged(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    past.patches["one"] = past.patches["one"].replace(b"-line 3\n", b"-line 3\n\\ short\n")
    with pytest.raises(SeriesProblem, match=r"one\.patch: git cannot read it: (?s:.*)corrupt patch") as caught:
        run(past, "b100")
    assert "hint:" not in caught.value.message
    assert caught.value.hint == "export it again: git format-patch -1 --stdout <commit> > patches/one.patch"


SHAPES: Mapping[str, tuple[dict[str, bytes | Entry], dict[str, bytes | Entry | None]]] = {
    "rename": ({"a": LINES}, {"a": None, "b": LINES}),
    "rename and mode": ({"a": LINES}, {"a": None, "b": Entry(LINES, "100755")}),
    "mode only": ({"a": LINES}, {"a": Entry(LINES, "100755")}),
    "symlink to file": ({"a": Entry(b"target", "120000")}, {"a": b"now a file\n"}),
    "empty file": ({}, {"pkg/__init__.py": b"", "b": b"another\n"}),
    "only an empty file": ({}, {"pkg/__init__.py": b""}),
    "binary": ({"a": b"\0" + bytes(range(256)) * 40}, {"a": b"\0" + bytes(range(255, -1, -1)) * 50}),
    "CRLF file": ({"a": numbered(30, end="\r\n")}, {"a": changed(numbered(30, end="\r\n"), 12)}),
    "LF to CRLF": ({"a": LINES}, {"a": numbered(30, end="\r\n")}),
    "mixed ends": ({"a": b"one\r\ntwo\nthree\r\n"}, {"a": b"one\r\nTWO\r\nthree\n"}),
    "latin-1 line": ({"a": b"// caf\xe9\n" + LINES}, {"a": b"// th\xe9\n" + LINES}),
    "odd names": ({"a b": LINES}, {"a b": changed(LINES, 4), '\u00e9\t"q"': b"x\n"}),
    "no final newline": ({"a": b"one"}, {"a": b"two"}),
    "trailing blanks": ({"a": b"one\n"}, {"a": b"one \t\n\n\n"}),
    "delete": ({"a": LINES}, {"a": None}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_change_arrives_exactly_and_exports_the_same(past: Past, shape: str) -> None:
    before, change = SHAPES[shape]
    past.build("b100", {"other": b"x\n", **before})
    past.patch("one", change)
    past.build("b101", {"other": b"y\n", **before})
    rebased = done(past)
    assert rebased.tree == past.tree(change, start=past.builds["b101"])
    (raw,) = export_commits(past.git, rebased.commits, work=past.root / "work")
    past.patches["one"] = raw
    again = done(past)
    assert again.tree == rebased.tree
    assert export_commits(past.git, again.commits, work=past.root / "work") == (raw,)


def test_the_executable_bit_that_upstream_set_stays(past: Past) -> None:
    past.build("b100", {"run.sh": LINES})
    past.patch("one", {"run.sh": changed(LINES, 4)})
    past.build("b101", {"run.sh": Entry(LINES, "100755")})
    rebased = done(past)
    assert past.listing(rebased.head)["run.sh"] == "100755"
    assert past.content(rebased.head, "run.sh") == changed(LINES, 4)


def test_a_rename_upstream_is_followed_as_git_does(past: Past) -> None:
    past.build("b100", {"old.txt": LINES})
    past.patch("one", {"old.txt": changed(LINES, 4)})
    past.build("b101", {"new.txt": LINES})
    rebased = done(past)
    assert past.content(rebased.head, "new.txt") == changed(LINES, 4)
    assert rebased.tree == git_rebase(past, rebased)


ATTRIBUTES = b"* text eol=crlf\n*.txt merge=union ident\n*.bin -diff -merge\n"


def test_attributes_in_the_tree_change_no_byte(past: Past) -> None:
    ident = b"$Id$\n" + LINES
    past.build("b100", {".gitattributes": ATTRIBUTES, "a.txt": ident, "c.txt": numbered(9, end="\r\n")})
    past.patch("one", {"a.txt": changed(ident, 12), "c.txt": changed(numbered(9, end="\r\n"), 2), "x.bin": b"text\n"})
    after = changed(ident, 30, b"upstream")
    past.build("b101", {".gitattributes": ATTRIBUTES, "a.txt": after, "c.txt": numbered(9, end="\r\n")})
    rebased = done(past)
    assert past.content(rebased.head, "a.txt") == changed(after, 12)
    assert past.content(rebased.head, "c.txt") == changed(numbered(9, end="\r\n"), 2)
    (raw,) = export_commits(past.git, rebased.commits, work=past.root / "work")
    assert b"GIT binary patch" not in raw


def test_a_merge_driver_in_the_tree_hides_no_conflict(past: Past) -> None:
    past.build("b100", {".gitattributes": ATTRIBUTES, "a.txt": LINES})
    past.patch("one", {"a.txt": changed(LINES, 12)})
    past.build("b101", {".gitattributes": ATTRIBUTES, "a.txt": changed(LINES, 12, b"upstream")})
    assert stopped(past).paths[0].kind == "content"


def test_an_exactly_landed_patch_is_reported_as_absorbed(past: Past) -> None:
    past.build("b100", {"f": LINES, "g": LINES})
    for name, line in (("one", 3), ("three", 27)):
        past.patch(name, {"f": changed(LINES, line)} if name == "one" else {"g": changed(LINES, line)})
    past.patch("last", {"new": b"x\n"})
    past.build("b101", {"f": changed(LINES, 3), "g": LINES})
    rebased = done(past)
    assert [commit.patch_id for commit in rebased.commits] == ["three", "last"]
    evidence = "1 of 1 added lines are upstream, 1 of 1 removed lines are gone"
    since = Culprit(build=BuildTag(101), after=BuildTag(100), state=Cell.ABSORBED)
    gone = Absorbed(patch_id="one", subject="Make one fast", build=BuildTag(101), evidence=evidence, since=since)
    assert rebased.absorbed == (gone,)
    assert rebased.tree == git_rebase(past, rebased)


def half_landed(past: Past) -> bytes:
    both = changed(changed(LINES, 3, b"first half"), 27, b"second half")
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": both})
    past.build("b101", {"f": changed(LINES, 3, b"first half")})
    return both


def test_a_half_landed_patch_is_a_conflict_and_never_dropped(past: Past) -> None:
    half_landed(past)
    conflict = stopped(past)
    (path,) = conflict.paths
    assert (path.path, path.kind) == ("f", PARTLY_UPSTREAM)
    assert "f: partly upstream\nalready in b101:\n-line 3\n+first half" in conflict.describe()
    assert path.clashes[0].patch == "-line 3\n+first half\n"
    assert "--onto b101 --accept-partial zero --accept-partial one " in str(conflict.next_step(("zero",)))


def test_another_kind_of_conflict_cannot_be_accepted(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    past.build("b101", {"f": changed(LINES, 3, b"upstream")})
    assert stopped(past).next_step(()) is None


def test_a_half_landed_patch_goes_on_when_a_person_accepts_it(past: Past) -> None:
    both = half_landed(past)
    rebased = done(past, accept_partial=("one",))
    assert past.content(rebased.head, "f") == both
    assert rebased.tree == git_rebase(past, rebased)


def test_a_landed_patch_with_another_name_in_it_is_a_conflict(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3, b"int n = fast();")})
    past.build("b101", {"f": changed(LINES, 3, b"int count = fast();")})
    assert stopped(past).paths[0].kind == "content"


def test_writing_a_rebased_series_moves_the_queue_and_retires_the_absorbed(past: Past) -> None:
    past.build("b100", {"f": LINES, "g": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    past.patch("two", {"g": changed(LINES, 3)})
    past.build("b101", {"f": changed(LINES, 3), "g": b"new\n" + LINES})
    rebased = done(past)
    patches, work = past.root / "patches", past.root / "work"
    written(past, patches, load_series(patches), rebased)
    moved = load_series(patches)
    assert moved.ids == ("two",)
    assert (moved.base.tag, moved.base.tree, moved.base.revision) == (
        BuildTag(101),
        past.git.tree_of("b101"),
        1,
    )
    note = (patches / "retired" / "one.patch").read_bytes()
    why = b"all of it is in b101 (b100 did not have it); last carried on b100"
    assert b"---\nRetired: " + why + b".\n" in note
    place = past.root / "retired"
    past.git("worktree", "add", "--quiet", "--detach", str(place), "b100")
    Git(path=place)("am", "--quiet", stdin=note)  # what went can still be applied
    again = rebase(past.git, moved, BuildTag(101), work=work)
    assert isinstance(again, Rebased)
    assert again.head == rebased.head
    written(past, patches, moved, again)
    assert load_series(patches) == moved


def test_writing_keeps_the_revision_on_an_unchanged_base(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    rebased = done(past, "b100")
    patches = past.root / "patches"
    base = (patches / "base.toml").read_text().replace("revision = 1", "revision = 4")
    (patches / "base.toml").write_text(base)
    written(past, patches, load_series(patches), rebased)
    assert load_series(patches).base.revision == 4


def test_a_series_that_is_wholly_upstream_is_not_written_as_an_empty_one(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    past.build("b101", {"f": changed(LINES, 3)})
    rebased = done(past)
    assert rebased.head == rebased.onto_commit
    patches = past.root / "patches"
    with pytest.raises(SeriesProblem, match="nothing is left to carry"):
        written(past, patches, load_series(patches), rebased)
    assert load_series(patches).ids == ("one",)


def test_an_unknown_build_names_the_newest_known_one(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    past.build("b101", {"f": LINES})
    with pytest.raises(UsageProblem, match="newest known is b101") as caught:
        run(past, "b999")
    assert caught.value.hint == "invoke sync-upstream --remote URL --build b999"


def test_an_aim_older_than_the_base_is_refused(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    past.build("b99", {"f": LINES})
    with pytest.raises(UsageProblem, match="base b100 is newer than the aim b99"):
        run(past, "b99")


def test_a_base_with_another_tree_is_refused_with_both_ids(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    patches = past.save(past.root / "patches")
    tree = past.git.tree_of("b100") or ""
    (patches / "base.toml").write_text(f'tag = "b100"\ntree = "{"1" * 40}"\nrevision = 1\n')
    with pytest.raises(BaseMismatch) as caught:
        rebase(past.git, load_series(patches), BuildTag(100), work=past.root / "work")
    assert tree in caught.value.message
    assert "1" * 40 in caught.value.message


def test_two_rebases_in_one_place_are_refused(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    with exclusive(past.root / "work" / LOCK), pytest.raises(Busy):
        run(past, "b100")


def test_a_killed_rebase_leaves_nothing_that_matters_and_the_next_one_cleans_up(past: Past) -> None:
    past.build("b100", {"f": LINES, "g": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    past.patch("two", {"g": changed(LINES, 3)})
    past.build("b101", {"f": b"new\n" + LINES, "g": LINES})
    series = load_series(past.save(past.root / "patches"))
    before = past.footprint()

    def die_at_second_step(step: int, total: int, words: str) -> None:
        if step == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        rebase(past.git, series, BuildTag(101), work=past.root / "work", progress=die_at_second_step)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert past.footprint() == before
    assert len(left_in_work(past)) == 1
    assert [commit.patch_id for commit in done(past).commits] == ["one", "two"]
    assert left_in_work(past) == []


def test_an_exception_in_the_middle_leaves_nothing_behind(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    series = load_series(past.save(past.root / "patches"))
    before = past.footprint()

    def fail(step: int, total: int, words: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebase(past.git, series, BuildTag(100), work=past.root / "work", progress=fail)
    assert past.footprint() == before
    assert left_in_work(past) == []


def test_progress_names_the_import_and_every_patch(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    past.build("b101", {"f": LINES + b"more\n"})
    series = load_series(past.save(past.root / "patches"))
    heard: list[tuple[int, int, str]] = []
    rebase(past.git, series, BuildTag(101), work=past.root / "work", progress=lambda *step: heard.append(step))
    assert heard == [(0, 2, "the series on b100"), (1, 2, "one on b101")]


def test_a_message_that_is_not_in_its_charset_still_travels(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    past.patches["one"] = (
        past.patches["one"].replace(b"From: speedfork", b"From: J\xf6rg").replace(b"Why it", b"Why caf\xe9 it")
    )
    past.build("b101", {"f": LINES + b"more\n"})
    rebased = done(past)
    (raw,) = export_commits(past.git, rebased.commits, work=past.root / "work")
    past.patches["one"] = raw
    assert export_commits(past.git, done(past).commits, work=past.root / "work") == (raw,)


def test_the_in_body_author_is_the_author(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    past.patches["one"] = past.patches["one"].replace(b"\n\nWhy", b"\n\nFrom: B <b@example.org>\n\nWhy")
    rebased = done(past, "b100")
    assert past.git("show", "-s", "--format=%an <%ae>", rebased.head).text == "B <b@example.org>"
    assert load_series(past.root / "patches").patches[0].author == "B <b@example.org>"


def test_prose_that_begins_with_from_stays_one_patch(past: Past) -> None:
    past.build("b100", {"f": LINES})
    text = message("one", "b100", body="Why:\n\nFrom the upstream thread:\n# not a comment\n\nit helps.")
    past.patch("one", {"f": changed(LINES, 3)}, text=text)
    rebased = done(past, "b100")
    assert past.git("show", "-s", "--format=%B", rebased.head).text == text.rstrip("\n")


def test_what_git_calls_harmful_is_a_fault_of_the_series(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {".gitmodules": b'[submodule "x"]\n\tpath = x\n\turl = -u./evil\n'})
    past.build("b101", {"f": LINES})
    Git(path=past.root)(
        "clone", "--quiet", "--bare", "--no-local", past.git.path, "other.git"
    )  # it has never seen the patch
    past.git = Git(path=past.root / "other.git")
    with pytest.raises(SeriesProblem, match="git does not take what the series makes"):
        run(past)
    assert left_in_work(past) == []


def test_what_git_says_of_a_conflict_names_no_commit_of_ours(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    past.build("b101", {"g": LINES.replace(b"line", b"other")})
    said = stopped(past).said
    assert "upstream's side" in said
    assert re.search("[0-9a-f]{40}", said) is None
