"""Failed builds as errors: class, exit code, words, next step."""

import pytest

from ci.builds.causes import Cause
from ci.builds.faults import error_of
from ci.builds.ninja import CONFIGURE, Failure
from ci.errors import EXIT_DEFECT, EXIT_ENVIRONMENT, EXIT_USAGE, BuildFailed, CompilerKilled, SpeedforkError

LOG = "/home/user/.speedfork/build.log"


def error(cause: Cause, step: str = "fattn.cu.o", *, jobs: int = 8) -> SpeedforkError:
    return error_of(Failure(cause=cause, step=step, quotes=("a line", "another")), jobs=jobs, log=LOG)


@pytest.mark.parametrize(
    ("cause", "code", "words", "hint"),
    [
        (Cause.SOURCE, EXIT_DEFECT, "cannot build fattn.cu.o", LOG),
        (Cause.MEMORY, EXIT_ENVIRONMENT, "out of memory", "SPEEDFORK_JOBS=4"),
        (Cause.DISK, EXIT_ENVIRONMENT, "no space left", "SPEEDFORK_HOME"),
        (Cause.COMPILER, EXIT_ENVIRONMENT, "host compiler", "CMAKE_CUDA_HOST_COMPILER in ci/config/targets.toml"),
        (Cause.ARCH, EXIT_USAGE, "no code for an architecture", "`archs` in ci/config/targets.toml"),
        (Cause.STUB, EXIT_ENVIRONMENT, "stub of the driver's library", "ci/config/toolchain.toml"),
    ],
)
def test_each_cause_has_its_error_with_the_quoted_lines(cause: Cause, code: int, words: str, hint: str) -> None:
    made = error(cause)
    assert made.exit_code == code
    assert words in made.message
    assert "fattn.cu.o" in made.message
    assert "\n    a line\n    another" in made.message
    assert hint in made.hint


def test_the_sources_are_not_blamed_before_anything_was_compiled() -> None:
    made = error(Cause.SOURCE, CONFIGURE)
    assert isinstance(made, BuildFailed)
    assert made.message.startswith("CMake refuses the sources\n")


@pytest.mark.parametrize(("jobs", "fewer"), [(16, "=8 "), (3, "=1 "), (2, "=1 "), (1, "more memory")])
def test_fewer_jobs_are_offered_while_there_are_fewer(jobs: int, fewer: str) -> None:
    made = error(Cause.MEMORY, jobs=jobs)
    assert isinstance(made, CompilerKilled)
    assert f"with {jobs} job(s) at once" in made.message
    assert fewer in made.hint


def test_a_step_that_nobody_named_is_called_unknown() -> None:
    assert "at (unknown step)" in error(Cause.MEMORY, "").message
