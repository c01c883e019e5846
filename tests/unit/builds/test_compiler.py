"""How many compilers run at once."""

from pathlib import Path

import pytest

from ci.builds.compiler import job_count, parse_available, usable_cpus, usable_memory
from ci.errors import UsageProblem

GB = 1_000_000_000


@pytest.mark.parametrize(
    ("cpus", "memory", "expected"),
    [(2, 16 * GB, 2), (16, 4 * GB, 4), (8, 8 * GB - 1, 7), (8, GB // 2, 1), (1, 0, 1)],
)
def test_memory_bounds_the_jobs_but_one_always_runs(cpus: int, memory: int, expected: int) -> None:
    assert job_count({}, cpus=cpus, memory=memory) == expected


def test_the_users_number_wins() -> None:
    assert job_count({"SPEEDFORK_JOBS": "5"}, cpus=2, memory=GB) == 5


@pytest.mark.parametrize("asked", ["0", "-1", "two", "1.5", " 2", "٢", "1025"])
def test_a_number_of_jobs_that_is_none_is_refused(asked: str) -> None:
    with pytest.raises(UsageProblem, match="SPEEDFORK_JOBS"):
        job_count({"SPEEDFORK_JOBS": asked}, cpus=2, memory=GB)


def test_available_memory_is_read_in_kilobytes() -> None:
    assert parse_available("MemTotal: 9 kB\nMemAvailable:    2000 kB\nBuffers: 1 kB\n") == 2000 * 1024
    assert parse_available("MemTotal: 9 kB\n") == 0


@pytest.mark.parametrize(("limit", "expected"), [("max\n", 2_048_000), ("5000\n", 5000), ("9000000000\n", 2_048_000)])
def test_a_containers_limit_counts(tmp_path: Path, limit: str, expected: int) -> None:
    (tmp_path / "meminfo").write_text("MemAvailable: 2000 kB\n", encoding="ascii")
    (tmp_path / "max").write_text(limit, encoding="ascii")
    assert usable_memory(tmp_path / "meminfo", tmp_path / "max") == expected
    assert usable_memory(tmp_path / "meminfo", tmp_path / "none") == 2_048_000


def test_this_machine_has_something_to_work_with() -> None:
    assert usable_cpus() >= 1
    assert usable_memory() > 0
