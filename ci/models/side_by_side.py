"""Several files at a time: threads that stop together, and one count of what they did."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Protocol, TypeAlias

from ci.console import Console
from ci.errors import Interrupted
from ci.models.shelf import Report

PARALLEL = 4
"""Files that come at the same time."""
GRACE_S = 1.0
"""Seconds that jobs have to end when one of them failed."""

Job: TypeAlias = Callable[[threading.Event], None]
"""Something to do until it is done or the event is set."""


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


def in_parallel(jobs: Sequence[Job]) -> None:
    """Run jobs side by side; the first error, or Ctrl-C, stops the others at their next bytes.

    A job that waits for a silent server cannot see that. It is left behind after `GRACE_S`: nobody waits for its
    thread, and it writes nothing when the server wakes up.

    Raises:
        SpeedforkError: of the first job, in their order, that failed by itself.
    """
    stop, todo = threading.Event(), SimpleQueue[tuple[Job, Future[None]]]()
    running = [Future[None]() for _ in jobs]
    for pair in zip(jobs, running, strict=True):
        todo.put(pair)
    threads = [threading.Thread(target=_work, args=(todo, stop), daemon=True) for _ in running[:PARALLEL]]
    try:
        for thread in threads:
            thread.start()
        wait(running, return_when=FIRST_EXCEPTION)
    finally:
        stop.set()
        until = monotonic() + GRACE_S
        for thread in threads:
            thread.join(max(0.0, until - monotonic()))
    errors = [error for each in running if each.done() and (error := each.exception())]
    own = [error for error in errors if not isinstance(error, Interrupted)]
    if errors:
        raise (own or errors)[0]


def _work(todo: SimpleQueue[tuple[Job, Future[None]]], stop: threading.Event) -> None:
    """Do one job after another, until none is left or somebody stops."""
    while not stop.is_set():
        try:
            job, future = todo.get_nowait()
        except Empty:
            return
        try:
            job(stop)
        except BaseException as error:  # noqa: BLE001 - whoever waits raises it
            future.set_exception(error)
        else:
            future.set_result(None)
