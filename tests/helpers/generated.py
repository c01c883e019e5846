"""Whole generated histories: a base, an upstream build after it, and a series of speed commits on the base.

A history is drawn as small numbers (which file, where in it, what kind of edit) that always mean something, so that
nothing is thrown away and a failing one shrinks well. Both sides draw from the same few paths, places and words:
that is what makes them meet. What is drawn becomes plain values (`History`) that can be pasted into a test.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import strategies as st

from tests.helpers.generated_edits import CONTENTS, PLACES, Change, Tree, put
from tests.helpers.generated_pools import AUTHORS, BODIES, DATES, MOVING, ODD, ORDINARY, SUBJECTS, WORDS
from tests.helpers.histories import TRAILERS, Entry

BASE, AIM = "b100", "b101"

Files: TypeAlias = list[tuple[Callable[[int], bytes], int, int]]
"""What a file holds, its length, and whether it is plain (0), executable (1) or a symbolic link (2)."""


@dataclass(frozen=True, kw_only=True)
class Speed:
    """A speed commit: its tree is the whole tree after it."""

    id: str
    files: Tree
    subject: bytes = SUBJECTS[0]
    body: bytes = BODIES[0]
    author: bytes = AUTHORS[0]
    date: bytes = DATES[0]

    @property
    def message(self) -> bytes:
        """The commit message with all trailers."""
        trailers = TRAILERS.format(id=self.id, build=BASE).encode()
        return b"\n\n".join(part for part in (self.subject, self.body, trailers) if part)


@dataclass(frozen=True, kw_only=True)
class History:
    """Two upstream trees, one after the other, and a series on the first."""

    base: Tree
    upstream: Tree
    speed: tuple[Speed, ...]


OFTEN = ("replace", "insert", "remove", "append")
SELDOM = (
    "add",
    "delete",
    "rename",
    "mode",
    "move",
    "repeat",
    "type",
    "copy",
    "rename folder",
    "into folder",
    "indent",
    "rewrite",
    "swap ends",
    "final newline",
    "empty",
    "binary",
)


def _changes(kinds: Sequence[str], paths: int) -> st.SearchStrategy[Change]:
    return st.builds(
        Change,
        kind=st.sampled_from(kinds),
        path=st.integers(0, paths),
        to=st.integers(0, 7),
        at=st.integers(0, PLACES),
        size=st.integers(1, 4),
        word=st.integers(0, len(WORDS) - 1) | st.integers(0, 4),
    )


def _files(contents: Sequence[Callable[[int], bytes]], lengths: Sequence[int], most: int) -> st.SearchStrategy[Files]:
    modes = (0,) * 8 + (1, 2)
    one = st.tuples(st.sampled_from(contents), st.sampled_from(lengths), st.sampled_from(modes))
    return st.lists(one, min_size=1, max_size=most)


LANDINGS = st.sampled_from(("none",) * 6 + ("exact", "squash", "first half", "second half"))
POOLS = st.lists(st.sampled_from(ORDINARY * 2 + ODD), min_size=3, max_size=8, unique=True)

CALM = (POOLS, _files(CONTENTS[:2], (40, 20, 300), 2), _changes(OFTEN * 6 + SELDOM, 1))
"""Long files, few of them, most changes in the text: what git can often merge."""

MOVES = (
    st.just(MOVING),
    _files(CONTENTS[:2], (12, 20), len(MOVING) - 2),
    _changes(OFTEN + ("rename folder", "add") * 5 + ("rename",) * 3 + SELDOM, len(MOVING) - 1),
)
"""Folders and files that move while the other side adds to them and edits them."""

WILD = (POOLS, _files(CONTENTS[:3] * 2 + CONTENTS, (12, 1, 2, 3, 20, 30, 300), 5), _changes(OFTEN * 3 + SELDOM, 5))
"""All kinds of files and changes."""


def _file(make: Callable[[int], bytes], length: int, mode: int, number: int) -> Entry:
    """A file whose names tell it from the other files: git takes those that look alike for one that moved."""
    if mode == 2:
        return Entry(b"target", "120000")
    return Entry(make(length).replace(b" v", b" %c" % b"vabcdefgh"[number]), "100755" if mode else "100644")


@st.composite
def messages(draw: st.DrawFn) -> Mapping[str, bytes]:
    """Subject, body, author and date: most ordinary, a third odd."""
    odd = draw(st.integers(0, 2)) == 2
    if not odd:
        return {}
    return {
        "subject": draw(st.sampled_from(SUBJECTS)),
        "body": draw(st.sampled_from(BODIES)),
        "author": draw(st.sampled_from(AUTHORS)),
        "date": draw(st.sampled_from(DATES)),
    }


@st.composite
def histories(draw: st.DrawFn) -> History:
    """A whole history; see the module."""
    pools, files, change = draw(st.sampled_from((CALM, WILD, MOVES)))
    pool = draw(pools)
    base: Tree = {}
    for number, (path, (make, length, mode)) in enumerate(zip(pool, draw(files), strict=False)):
        base = put(base, path, _file(make, length, mode, number))
    steps = draw(st.lists(st.lists(change, min_size=1, max_size=3), min_size=1, max_size=6))
    upstream = base
    for number in range(len(steps)):
        upstream = _apply(upstream, _landed(steps, number, draw(LANDINGS)), pool)
    upstream = _apply(upstream, draw(st.lists(change, max_size=5)), pool)
    speed: list[Speed] = []
    tree = base
    for number, changes in enumerate(steps):
        before, tree = tree, _apply(tree, changes, pool)
        if tree == before or not tree:  # a patch must change something, and git wants a file
            tree = put(before, b"note", Entry(b"note %d\n" % number))
        speed.append(Speed(id=f"speed-{number}", files=tree, **draw(messages())))
    return History(base=base, upstream=upstream or {b"note": Entry(b"upstream\n")}, speed=tuple(speed))


def _apply(tree: Tree, changes: Sequence[Change], pool: Sequence[bytes]) -> Tree:
    for change in changes:
        tree = change(tree, pool)
    return tree


def _landed(steps: Sequence[Sequence[Change]], number: int, how: str) -> Sequence[Change]:
    """What upstream took of the patch `number`: all, with its predecessors as well, or a half."""
    changes = steps[number]
    match how:
        case "exact":
            return changes
        case "squash":
            return [change for step in steps[: number + 1] for change in step]
        case "first half":
            return changes[: len(changes) // 2]
        case "second half":
            return changes[len(changes) // 2 :]
        case _:
            return ()
