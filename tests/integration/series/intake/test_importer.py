"""A fork's commits as patch files, held against plain `git am`: what comes through, and what is refused by name."""

from pathlib import Path

import pytest

from ci.errors import RangeProblem
from ci.git import Git
from ci.series.engine.importing import AM
from ci.series.intake.importer import NewPatch, NewQueue, import_range
from ci.upstream.source import no_progress
from tests.helpers.fork_past import LINES, ForkPast
from tests.helpers.histories import Entry, Files, changed, message


@pytest.fixture
def fork(tmp_path: Path) -> ForkPast:
    return ForkPast(tmp_path)


def imported(fork: ForkPast, work: Path, *, base: str = "") -> NewQueue:
    return import_range(fork.fork.git, base or fork.base, fork.tip, work=work, progress=no_progress)


def applied(fork: ForkPast, patches: tuple[NewPatch, ...], place: Path) -> Git:
    """Plain `git am` of the files, in a clone that knows nothing else."""
    Git(path=fork.fork.git.path)("clone", "--quiet", "--no-hardlinks", ".", place)
    clone = Git(path=place)
    clone("checkout", "--quiet", "--detach", fork.base)
    files = []
    for number, patch in enumerate(patches):
        files.append(place.parent / f"{place.name}-{number}.patch")
        files[-1].write_bytes(patch.raw)
    clone(*AM, *files)
    return clone


def authors(git: Git, tip: str, base: str) -> bytes:
    return git("log", "--format=%an <%ae> %ad", "--date=raw", f"{base}..{tip}").stdout


CONTENTS: dict[str, tuple[Files, Files]] = {
    "CRLF": ({"f": b"a\r\nb\r\n"}, {"f": b"a\r\nc\r\n"}),
    "LF to CRLF": ({"f": b"a\nb\n"}, {"f": b"a\r\nb\r\n"}),
    "mixed line ends": ({"f": b"a\r\nb\nc\r\n"}, {"f": b"a\r\nb\nd\r\n"}),
    "latin-1": ({"f": b"caf\xe9\n"}, {"f": b"na\xefve caf\xe9\n"}),
    "binary": ({"f": b"\0\1\2" * 50}, {"f": b"\0\1\3" * 50, "new.bin": bytes(range(256))}),
    "empty file": ({}, {"__init__.py": b"", "z.txt": b"1\n"}),
    "file emptied": ({"f": b"1\n"}, {"f": b""}),
    "no final newline": ({"f": b"a"}, {"f": b"a\nb"}),
    "mode": ({"run.sh": b"1\n"}, {"run.sh": Entry(b"1\n", "100755")}),
    "mode and text": ({"run.sh": Entry(b"1\n", "100755")}, {"run.sh": b"2\n"}),
    "link": ({}, {"link": Entry(b"a.txt", "120000")}),
    "link becomes file": ({"link": Entry(b"a.txt", "120000")}, {"link": b"text\n"}),
    "file becomes folder": ({"d": b"1\n"}, {"d": None, "d/x": b"1\n"}),
    "deleted": ({"f": b"1\n"}, {"f": None}),
    "moved": ({"old": LINES}, {"old": None, "new": changed(LINES, 3)}),
    "odd paths": ({}, {'sp ace/q"uote': b"1\n", "tab\there": b"1\n", "ünï": b"1\n", "back\\slash": b"1\n"}),
    "long line": ({"f": b"x" * 5000 + b"\n"}, {"f": b"y" * 5000 + b"\n"}),
    "many lines": ({}, {"f": b"".join(b"%d\n" % n for n in range(60_000))}),
}


@pytest.mark.parametrize("case", list(CONTENTS))
def test_every_kind_of_content_comes_through(tmp_path: Path, case: str) -> None:
    before, after = CONTENTS[case]
    fork = ForkPast(tmp_path, {"a.txt": LINES, **before})
    fork.commit("Change", after)
    queue = imported(fork, tmp_path / "work")
    assert queue.tree == queue.wanted == fork.fork.git.tree_of(fork.tip)
    clone = applied(fork, queue.patches, tmp_path / "clone")
    assert clone.tree_of("HEAD") == queue.wanted


def test_a_large_commit_comes_through_and_is_watched(fork: ForkPast, tmp_path: Path) -> None:
    fork.commit("Many files", {f"dir{n % 20}/file{n}.c": b"%d\n" % n for n in range(400)})
    heard: list[str] = []
    queue = import_range(
        fork.fork.git, fork.base, fork.tip, work=tmp_path, progress=lambda _done, _total, note: heard.append(note)
    )
    assert len(queue.patches[0].raw.split(b"diff --git")) == 401
    assert {word.split()[0] for word in heard} == {"ordering", "writing", "git"}


