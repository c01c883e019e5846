"""Inputs on which other tools give a wrong result without a word: here a conflict, or the very tree that git gives.

Each is a small history held against plain git; what `test_rebase` has already is not repeated.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ci.errors import SeriesProblem
from ci.git import Git
from ci.series.conflict import PARTLY_UPSTREAM
from ci.series.engine.fold import Decisions
from ci.series.order import load_series
from ci.series.replay import rebase
from ci.series.results import Absorbed, Applied, Rebased, Stopped
from ci.upstream.tags import BuildTag
from tests.helpers.git_reference import AmFailure, git_am, git_rebase
from tests.helpers.histories import Entry, Past, changed, message, numbered

LINES = numbered(40)
CRLF = numbered(40, end="\r\n")
BINARY = b"\0" + bytes(range(256)) * 4
BLOCK = b"static int f(void) {\n    int n = 0;\n    return n;\n}\n\n"

Side = Mapping[str, bytes | Entry]
Patch = Mapping[str, bytes | Entry | None]


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path)


def run(past: Past, onto: str = "b101") -> Rebased | Stopped:
    series = load_series(past.save(past.root / "patches"))
    decisions = Decisions(accept_partial=series.ids)
    return rebase(past.git, series, BuildTag.parse(onto), work=past.root / "work", decisions=decisions)


def move(past: Past, before: Side, patch: Patch, after: Side) -> Rebased | Stopped:
    """Put one patch onto another build, and hold the answer against git's: the same tree or the same paths."""
    past.build("b100", {"other": b"x\n", **before})
    past.patch("one", patch)
    past.build("b101", {"other": b"y\n", **after})
    untouched = past.footprint()
    found = run(past)
    assert past.footprint() == untouched
    expected = git_rebase(past.git, (past.tip,), past.builds["b101"], past.root / "git")
    if isinstance(found, Rebased):
        assert expected.conflict is None, expected.conflict
        assert expected.trees == (found.tree,)
    else:
        assert expected.conflict is not None, found.conflicts
        assert tuple(sorted(path.path for path in found.conflicts[0].paths)) == expected.conflict.paths
    return found


