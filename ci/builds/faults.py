"""A failed build as an error for people: what happened, the lines that show it, and what to do next."""

from ci.builds.causes import Cause
from ci.builds.ninja import CONFIGURE, Failure
from ci.errors import BuildFailed, CompilerKilled, CompilerUnfit, DiskFull, SpeedforkError, StubUnfit, UsageProblem


def error_of(failure: Failure, *, jobs: int, log: str) -> SpeedforkError:
    """The error that a failed build ends with.

    Args:
        failure: what the build's output says.
        jobs: how many compilers ran at once.
        log: where the whole output is.
    """
    quotes = "".join(f"\n    {line}" for line in failure.quotes)
    step, whole = failure.step or "(unknown step)", f"the whole output is in {log}"
    match failure.cause:
        case Cause.DISK:
            return DiskFull(f"no space left while building {step}{quotes}")
        case Cause.MEMORY:
            return CompilerKilled(
                f"out of memory: the system killed a compiler at {step}, with {jobs} job(s) at once{quotes}",
                hint=f"{_with_fewer(jobs)}; {whole}",
            )
        case Cause.COMPILER:
            return CompilerUnfit(
                f"nvcc cannot work with the host compiler or the system's headers ({step}){quotes}",
                hint="name one that nvcc accepts (CMAKE_CUDA_HOST_COMPILER in ci/config/targets.toml), "
                f"then run the command again; {whole}",
            )
        case Cause.ARCH:
            return UsageProblem(
                f"this toolkit makes no code for an architecture of the target ({step}){quotes}",
                hint=f"correct `archs` in ci/config/targets.toml, then run the command again; {whole}",
            )
        case Cause.STUB:
            return StubUnfit(f"the stub of the driver's library does not do for {step}{quotes}")
        case Cause.SOURCE:
            what = "CMake refuses the sources" if failure.step == CONFIGURE else f"cannot build {step}"
            return BuildFailed(f"{what}{quotes}", hint=whole)


def _with_fewer(jobs: int) -> str:
    if jobs == 1:
        return "give the machine, or the engine, more memory and run the command again"
    return f"export SPEEDFORK_JOBS={jobs // 2} and run the command again: finished objects are kept"