SUBJECTS = [
    "[CUDA] ggml: fix x",
    "ggml : " + "a long subject that a mail folds in two or three lines " * 3,
    "Beschleunigt für " + "größere Wörter " * 8,
    "fix: x: y",
    "速い行列",
]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_subjects_come_through(fork: ForkPast, tmp_path: Path, subject: str) -> None:
    fork.commit(subject.strip(), {"a.txt": changed(LINES, 3)})
    (patch,) = imported(fork, tmp_path / "work").patches
    clone = applied(fork, (patch,), tmp_path / "clone")
    assert clone("log", "-1", "--format=%s").text == subject.strip()
    assert patch.notes == ()


BODIES = [
    "",
    "From the upstream thread:\n\n> words\n",
    "From: B <b@example.org>\n\nis how a mail begins\n",
    "a table\n---\nbelow\n",
    "diff --git a/x b/x\nis how a diff begins\n",
    "From 1234567890123456789012345678901234567890 Mon Sep 17 00:00:00 2001\n",
    "  indented\n\ttab\n",
    "# a heading\n\n#1: a list\n",
    "naïve\n",
    "Note: prose that looks like a trailer\n",
    "Signed-off-by: A Person <a@example.org>\n",
]


@pytest.mark.parametrize("body", BODIES)
def test_bodies_come_through(fork: ForkPast, tmp_path: Path, body: str) -> None:
    fork.commit("", {"a.txt": changed(LINES, 3)}, text=f"Fast\n\n{body}")
    (patch,) = imported(fork, tmp_path / "work").patches
    clone = applied(fork, (patch,), tmp_path / "clone")
    kept = clone("log", "-1", "--format=%B").text
    assert [line.strip() for line in body.splitlines() if line.strip()] == [
        line.strip() for line in kept.split("Speed-Id:")[0].splitlines()[1:] if line.strip()
    ]
    assert patch.todo[0] == "Speed-Feature"


def test_authors_and_dates_are_kept(fork: ForkPast, tmp_path: Path) -> None:
    people = [
        ("A Person", "a@example.org", "1700000000 +0545"),
        ("Zoë Größe", "z@example.org", "1600000000 -1130"),
        ("O'Neil, J. (home)", "j@example.org", "3600 +0000"),
        ("bot[bot]", "1+bot@users.example.org", "1700000001 +0000"),
    ]
    for number, (name, address, date) in enumerate(people):
        env = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": address, "GIT_AUTHOR_DATE": f"@{date}"}
        fork.commit(f"Change {number}", {"a.txt": changed(LINES, number + 1)}, env=env)
    queue = imported(fork, tmp_path / "work")
    clone = applied(fork, queue.patches, tmp_path / "clone")
    assert authors(clone, "HEAD", fork.base) == authors(fork.fork.git, fork.tip, fork.base)
    assert not any(patch.notes for patch in queue.patches)


@pytest.mark.parametrize("encoding", [b"ISO-8859-1", b""])
def test_an_author_in_another_encoding_keeps_the_name(fork: ForkPast, tmp_path: Path, encoding: bytes) -> None:
    tree = fork.fork.tree({"a.txt": changed(LINES, 3)}, start=fork.base)
    fork.raw_commit(tree, b"Ren\xe9 <r@example.org> 1700000000 +0100", b"caf\xe9\n\nna\xefve\n", encoding=encoding)
    (patch,) = imported(fork, tmp_path / "work").patches
    clone = applied(fork, (patch,), tmp_path / "clone")
    assert clone("log", "-1", "--format=%an|%ad|%s", "--date=raw").text == "René|1700000000 +0100|café"
    assert patch.author == "René <r@example.org>"
    assert "UTF-8" in patch.notes[0]


@pytest.mark.parametrize(
    "author",
    [
        b"who@me <a@example.org> 1700000000 +0000",
        b'"Quoted." <a@example.org> 1700000000 +0000',
        b"A Name That Goes On Far Beyond The Sixty Letters That A Mail Allows It <a@example.org> 1700000000 +0000",
    ],
)
def test_an_author_that_a_mail_would_change_is_refused(fork: ForkPast, tmp_path: Path, author: bytes) -> None:
    commit = fork.raw_commit(fork.fork.tree({"a.txt": changed(LINES, 3)}, start=fork.base), author, b"Fast\n")
    with pytest.raises(RangeProblem, match=f"{commit} .Fast.: author and date .* would become") as caught:
        imported(fork, tmp_path / "work")
    assert "amend it in a clone" in caught.value.hint


def test_equal_subjects_get_names_of_their_own(fork: ForkPast, tmp_path: Path) -> None:
    for line in (1, 9, 20):
        fork.commit("", {"a.txt": changed(LINES, line)}, text="Fast again\n")
    assert [patch.name for patch in imported(fork, tmp_path / "work").patches] == [
        "fast-again",
        "fast-again-2",
        "fast-again-3",
    ]


def test_commits_that_change_nothing_are_dropped_with_a_word(fork: ForkPast, tmp_path: Path) -> None:
    empty = fork.commit("Empty", {})
    fork.commit("Full", {"a.txt": changed(LINES, 3)})
    queue = imported(fork, tmp_path / "work")
    assert [patch.name for patch in queue.patches] == ["Full".lower()]
    assert [(gone.commit, gone.why) for gone in queue.dropped] == [(empty, "changes nothing")]


