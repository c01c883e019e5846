"""Signs of loss, on trees that have them and on one that has none."""

from pathlib import Path

import pytest

from ci.git import Git
from ci.upstream.archive import Entry
from ci.upstream.fastimport import import_tree
from ci.upstream.fidelity import Fidelity, compare_trees, fidelity
from ci.upstream.tags import BuildTag

FILE, RUN, LINK = "100644", "100755", "120000"


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return Git.open_bare(tmp_path / "history.git")


def look(git: Git, *files: tuple[bytes, str, bytes]) -> Fidelity:
    entries = (Entry(path=path, mode=mode, data=data) for path, mode, data in files)
    import_tree(git, "refs/tags/b7", entries, number=7, message="b7\n")
    return fidelity(git, BuildTag(7))


def test_a_whole_tree_shows_no_sign(git: Git) -> None:
    found = look(
        git,
        (b"run.sh", RUN, b"#!/bin/sh\n"),
        (b"a.txt", FILE, b"text\n"),
        (b"sub/b.txt", FILE, b"a.txt is a file\n"),
        (b"link", LINK, b"a.txt"),
    )
    assert (found.files, found.executables, found.symlinks, found.submodules) == (4, 1, 1, 0)
    assert found.scripts_not_executable == ()
    assert found.likely_lost_symlinks == ()
    assert found.copies == ()
    assert found.export_attributes == ()
    assert not found.gitmodules


def test_scripts_without_the_bit_are_listed_by_their_first_line_only(git: Git) -> None:
    found = look(
        git,
        (b"a.py", FILE, b"#!/usr/bin/env python3\n"),
        (b"b.py", RUN, b"#!/usr/bin/env python3\n"),
        (b"doc.md", FILE, b"text\n#!/bin/sh in the middle\n"),
        (b"bin\xe9", FILE, b"#!\0binary\n"),
    )
    assert found.scripts_not_executable == (b"a.py", b"bin\xe9")


def test_short_files_that_name_something_in_the_tree_look_like_links(git: Git) -> None:
    found = look(
        git,
        (b"AGENTS.md", FILE, b"real text\n"),
        (b"CLAUDE.md", FILE, b"AGENTS.md"),
        (b"d/up", FILE, b"../AGENTS.md\n"),
        (b"d/folder", FILE, b"../e"),
        (b"e/nothing", FILE, b"not-here"),
        (b"e/itself", FILE, b"itself"),
        (b"e/two", FILE, b"../AGENTS.md\n../AGENTS.md\n"),
        (b"e/out", FILE, b"../../AGENTS.md"),
    )
    assert found.likely_lost_symlinks == (b"CLAUDE.md", b"d/folder", b"d/up")


def test_files_of_the_same_name_and_content_look_like_followed_links(git: Git) -> None:
    found = look(
        git,
        (b"a/x.h", FILE, b"same\n"),
        (b"b/x.h", FILE, b"same\n"),
        (b"c/y.h", FILE, b"same\n"),
        (b"d/__init__.py", FILE, b""),
        (b"e/__init__.py", FILE, b""),
    )
    assert found.copies == (b"b/x.h",)


def test_export_rules_and_submodules_are_seen(git: Git) -> None:
    found = look(
        git,
        (b".gitattributes", FILE, b"docs export-ignore\n"),
        (b"sub/.gitattributes", FILE, b"version export-subst\n"),
        (b"other/.gitattributes", FILE, b"*.bin binary\n"),
        (b"notes.txt", FILE, b"export-ignore\n"),
        (b".gitmodules", FILE, b""),
    )
    assert found.export_attributes == (b".gitattributes", b"sub/.gitattributes")
    assert found.gitmodules


def test_every_kind_of_difference_is_listed_once(git: Git) -> None:
    def tree(ref: str, *files: tuple[bytes, str, bytes]) -> str:
        entries = (Entry(path=path, mode=mode, data=data) for path, mode, data in files)
        return import_tree(git, ref, entries, number=1, message="x\n").commit

    here = tree(
        "refs/x/1", (b"same", FILE, b"s"), (b"mode", FILE, b"m"), (b"text", FILE, b"1"), (b"only-here", FILE, b"")
    )
    there = tree(
        "refs/x/2", (b"same", FILE, b"s"), (b"mode", RUN, b"m"), (b"text", FILE, b"2"), (b"on\tly", LINK, b"same")
    )
    comparison = compare_trees(git, here, there)
    assert comparison.lines() == (
        f"4 paths differ from git's tree {git.tree_of(there)}",
        "  mode: mode 100644, in git 100755",
        "  on\tly: missing here",
        "  only-here: not in git",
        "  text: other content",
    )
    found = {item.path: item for item in comparison.differences}
    assert set(found) == {b"mode", b"text", b"only-here", b"on\tly"}
    assert found[b"only-here"].there is None
    assert found[b"on\tly"].here is None
    assert compare_trees(git, here, here).differences == ()


def test_the_summary_is_one_line_with_the_builds_own_name(git: Git) -> None:
    found = look(git, (b"a.py", FILE, b"#!x\n"), (b"run", RUN, b"#!x\n"), (b"link", LINK, b"run"))
    words = "b7: 3 files, 1 executable, 1 link; 1 script without the executable bit; "
    assert found.summary() == f"{words}not compared with git"
    assert found.lines()[0].startswith("b7: tree ")
    same = fidelity(git, BuildTag(7), against="refs/tags/b7")
    assert same.summary() == f"{words}equal to git's tree"
    assert same.to_json()["compared"] == {"tree": found.tree, "equal": True, "differences": []}


def test_a_branch_of_the_same_name_is_not_the_build(git: Git) -> None:
    import_tree(git, "refs/heads/b7", (), number=1, message="x\n")
    assert look(git, (b"a.py", FILE, b"#!x\n")).files == 1


def test_long_lists_are_shortened_with_their_count(git: Git) -> None:
    many = tuple((b"s%02d" % i, FILE, b"#!x\n") for i in range(14))
    text = "\n".join(look(git, *many).lines())
    assert "not executable: 14 (s00, s01" in text
    assert "and 4 more)" in text
    assert "not compared with git" in text
