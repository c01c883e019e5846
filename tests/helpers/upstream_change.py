"""What upstream changed between two builds, line by line: the ground on which synthetic speed commits are drawn."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ci.git import Git
from ci.gittree import EXECUTABLE, FILE, TreeFile
from ci.upstream.tags import BuildTag

LANGUAGES = {
    "C": ("c", "h"),
    "C++": ("cpp", "hpp"),
    "CUDA": ("cu", "cuh"),
    "Python": ("py",),
    "Markdown": ("md",),
}
LANGUAGE_OF = {suffix: language for language, suffixes in LANGUAGES.items() for suffix in suffixes}
MAX_BYTES = 400_000
MIN_LINES = 40
HEADER = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


@dataclass(frozen=True, kw_only=True)
class Hunk:
    """Upstream replaced `count` lines from `start` (index from 0) by `new`; with none: put before it."""

    start: int
    count: int
    new: tuple[bytes, ...]

    @property
    def end(self) -> int:
        """Index behind the last replaced line."""
        return self.start + self.count


@dataclass(frozen=True, kw_only=True)
class Source:
    """A text file of the base with upstream's changes to it; none: upstream left it alone."""

    path: str
    mode: str
    lines: tuple[bytes, ...]
    hunks: tuple[Hunk, ...] = ()

    @property
    def language(self) -> str:
        """One of LANGUAGES."""
        return LANGUAGE_OF[self.path.rpartition(".")[2]]

    @cached_property
    def distances(self) -> tuple[int, ...]:
        """For each line, the unchanged lines to upstream's nearest change; -1 for a line that upstream replaced."""
        far = len(self.lines)
        found = [-1] * far
        ends = (-far, *(hunk.end for hunk in self.hunks))
        starts = (*(hunk.start for hunk in self.hunks), 2 * far)
        for end, start in zip(ends, starts, strict=True):
            for at in range(max(end, 0), min(start, far)):
                found[at] = min(at - end, start - 1 - at)
        return tuple(found)

    def lonely_hunks(self, room: int = 6) -> Iterator[Hunk]:
        """Upstream's changes with at least `room` unchanged lines on either side: one can land without the next."""
        ends = (-room, *(hunk.end for hunk in self.hunks))
        starts = (*(hunk.start for hunk in self.hunks), len(self.lines) + room)
        gaps = [start - end for end, start in zip(ends, starts, strict=True)]
        for hunk, before, after in zip(self.hunks, gaps, gaps[1:], strict=False):
            if min(before, after) >= room and hunk.start > 0:
                yield hunk


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Files that upstream changed, files that it left alone, and paths that it added."""

    changed: tuple[Source, ...]
    alone: tuple[Source, ...]
    added: tuple[str, ...]


def load_sources(history: Git, base: BuildTag, aim: BuildTag) -> Sources:
    """Read both builds; only text files in one of LANGUAGES count."""
    before = {file.name: file for file in history.files_of(base.ref) if _usable(file)}
    after = {file.name: file.object_id for file in history.files_of(aim.ref) if _usable(file)}
    diff = history("diff-tree", "-p", "-U0", "--no-renames", "--full-index", base.ref, aim.ref).stdout
    hunks = dict(_hunks_by_path(diff))
    found = [
        Source(path=file.name, mode=file.mode, lines=lines, hunks=hunks.get(file.name, ()))
        for file, data in history.blobs_of([file for path, file in before.items() if path in after])
        if len(lines := _lines_of(data)) >= MIN_LINES
    ]
    return Sources(
        changed=tuple(source for source in found if source.hunks),
        alone=tuple(source for source in found if before[source.path].object_id == after[source.path]),
        added=tuple(sorted(after.keys() - before.keys())),
    )


def _usable(file: TreeFile) -> bool:
    """A regular file in a known language whose name needs no quoting, and which is not generated."""
    plain = re.fullmatch(rb"[\w./+-]+\.(\w+)", file.path)
    known = plain is not None and plain[1].decode() in LANGUAGE_OF
    return known and file.mode in (FILE, EXECUTABLE) and file.size <= MAX_BYTES


def _lines_of(data: bytes) -> tuple[bytes, ...]:
    """The lines with their ends, or none for a file that is no text or lacks the final newline."""
    text = data.endswith(b"\n") and b"\0" not in data
    return tuple(re.split(rb"(?<=\n)", data)[:-1]) if text else ()


def _hunks_by_path(diff: bytes) -> Iterator[tuple[str, tuple[Hunk, ...]]]:
    """The changes of each path that stands in both builds, from a diff without context."""
    for block in re.split(rb"^diff --git ", diff, flags=re.MULTILINE)[1:]:
        path = re.search(rb"^\+\+\+ b/(.*)$", block, re.MULTILINE)
        if path and b"\n\\ No newline" not in block:
            yield path[1].decode("utf-8", "replace"), tuple(_hunks(block))


def _hunks(block: bytes) -> Iterator[Hunk]:
    for hunk in re.split(rb"^(?=@@ )", block, flags=re.MULTILINE)[1:]:
        head = HEADER.match(hunk)
        assert head is not None
        lines = re.split(rb"(?<=\n)", hunk)[1:]
        count = int(head[2]) if head[2] is not None else 1
        start = int(head[1]) - 1 if count else int(head[1])
        yield Hunk(start=start, count=count, new=tuple(line[1:] for line in lines if line.startswith(b"+")))
