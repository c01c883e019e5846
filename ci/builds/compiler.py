"""The tools of a native build: found before long work, named in the build's digest, bounded in number."""

import os
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ci.errors import CommandFailed, CompilerUnfit, UsageProblem
from ci.process import find_tool, run, scrubbed_env

ENV_JOBS = "SPEEDFORK_JOBS"
BYTES_PER_JOB = 1_000_000_000
"""The largest compiler process on llama.cpp takes about 650 MB; the rest is for the linker and the page cache."""

COMPILER_HINT = "apt-get install g++"
ENVIRONMENT_HINT = "./noxw -s build-cpu (its environment brings cmake, ninja and ccache)"

_PROBE = """\
#include <charconv>
#include <filesystem>
#include <optional>
int main() {
    double value = 0;
    const char text[] = "1.5";
    auto [end, error] = std::from_chars(text, text + 3, value);
    return std::filesystem::path("x").empty() || value != 1.5 || error != std::errc() || end == text;
}
"""


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """The programs of a build, and one text that says which compiler, linker and CMake they are."""

    cc: Path
    cxx: Path
    strip: Path
    readelf: Path
    cmake: Path
    ninja: Path
    ccache: Path
    identity: str


def find_toolchain(environ: Mapping[str, str]) -> Toolchain:
    """All programs of a build: the compiler from PATH, cmake, ninja and ccache from our own environment.

    Raises:
        ToolMissing: names the program and how to install it.
    """
    path = environ.get("PATH", "")
    ours = sysconfig.get_path("scripts")
    cxx = find_tool("c++", path=path, hint=COMPILER_HINT)
    cmake = find_tool("cmake", path=ours, hint=ENVIRONMENT_HINT)
    linker = find_tool("ld", path=path, hint=COMPILER_HINT)
    env = scrubbed_env(environ, extra={"LC_ALL": "C"})
    said = [run((tool, "--version"), env=env).text for tool in (cxx, linker, cmake)]
    machine = run((cxx, "-dumpmachine"), env=env).text
    return Toolchain(
        cc=find_tool("cc", path=path, hint=COMPILER_HINT),
        cxx=cxx,
        strip=find_tool("strip", path=path, hint="apt-get install binutils"),
        readelf=find_tool("readelf", path=path, hint="apt-get install binutils"),
        cmake=cmake,
        ninja=find_tool("ninja", path=ours, hint=ENVIRONMENT_HINT),
        ccache=find_tool("ccache", path=ours, hint=ENVIRONMENT_HINT),
        identity="; ".join((*(text.partition("\n")[0] for text in said), machine)),
    )


def check_compiler(toolchain: Toolchain, environ: Mapping[str, str], scratch: Path) -> None:
    """Compile and link a small C++17 program: seconds now instead of an error after minutes.

    Raises:
        CompilerUnfit: quotes the compiler's first error.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    source, program = scratch / "probe.cpp", scratch / "probe"
    source.write_text(_PROBE, encoding="utf-8")
    argv = (toolchain.cxx, "-std=c++17", source, "-o", program)
    try:
        run(argv, env=scrubbed_env(environ, extra={"LC_ALL": "C"}))
    except CommandFailed as failed:
        lines = failed.message.splitlines()
        first = next((line for line in lines if "error" in line), lines[-1]).strip()
        raise CompilerUnfit(f"{toolchain.cxx} cannot build a small C++17 program: {first}") from failed
    finally:
        source.unlink(missing_ok=True)
        program.unlink(missing_ok=True)


def job_count(environ: Mapping[str, str], *, cpus: int, memory: int, per_job: int = BYTES_PER_JOB) -> int:
    """How many compilers run at once: SPEEDFORK_JOBS, or the CPUs as far as the memory goes.

    Args:
        environ: where SPEEDFORK_JOBS may be set.
        cpus: CPUs that this process may use.
        memory: bytes that may still be used.
        per_job: bytes that one compiler takes.

    Raises:
        UsageProblem: SPEEDFORK_JOBS is not a whole number of at least 1.
    """
    asked = environ.get(ENV_JOBS, "")
    if not asked:
        return max(1, min(cpus, memory // per_job))
    if not (asked.isascii() and asked.isdecimal() and 1 <= int(asked) <= 1024):
        raise UsageProblem(
            f"{ENV_JOBS}={asked!r} is not a whole number from 1 to 1024",
            hint=f"export {ENV_JOBS}={cpus}  # or --jobs {cpus}",
        )
    return int(asked)


def usable_cpus() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


def usable_memory(
    meminfo: Path = Path("/proc/meminfo"), control_group: Path = Path("/sys/fs/cgroup/memory.max")
) -> int:
    """Bytes that new processes may take: what the kernel calls available, within the container's limit."""
    available = parse_available(meminfo.read_text(encoding="ascii"))
    limit = control_group.read_text(encoding="ascii").strip() if control_group.is_file() else "max"
    return min(available, int(limit)) if limit.isdecimal() else available


def parse_available(meminfo: str) -> int:
    """Bytes in the `MemAvailable:` line of /proc/meminfo (kilobytes there); 0 when there is none."""
    for line in meminfo.splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    return 0
