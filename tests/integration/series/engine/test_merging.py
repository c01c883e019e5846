"""Merges in one git process, and with a git that keeps its answers in a buffer."""

import os
from pathlib import Path

import pytest

from ci.errors import CommandFailed, ToolMissing
from ci.git import Git
from ci.process import find_tool
from ci.series.engine import merging
from ci.series.engine.merging import WITH_BASE, Merger, Mergers
from tests.helpers.histories import Past, changed, numbered

LINES = numbered(3000)
"""The files in conflict are longer than what a pipe or a program's buffer holds."""


class Sides:
    """One base, three commits on it: `other` merges with the two, which do not merge with each other."""

    def __init__(self, root: Path) -> None:
        past = Past(root)
        base = past.commit(past.tree({"f": LINES}), [], "base")
        self.git: Git = past.git
        self.up, self.down, self.other = (
            past.commit(past.tree({"f": text}), [base], "side")
            for text in (changed(LINES, 5, b"up"), changed(LINES, 5, b"down"), changed(LINES, 2000, b"other"))
        )
        self.both = past.tree({"f": changed(changed(LINES, 5, b"up"), 2000, b"other")})


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    return Sides(tmp_path)


def check(merger: Merger, sides: Sides) -> None:
    """A clean merge, a conflict, and the clean one again."""
    for ours, theirs in ((sides.up, sides.other), (sides.up, sides.down), (sides.other, sides.up)):
        merged = merger.merge(ours, theirs)
        if sides.other in (ours, theirs):
            assert (merged.clean, merged.tree, merged.stages) == (True, sides.both, ())
        else:
            assert not merged.clean
            assert [(stage.path, stage.number) for stage in merged.stages] == [(b"f", 1), (b"f", 2), (b"f", 3)]
            assert [note.kind for note in merged.notes if note.is_conflict] == ["CONFLICT (contents)"]


def test_answers_come_one_by_one(sides: Sides) -> None:
    with Merger(sides.git) as merger:
        check(merger, sides)


@pytest.fixture
def buffering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `stdbuf` that does nothing, in front of the PATH: git then answers when its input ends."""
    place = tmp_path / "bin" / "stdbuf"
    place.parent.mkdir()
    place.write_text(f'#!/bin/sh\necho >> {place.parent}/starts\nshift\nexec "$@"\n', encoding="utf-8")
    place.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(merging, "PATIENCE_S", 0.3)
    return place.parent / "starts"


def test_a_git_that_buffers_gives_the_same_answers(sides: Sides, buffering: Path) -> None:
    with Merger(sides.git) as merger:
        check(merger, sides)
    assert len(buffering.read_text().splitlines()) == 3  # one process each: the first is found out, then it is known


def test_a_commit_that_git_does_not_know_is_an_error(sides: Sides) -> None:
    with Merger(sides.git) as merger, pytest.raises(CommandFailed, match="1111111"):
        merger.merge(sides.up, "1" * 40)


def test_a_git_that_is_too_old_is_named(sides: Sides, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "bin" / "git"
    place.parent.mkdir()
    place.write_text(
        f'#!/bin/sh\ncase "$*" in *" version") echo git version 2.34.1;; *merge-tree*) exit 129;; '
        f'*) exec {find_tool("git")} "$@";; esac\n',
        encoding="utf-8",
    )
    place.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place.parent}{os.pathsep}{os.environ['PATH']}")
    with Merger(sides.git) as merger, pytest.raises(ToolMissing, match=r"git version 2\.34\.1 is too old") as found:
        merger.merge(sides.up, sides.other)
    assert found.value.hint == "install git 2.39 or newer"


def test_several_merges_at_the_same_time_give_the_answers_in_order(sides: Sides, buffering: Path) -> None:
    pairs = [(sides.up, sides.other), (sides.up, sides.down), (sides.other, sides.up)]
    with Mergers(sides.git, width=3) as mergers:
        for _ in range(2):
            assert [merged.clean for merged in mergers.merge(pairs)] == [True, False, True]
            assert [merged.clean for merged in mergers.merge(pairs[1:])] == [False, True]
    assert buffering.exists()


def test_the_base_is_shown_between_the_markers_when_asked_for(sides: Sides) -> None:
    with Merger(sides.git) as merger, Merger(sides.git, *WITH_BASE) as marker:
        plain, marked = (one.merge(sides.up, sides.down) for one in (merger, marker))
    texts = [sides.git("cat-file", "blob", f"{merged.tree}:f").stdout for merged in (plain, marked)]
    assert [b"|||||||" in text and b"\nline 5\n" in text for text in texts] == [False, True]
    assert plain.stages == marked.stages
