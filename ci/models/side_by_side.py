"""Several files at a time: threads that stop together, and one count of what they did."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Protocol

from ci.console import Console
from ci.errors import Interrupted
from ci.models.shelf import Report

PARALLEL = 4
"""Files that come at the same time."""


class Bar(Protocol):
    """What shows progress: a task of the console."""

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        """Move to `done` of `total`."""


class Meter:
    """Adds up what several threads report, and passes on what the work says."""

    def __init__(self, console: Console | None, task: Bar | None, total: int) -> None:
        self._console = console
        self._task = task
        self._total = total
        self._done: dict[str, int] = {}
        self._lock = threading.Lock()

    def of(self, name: str) -> Report:
        """The report of one file."""

        def report(done: int, _: int | None = None, note: str = "") -> None:
            with self._lock:
                self._done[name] = done
                if self._task:
                    self._task.update(sum(self._done.values()), self._total, note)

        return report

    def say(self, words: str) -> None:
        """Tell a person."""
        if self._console:
            self._console.say(words)


def in_parallel(jobs: Sequence[Callable[[threading.Event], None]]) -> None:
    """Run jobs side by side; the first error, or Ctrl-C, stops the others at their next bytes.

    Raises:
        SpeedforkError: of the first job, in their order, that failed by itself.
    """
    stop = threading.Event()
    with ThreadPoolExecutor(PARALLEL) as pool:
        running = [pool.submit(job, stop) for job in jobs]
        try:
            wait(running, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
    errors = [error for each in running if not each.cancelled() and (error := each.exception())]
    own = [error for error in errors if not isinstance(error, Interrupted)]
    if errors:
        raise (own or errors)[0]
