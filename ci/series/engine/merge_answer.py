"""What `git merge-tree --write-tree -z` answers, as a value. Format: git-merge-tree(1), "OUTPUT FORMAT"."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A side of an unmerged path: number (1 base, 2 ours, 3 theirs), mode and blob id."""

    path: bytes
    number: int
    mode: str
    blob: str


@dataclass(frozen=True, kw_only=True)
class Note:
    """Something that git says about a merge: the paths concerned, the kind (`CONFLICT (contents)`), the sentence."""

    paths: tuple[bytes, ...]
    kind: str
    text: str

    @property
    def is_conflict(self) -> bool:
        """Whether it says that something did not merge."""
        return self.kind.startswith("CONFLICT")


@dataclass(frozen=True, kw_only=True)
class Merged:
    """A merge: the tree (half-merged files hold markers), and what did not merge."""

    clean: bool
    tree: str
    stages: tuple[Stage, ...] = ()
    notes: tuple[Note, ...] = ()


def parse_answer(said: bytes) -> Merged | None:
    """One whole answer out of the words so far, or None while some are missing."""
    words = iter(said.split(b"\0")[:-1])
    try:
        clean, tree = next(words) == b"1", next(words).decode("ascii")
        stages = tuple(_stages(words))
        if clean:
            return Merged(clean=True, tree=tree)
        return Merged(clean=False, tree=tree, stages=stages, notes=tuple(_notes(words)))
    except (StopIteration, RuntimeError):
        return None


def _stages(words: Iterator[bytes]) -> Iterator[Stage]:
    """Unmerged paths, up to the empty word behind them."""
    while word := next(words):
        described, _, path = word.partition(b"\t")
        mode, blob, number = described.decode("ascii").split()
        yield Stage(path=path, number=int(number), mode=mode, blob=blob)


def _notes(words: Iterator[bytes]) -> Iterator[Note]:
    """Messages, up to the empty word behind them: a count, that many paths, a kind, a sentence."""
    while word := next(words):
        paths = tuple(next(words) for _ in range(int(word)))
        kind, text = (next(words).decode("utf-8", "replace") for _ in range(2))
        yield Note(paths=paths, kind=kind, text=text.rstrip("\n"))
