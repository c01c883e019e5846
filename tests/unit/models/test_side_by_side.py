"""Threads that stop together, and one count of what they did."""

import threading

import pytest

from ci.console import Console
from ci.errors import DiskFull, Interrupted
from ci.models.side_by_side import PARALLEL, Meter, in_parallel


class Bar:
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.told = list[tuple[float, float | None, str]]()

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        self.told.append((done, total, note))


def test_the_files_of_a_model_make_one_count() -> None:
    bar = Bar()
    meter = Meter(None, bar, 30)
    first, second = meter.of("a"), meter.of("b")
    first(10, 10, "downloading")
    second(5, 20, "downloading")
    first(10, 10, "verifying")
    assert bar.told == [(10, 30, "downloading"), (15, 30, "downloading"), (15, 30, "verifying")]


def test_words_reach_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    Meter(Console(), None, 1).say("hashing it")
    Meter(None, None, 1).say("nobody is there")
    assert capsys.readouterr().err == "hashing it\n"


def test_jobs_run_at_the_same_time() -> None:
    together = threading.Barrier(PARALLEL, timeout=30)
    met = list[int]()
    in_parallel([lambda stop: met.append(together.wait())] * PARALLEL)
    assert sorted(met) == list(range(PARALLEL))


def test_the_first_job_that_fails_stops_the_others_and_its_error_is_told() -> None:
    def failing(stop: threading.Event) -> None:
        raise DiskFull("no room")

    def patient(stop: threading.Event) -> None:
        if stop.wait(60):
            raise Interrupted("stopped")

    with pytest.raises(DiskFull, match="no room"):
        in_parallel([patient, failing, patient])