def test_a_merge_becomes_one_line_when_that_is_exact(fork: ForkPast, tmp_path: Path) -> None:
    left = fork.commit("left", {"a.txt": changed(LINES, 3)})
    right = fork.commit("right", {"a.txt": changed(LINES, 20), "b.txt": b"new\n"}, on=fork.base)
    fork.merge(left, right)
    fork.commit("after", {"c.txt": changed(LINES, 5)})
    queue = imported(fork, tmp_path / "work")
    assert sorted(patch.name for patch in queue.patches[:2]) == ["left", "right"]
    assert queue.patches[2].name == "after"
    assert queue.tree == queue.wanted
    assert applied(fork, queue.patches, tmp_path / "clone").tree_of("HEAD") == queue.wanted


def test_commits_from_before_a_merged_build_are_replayed_on_it(fork: ForkPast, tmp_path: Path) -> None:
    speed = fork.commit("speed", {"a.txt": changed(LINES, 3)})
    newer = fork.fork.commit(fork.fork.tree({"a.txt": b"new\n" + LINES}), [fork.base], "upstream")
    fork.merge(speed, newer)
    fork.commit("more", {"d.txt": b"1\n"})
    queue = imported(fork, tmp_path / "work", base=newer)
    assert [patch.name for patch in queue.patches] == ["speed", "more"]
    assert queue.tree == queue.wanted


def test_the_same_change_on_both_sides_is_carried_once(fork: ForkPast, tmp_path: Path) -> None:
    left = fork.commit("left", {"a.txt": changed(LINES, 3)})
    right = fork.commit("right", {"a.txt": changed(LINES, 3)}, on=fork.base)
    fork.merge(left, right)
    queue = imported(fork, tmp_path / "work")
    assert len(queue.patches) == 1
    assert "what it changes is in the line already" in [gone.why for gone in queue.dropped]


def test_a_merge_with_changes_of_its_own_is_refused_by_name(fork: ForkPast, tmp_path: Path) -> None:
    left = fork.commit("left", {"a.txt": changed(LINES, 3)})
    right = fork.commit("right", {"b.txt": changed(LINES, 3)}, on=fork.base)
    first = fork.merge(left, right)
    other = fork.commit("other", {"c.txt": changed(LINES, 9)}, on=fork.base)
    evil = fork.merge(first, other, {"c.txt": b"slipped in\n"})
    fork.commit("after", {"d.txt": b"1\n"})
    with pytest.raises(RangeProblem, match=f"merge {evil} .* holds changes that none of its commits makes") as caught:
        imported(fork, tmp_path / "work")
    assert f"git rebase {fork.base}" in caught.value.hint


def test_a_merge_that_settles_a_conflict_is_refused_with_the_reason(fork: ForkPast, tmp_path: Path) -> None:
    left = fork.commit("left", {"a.txt": changed(LINES, 3, b"left")})
    right = fork.commit("right", {"a.txt": changed(LINES, 3, b"right")}, on=fork.base)
    merge = fork.merge(left, right, {"a.txt": changed(LINES, 3, b"both")})
    with pytest.raises(RangeProblem, match=rf"merge {merge} .* commit (?:{left}|{right}) .* conflicts in a\.txt"):
        imported(fork, tmp_path / "work")


def test_an_empty_range_is_refused(fork: ForkPast, tmp_path: Path) -> None:
    with pytest.raises(RangeProblem, match="the range is empty"):
        imported(fork, tmp_path)
    fork.commit("Nothing", {})
    with pytest.raises(RangeProblem, match="all 1 commits of the range change nothing"):
        imported(fork, tmp_path)


def test_a_range_the_wrong_way_round_is_refused(fork: ForkPast, tmp_path: Path) -> None:
    tip = fork.commit("speed", {"a.txt": changed(LINES, 3)})
    with pytest.raises(RangeProblem, match=r"is it B\.\.A"):
        import_range(fork.fork.git, tip, fork.base, work=tmp_path, progress=no_progress)


def test_ends_that_part_are_refused_with_the_place(fork: ForkPast, tmp_path: Path) -> None:
    left = fork.commit("left", {"a.txt": changed(LINES, 3)})
    fork.commit("right", {"b.txt": changed(LINES, 3)}, on=fork.base)
    with pytest.raises(RangeProblem, match=f"they part at {fork.base}"):
        imported(fork, tmp_path, base=left)


def test_unrelated_histories_are_refused(fork: ForkPast, tmp_path: Path) -> None:
    fork.tip = fork.fork.commit(fork.fork.tree({"a.txt": b"1\n"}), [], "root")
    with pytest.raises(RangeProblem, match="unrelated"):
        imported(fork, tmp_path)


def test_nothing_is_written_to_the_fork(fork: ForkPast, tmp_path: Path) -> None:
    fork.commit("speed", {"a.txt": changed(LINES, 3)}, text=message("speed", "b100"))
    before = fork.fork.footprint()
    imported(fork, tmp_path / "work")
    assert fork.fork.footprint() == before
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["series.lock"]