EXACT: Mapping[str, tuple[Side, Patch, Side]] = {
    "patch makes it executable, upstream changes it": (
        {"f": LINES},
        {"f": Entry(LINES, "100755")},
        {"f": changed(LINES, 3)},
    ),
    "both make it executable, each with a change": (
        {"f": LINES},
        {"f": Entry(changed(LINES, 30), "100755")},
        {"f": Entry(changed(LINES, 3), "100755")},
    ),
    "file to link": ({"f": LINES}, {"f": Entry(b"other", "120000")}, {"f": LINES}),
    "upstream deletes another file of the folder": (
        {"d/f": LINES, "d/g": LINES},
        {"d/f": changed(LINES, 3)},
        {"d/f": LINES},
    ),
    "patch renames, upstream changes": ({"f": LINES}, {"f": None, "g": LINES}, {"f": changed(LINES, 3)}),
    "upstream renames, patch renames the same way and changes": (
        {"f": LINES},
        {"f": None, "g": changed(LINES, 30)},
        {"g": changed(LINES, 3)},
    ),
    "upstream moves the folder, patch changes a file in it": (
        {"d/f": LINES, "d/g": CRLF},
        {"d/f": changed(LINES, 3)},
        {"e/f": LINES, "e/g": CRLF},
    ),
    "the hunk would fit in two places": (
        {"f": BLOCK + LINES + BLOCK},
        {"f": BLOCK + LINES + BLOCK.replace(b"0", b"1")},
        {"f": BLOCK + b"new\n" + BLOCK + LINES + BLOCK},
    ),
    "upstream drops the first of two equal blocks": (
        {"f": BLOCK + LINES + BLOCK},
        {"f": BLOCK + LINES + BLOCK.replace(b"0", b"1")},
        {"f": LINES + BLOCK},
    ),
    "CRLF on all sides": ({"f": CRLF}, {"f": changed(CRLF, 3)}, {"f": changed(CRLF, 30, b"upstream")}),
    "upstream takes the final newline, patch changes the top": (
        {"f": LINES},
        {"f": changed(LINES, 3)},
        {"f": LINES.rstrip(b"\n")},
    ),
    "new file beside upstream's new file": ({"d/f": LINES}, {"d/new": b"1\n"}, {"d/f": LINES, "d/neu": b"2\n"}),
    "new file on an empty new file": ({}, {"f": LINES}, {"f": b""}),
    "empty files on both sides": ({}, {"d/__init__.py": b""}, {"e/__init__.py": b""}),
    "changes that meet in equal lines, a conflict to git once it is to show the base": (
        {"f": b"c\na\nb\nb\na\nb\n"},
        {"f": b"c\na\nb\na\n"},
        {"f": b"c\nc\na\na\nb\na\nb\n"},
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_what_git_merges_is_merged_to_the_same_tree(past: Past, name: str) -> None:
    assert isinstance(move(past, *EXACT[name]), Rebased)


ABSORBED: Mapping[str, tuple[Side, Patch, Side]] = {
    "the same new file": ({}, {"f": LINES}, {"f": LINES}),
    "the same new empty file": ({}, {"f": b""}, {"f": b""}),
    "the same deletion": ({"f": LINES}, {"f": None}, {}),
    "the same rename": ({"f": LINES}, {"f": None, "g": LINES}, {"g": LINES}),
    "the same mode": ({"f": LINES}, {"f": Entry(LINES, "100755")}, {"f": Entry(LINES, "100755")}),
    "the same link": ({}, {"f": Entry(b"other", "120000")}, {"f": Entry(b"other", "120000")}),
    "the same binary": ({"f": BINARY}, {"f": BINARY + b"1"}, {"f": BINARY + b"1"}),
    "the same change, and more": (
        {"f": LINES},
        {"f": changed(LINES, 3)},
        {"f": changed(changed(LINES, 3), 30, b"upstream")},
    ),
}


@pytest.mark.parametrize("name", ABSORBED)
def test_what_upstream_has_already_is_absorbed_and_said(past: Past, name: str) -> None:
    found = move(past, *ABSORBED[name])
    assert isinstance(found, Rebased)
    assert [type(result) for result in found.results] == [Absorbed]


LANDED: Mapping[str, tuple[Side, Patch, Side]] = {
    "the same new binary": ({}, {"g": BINARY}, {"g": BINARY}),
    "the same new empty file": ({}, {"g": b""}, {"g": b""}),
    "the same new text": ({}, {"g": CRLF}, {"g": CRLF}),
    "the same new link": ({}, {"g": Entry(b"other", "120000")}, {"g": Entry(b"other", "120000")}),
    "the same deleted binary": ({"g": BINARY}, {"g": None}, {}),
    "the same deleted empty file": ({"g": b""}, {"g": None}, {}),
    "the same deleted text": ({"g": CRLF}, {"g": None}, {}),
    "the same rename": ({"g": CRLF}, {"g": None, "h": CRLF}, {"h": CRLF}),
    "the same binary": ({"g": BINARY}, {"g": BINARY + b"1"}, {"g": BINARY + b"1"}),
    "the same mode": ({"g": CRLF}, {"g": Entry(CRLF, "100755")}, {"g": Entry(CRLF, "100755")}),
}


@pytest.mark.parametrize("name", LANDED)
def test_a_patch_of_which_one_file_landed_is_asked_about(past: Past, name: str) -> None:
    before, patch, after = LANDED[name]
    past.build("b100", {"f": LINES, **before})
    past.patch("one", {"f": changed(LINES, 3), **patch})
    past.build("b101", {"f": LINES, **after})
    series = load_series(past.save(past.root / "patches"))
    found = rebase(past.git, series, BuildTag.parse("b101"), work=past.root / "work")
    assert isinstance(found, Stopped)
    ((path,),) = (conflict.paths for conflict in found.conflicts)
    assert (path.path, path.kind) == (sorted(patch)[-1], PARTLY_UPSTREAM)


CONFLICTS: Mapping[str, tuple[Side, Patch, Side]] = {
    "new file in a folder that is a file upstream": ({}, {"d/x": LINES}, {"d": LINES}),
    "deletion of a file whose last line changed": ({"f": LINES}, {"f": None}, {"f": changed(LINES, 40)}),
    "upstream empties the file": ({"f": LINES}, {"f": changed(LINES, 3)}, {"f": b""}),
    "file to link, upstream changes the file": (
        {"f": LINES},
        {"f": Entry(b"other", "120000")},
        {"f": changed(LINES, 3)},
    ),
    "both point the link elsewhere": (
        {"f": Entry(b"a", "120000")},
        {"f": Entry(b"b", "120000")},
        {"f": Entry(b"c", "120000")},
    ),
    "both rename, to different names": ({"f": LINES}, {"f": None, "g": LINES}, {"h": LINES}),
    "different files renamed to one name": (
        {"f": LINES, "g": CRLF},
        {"f": None, "n": LINES},
        {"f": LINES, "n": CRLF},
    ),
    "upstream moves the folder, patch adds a file to it": (
        {"d/f": LINES, "d/g": CRLF},
        {"d/new": b"1\n"},
        {"e/f": LINES, "e/g": CRLF},
    ),
    "upstream converts to CRLF": ({"f": LINES}, {"f": changed(LINES, 3)}, {"f": CRLF}),
    "patch converts to CRLF": ({"f": LINES}, {"f": CRLF}, {"f": changed(LINES, 3)}),
    "both append": ({"f": LINES}, {"f": LINES + b"speed\n"}, {"f": LINES + b"upstream\n"}),
    "both take the final newline away, differently": (
        {"f": LINES},
        {"f": LINES + b"speed"},
        {"f": LINES + b"upstream"},
    ),
    "upstream moves the changed block": (
        {"f": BLOCK + LINES},
        {"f": BLOCK.replace(b"0", b"1") + LINES},
        {"f": LINES + BLOCK},
    ),
    "same new file, other mode": ({}, {"f": Entry(LINES, "100755")}, {"f": LINES}),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_what_git_refuses_is_refused_in_the_same_paths(past: Past, name: str) -> None:
    found = move(past, *CONFLICTS[name])
    assert isinstance(found, Stopped)
    assert found.conflicts[0].upon == "b101"


# patch files as people and mail programs leave them -----------------------------------------------------------------

Bend = Callable[[bytes], bytes]


def line(old: bytes, new: bytes) -> Bend:
    """Replaces the first line that begins with `old`; it must be there."""

    def bend(raw: bytes) -> bytes:
        lines = raw.split(b"\n")
        at = next(at for at, one in enumerate(lines) if one.startswith(old))
        return b"\n".join([*lines[:at], new, *lines[at + 1 :]])

    return bend


MAILS: Mapping[str, Bend] = {
    "as exported": lambda raw: raw,
    "with a signature": lambda raw: raw + b"-- \n2.39.5\n\n",
    "index ids that exist nowhere": line(b"index ", b"index 1111111..2222222 100644"),
    "mode on the index line is not the file's": line(b"index ", b"index 1111111..2222222 100755"),
    "folded subject": line(b"Subject: ", b"Subject: [PATCH] ggml: " + b"a long " * 12 + b"\n " + b"subject " * 6),
    "encoded words with a character cut in two": line(
        b"Subject: ", b"Subject: [PATCH] =?UTF-8?q?caf=C3?=\n =?UTF-8?q?=A9_and_more?="
    ),
    "bracket of the project": line(b"Subject: ", b"Subject: [PATCH 3/9] [CUDA] ggml: fix x"),
    "author in latin-1": line(b"From: ", b"From: =?iso-8859-1?q?J=F6rg?= <j@example.org>"),
    "context that moved by two lines": lambda raw: raw.replace(b"@@ -9,7 +9,7 @@", b"@@ -7,7 +7,7 @@"),
}


@pytest.mark.parametrize("name", MAILS)
def test_a_mail_gives_the_commit_that_git_am_gives(past: Past, name: str) -> None:
    past.build("b100", {"f": LINES, "other": b"x\n"})
    past.patch("one", {"f": changed(LINES, 12), "pkg/__init__.py": b""})
    past.build("b101", {"f": b"new\n" * 3 + LINES, "other": b"x\n"})
    past.patches["one"] = MAILS[name](past.patches["one"])
    expected = git_am(past.git, past.builds["b100"], tuple(past.patches.values()), past.root / "am")
    assert not isinstance(expected, AmFailure), expected.said
    here, moved = run(past, "b100"), run(past)
    assert isinstance(here, Rebased)
    assert here.head == expected[-1]
    assert isinstance(moved, Rebased)
    moved_by_git = git_rebase(Git(path=past.root / "am"), expected, past.builds["b101"], past.root / "git")
    assert moved_by_git.trees == (moved.tree,)


NOT_ON_BASE: Mapping[str, Bend] = {
    "short ids of a binary": line(b"index ", b"index 1234567..89abcde 100644"),
    "another binary before": line(b"index ", b"index " + b"1" * 40 + b".." + b"2" * 40 + b" 100644"),
}


@pytest.mark.parametrize("name", NOT_ON_BASE)
def test_a_binary_that_does_not_fit_stops_the_whole_patch(past: Past, name: str) -> None:
    past.build("b100", {"a.bin": BINARY, "f": LINES})
    past.patch("one", {"a.bin": BINARY + b"1", "f": changed(LINES, 12)})
    past.patches["one"] = NOT_ON_BASE[name](past.patches["one"])
    before = past.footprint()
    found = run(past, "b100")
    assert isinstance(found, Stopped)
    assert (found.conflicts[0].upon, [path.path for path in found.conflicts[0].paths]) == ("b100", ["a.bin"])
    assert past.footprint() == before


UNREADABLE: Mapping[str, tuple[Bend, str]] = {
    "no 'diff --git' line": (
        lambda raw: raw.split(b"diff --git")[0] + b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-line 1\n+speed\n",
        "no 'diff --git' line",
    ),
    "converted to CRLF": (lambda raw: raw.replace(b"\n", b"\r\n"), "CRLF line ends"),
    "no body": (
        lambda raw: raw.split(b"\n\n")[0] + b"\n\ndiff --git" + raw.partition(b"diff --git")[2],
        "no trailers",
    ),
    "two mails": (lambda raw: raw + raw, "holds 2 mails"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_trusted_is_refused_before_anything_moves(past: Past, name: str) -> None:
    bend, words = UNREADABLE[name]
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 12)})
    past.patches["one"] = bend(past.patches["one"])
    with pytest.raises(SeriesProblem, match=words):
        run(past, "b100")


def new_file(path: str, mode: str = "100644", line: str = "x\n") -> str:
    """The diff that adds a file of one line."""
    return (
        f"diff --git a/{path} b/{path}\nnew file mode {mode}\nindex 0000000..1111111\n"
        f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}"
    )


NO_END = "x\n\\ No newline at end of file\n"
HOSTILE: Mapping[str, str] = {
    "git's own folder": new_file("dir/.git/hooks/post-checkout"),
    "git's own folder in capitals": new_file(".GIT/config"),
    "git's own folder as Windows shortens it": new_file("git~1/config"),
    "above the tree": new_file("../x"),
    "above the tree by a detour": new_file("dir/../../x"),
    "from the root": new_file("/etc/x"),
    "through a link": new_file("link/x"),
    "through a link out of the tree": new_file("out/x"),
    "through a link that the patch makes": new_file("made", "120000", NO_END) + new_file("made/x"),
    "submodules by way of a link": new_file(".gitmodules", "120000", NO_END),
    "a file in place of a folder": new_file("dir"),
    "a folder in place of a file": new_file("f/x"),
    "renamed above the tree": "diff --git a/f b/../f\nsimilarity index 100%\nrename from f\nrename to ../f\n",
    "two names for one file": new_file("dir//x"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_path_that_git_am_refuses_is_refused(past: Past, name: str) -> None:
    links = {"link": Entry(b"dir", "120000"), "out": Entry(b"..", "120000")}
    past.build("b100", {"f": LINES, "dir/g": LINES, **links})
    raw = past.patch("one", {"f": changed(LINES, 12)})
    past.patches["one"] = raw.partition(b"diff --git")[0] + HOSTILE[name].encode()
    refused = git_am(past.git, past.builds["b100"], tuple(past.patches.values()), past.root / "am")
    assert isinstance(refused, AmFailure)
    before = past.footprint()
    with pytest.raises(SeriesProblem, match=r"one\.patch: git cannot read it"):
        run(past, "b100")
    assert past.footprint() == before


TAKEN: Mapping[str, str] = {
    "f": new_file("f"),
    "dir/g": "diff --git a/f b/dir/g\nsimilarity index 100%\nrename from f\nrename to dir/g\n",
}


@pytest.mark.parametrize("path", TAKEN)
def test_a_place_that_is_taken_on_the_base_is_a_conflict_there(past: Past, path: str) -> None:
    past.build("b100", {"f": LINES, "dir/g": LINES})
    raw = past.patch("one", {"f": changed(LINES, 12)})
    past.patches["one"] = raw.partition(b"diff --git")[0] + TAKEN[path].encode()
    found = run(past, "b100")
    assert isinstance(found, Stopped)
    assert (found.conflicts[0].upon, [one.path for one in found.conflicts[0].paths]) == ("b100", [path])


# series -------------------------------------------------------------------------------------------------------------


def test_twelve_hunks_that_only_moved_are_no_conflict(past: Past) -> None:
    past.build("b100", {"f": numbered(200)})
    text = numbered(200)
    for number in range(12):
        text = changed(text, 10 + 15 * number)
        past.patch(f"p{number}", {"f": text})
    past.build("b101", {"f": b"new\n" * 3 + numbered(200)})
    found = run(past)
    assert isinstance(found, Rebased)
    assert past.content(found.head, "f") == b"new\n" * 3 + text


def test_a_patch_that_needs_an_absorbed_one_goes_on(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    past.patch("two", {"f": changed(changed(LINES, 3), 4)})
    past.build("b101", {"f": changed(LINES, 3)})
    found = run(past)
    assert isinstance(found, Rebased)
    assert [type(result) for result in found.results] == [Absorbed, Applied]
    assert past.content(found.head, "f") == changed(changed(LINES, 3), 4)


def test_a_commit_in_the_queue_that_undoes_another_is_kept(past: Past) -> None:
    past.build("b100", {"f": LINES})
    past.patch("one", {"f": changed(LINES, 3)})
    past.patch("two", {"f": LINES}, text=message("two", "b100", body="It was slower."))
    past.build("b101", {"f": b"new\n" + LINES})
    found = run(past)
    assert isinstance(found, Rebased)
    assert [type(result) for result in found.results] == [Applied, Applied]
    assert found.tree == past.git.tree_of("b101")
