"""The one door to rich: progress, tables and messages on standard error, results on standard output.

With `--json` standard output carries exactly one JSON document; everything for people goes to standard error.
Colours and moving bars appear only on a terminal; a log gets one line per step instead.
"""

import contextlib
import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console as RichConsole
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ci.errors import SpeedforkError
from ci.outcome import JsonValue

LOG_EVERY_S = 10.0
PACE_S = 60.0
BYTES_FROM = 1_000_000
"""Totals from here on are bytes: no build has that many steps."""

FILE_WIDTH = 160
"""Columns of a table that goes to a file or a pipe."""

VERDICT_STYLE = {
    "PASS": "green",
    "FAIL": "bold red",
    "UNPROVEN": "yellow",
    "error": "bold red",
    "kept": "dim",
}


def shown(text: str) -> str:
    """A text with control characters as escapes: file names and other people's words do not drive a terminal."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def amount(done: float, total: float | None) -> str:
    """`12 of 236`, or `3.1 of 37.4 MB` where units can only be bytes."""
    if not total:
        return f"{done:g}" if done else ""
    if total >= BYTES_FROM:
        return f"{done / 1e6:.1f} of {total / 1e6:.1f} MB"
    return f"{done:g} of {total:g}"


class Pace:
    """How fast a piece of work goes now: what a cache answered at the start says nothing about the rest."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque()

    def left(self, now: float, done: float, total: float | None) -> float | None:
        """Seconds that the rest takes at the pace of the last `PACE_S` seconds; None where nothing tells yet."""
        while len(self._seen) > 1 and self._seen[1][0] <= now - PACE_S:
            self._seen.popleft()
        began, before = self._seen[0] if self._seen else (now, done)
        self._seen.append((now, done))
        return (total - done) * (now - began) / (done - before) if total and done > before else None


def progress_line(done: float, total: float | None, note: str, *, left: float | None) -> str:
    """One log line: how much of how much, the seconds left where somebody knows, a few words."""
    eta = f", about {left:.0f} s left" if left is not None else ""
    return f"{amount(done, total)}{eta} {note}".strip()


def next_step(hint: str, environ: Mapping[str, str]) -> str:
    """A hint as it can be typed: inside a nox session the person's own shell does not have our environment."""
    if hint.startswith("invoke ") and "NOX_CURRENT_SESSION" in environ:
        return f". .nox/speedfork/bin/activate && {hint}"
    return hint


class Task:
    """One running piece of work: `update(done, total)` moves its bar, or logs a line now and then."""

    def __init__(self, console: RichConsole, progress: Progress | None, title: str) -> None:
        self._console = console
        self._progress = progress
        self._title = title
        self._id = progress.add_task(escape(shown(title)), total=None) if progress else None
        self._last = time.monotonic()
        self._total: float | None = None
        self._pace = Pace()

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        """Report progress: `done` of `total` units, and a few words. Another total begins another count."""
        now = time.monotonic()
        if total != self._total:
            self._total, self._pace = total, Pace()
        left = self._pace.left(now, done, total)
        if self._progress is not None and self._id is not None:
            words = escape(shown(f"{self._title} {note} {amount(done, total)}".strip()))
            self._progress.update(self._id, completed=done, total=total, description=words)
        elif now - self._last >= LOG_EVERY_S:
            self._last = now
            line = progress_line(done, total, note, left=left)
            self._console.print(shown(f"  {self._title}: {line}"), markup=False, highlight=False, soft_wrap=True)


class _Output(RichConsole):
    """rich leaves with exit code 1 when nobody reads on; whoever started us decides what that means."""

    def on_broken_pipe(self) -> None:
        """Let the error rise again that this is called for."""
        raise BrokenPipeError


def _wide(console: RichConsole) -> RichConsole:
    """A file or pipe has no width of its own: tables keep their words whole there."""
    if not console.is_terminal:
        console.width = FILE_WIDTH
    return console


def _whole_columns(headings: Sequence[str], rows: Sequence[Sequence[str]], *, room: int) -> frozenset[int]:
    """Columns that hold single words, such as ids, and so cannot wrap well: from the left, as far as `room` goes."""
    whole: set[int] = set()
    for at in range(len(headings)):
        cells = [row[at] for row in rows]
        width = max((len(cell) for cell in (headings[at], *cells)), default=0)
        if width <= room and not any(letter.isspace() for cell in cells for letter in cell):
            whole.add(at)
            room -= width
    return frozenset(whole)


class Console:
    """What commands print through."""

    def __init__(self, *, json_output: bool = False, force_terminal: bool | None = None) -> None:
        self.json_output = json_output
        # a compiler's `a.cpp:100:5` holds the name of an emoji
        self._err = _wide(_Output(stderr=True, force_terminal=force_terminal, emoji=False))
        self._out = _wide(_Output(force_terminal=force_terminal, emoji=False))

    def say(self, text: str, *, style: str = "") -> None:
        """Commentary for a person, on standard error."""
        self._err.print(shown(text), style=style or None, markup=False, highlight=False, soft_wrap=True)

    def result(self, text: str) -> None:
        """The product of a command, on standard output (standard error under --json)."""
        target = self._err if self.json_output else self._out
        target.print(shown(text), markup=False, highlight=False, soft_wrap=True)

    def document(self, value: JsonValue) -> None:
        """The machine's answer: one JSON document on standard output, only under --json."""
        if self.json_output:
            text = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
            # the name of a file may be no UTF-8; the letters that stand for its bytes are escapes in JSON
            sys.stdout.write(text.encode("utf-8", "backslashreplace").decode("utf-8"))
            sys.stdout.flush()

    def error(self, error: SpeedforkError) -> None:
        """Print an error and its next step on standard error."""
        self._err.print("error: ", style="bold red", end="")
        self._err.print(shown(error.message), markup=False, highlight=False, soft_wrap=True)
        if error.hint:
            self._err.print("next:  ", style="bold", end="")
            hint = shown(next_step(error.hint, os.environ))
            self._err.print(hint, markup=False, highlight=False, soft_wrap=True)

    def defect(self) -> None:
        """Print the exception being handled, whole, and what to do with it."""
        self._err.print_exception(show_locals=False)
        self._err.print("this is a defect of speedfork: please report it with the lines above", markup=False)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
        """A table for people (standard error under --json)."""
        target = self._err if self.json_output else self._out
        if title:  # above the table, where it does not wrap at the table's width
            target.print(shown(title), style="bold", markup=False, highlight=False, soft_wrap=True)
        grid = Table(header_style="bold")
        whole = _whole_columns(headings, rows, room=target.width // 2)
        for at, heading in enumerate(headings):
            grid.add_column(escape(shown(heading)), overflow="fold", no_wrap=at in whole)
        for row in rows:
            grid.add_row(*(self._cell(cell) for cell in row))
        target.print(grid)

    @staticmethod
    def _cell(text: str) -> str:
        style = VERDICT_STYLE.get(text)
        return f"[{style}]{escape(text)}[/]" if style else escape(shown(text))

    @contextlib.contextmanager
    def task(self, title: str) -> Iterator[Task]:
        """Show work that takes time; says what starts, moves while it goes."""
        if not self._err.is_terminal:
            self._err.print(shown(f"{title} ..."), markup=False, highlight=False, soft_wrap=True)
            yield Task(self._err, None, title)
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self._err, transient=True) as progress:
            yield Task(self._err, progress, title)
