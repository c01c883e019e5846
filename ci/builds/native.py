"""Build a git tree on this machine: the same folder for stock and speed, so that both share one compiler cache.

A killed build leaves nothing in the store; the next one starts in fresh folders and gets every finished object
from the cache.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.builds.compiler import (
    ENV_JOBS,
    Toolchain,
    check_compiler,
    find_toolchain,
    job_count,
    usable_cpus,
    usable_memory,
)
from ci.builds.harvest import harvest
from ci.builds.ninja import STATUS, Cause, Failure, explain, explain_configure, parse_progress
from ci.builds.recipe import SOURCE_DATE_EPOCH, Recipe, cmake_arguments
from ci.builds.request import BuildRequest, key_of
from ci.builds.store import Build, BuildKey, find, put
from ci.builds.tree import write_tree
from ci.console import Console, Task
from ci.errors import BuildFailed, CompilerKilled, DiskFull, SpeedforkError
from ci.files import exclusive, remove_tree, require_free_space, write_atomic
from ci.git import Git
from ci.home import Home
from ci.process import Completed, run, scrubbed_env

NEEDED_BYTES = 1_500_000_000
"""Sources, objects, binaries and a cold compiler cache of one llama.cpp build, with room to spare."""

ORPHAN_WAIT_S = 30.0
"""How long compilers of a killed run may take to notice that they are alone."""

ANY_CODE = range(-64, 256)


@dataclass(frozen=True, kw_only=True)
class _Place:
    """The folders of builds for one target; their paths are part of every object's cache key."""

    root: Path

    @property
    def source(self) -> Path:
        return self.root / "src"

    @property
    def build(self) -> Path:
        return self.root / "build"

    @property
    def harvest(self) -> Path:
        return self.root / "harvest"

    def clear(self) -> None:
        for folder in (self.source, self.build, self.harvest):
            remove_tree(folder)


def build(
    git: Git, request: BuildRequest, home: Home, console: Console, *, environ: Mapping[str, str] | None = None
) -> Build:
    """The build that was asked for, from the store or made now.

    Raises:
        ToolMissing: no compiler, or our own environment lacks cmake, ninja or ccache.
        CompilerUnfit: the compiler cannot build C++17.
        SourceTreeProblem: the tree is not in the history.
        BuildFailed: the sources do not configure, compile or link; quotes the errors.
        CompilerKilled: a compiler was killed, or found no memory.
        DiskFull: no room.
        Busy: another build for this target runs.
    """
    environ = os.environ if environ is None else environ
    toolchain = find_toolchain(environ)
    key = key_of(request, toolchain.identity)
    found = find(home, key.digest)
    if found:
        return found
    place = _Place(root=home.work / "build" / request.target.name)
    jobs = job_count(environ, cpus=usable_cpus(), memory=usable_memory())
    require_free_space(place.root, NEEDED_BYTES, what="a build")
    lock = home.work / "build" / f"{request.target.name}.lock"
    with exclusive(lock, wait_s=ORPHAN_WAIT_S, on_wait=lambda: console.say(f"waiting for the lock {lock}")):
        found = find(home, key.digest)  # whoever held the lock may have made it
        if found:
            return found
        check_compiler(toolchain, environ, place.root)
        worker = _Worker(
            place=place, toolchain=toolchain, recipe=key.recipe, jobs=jobs, env=build_env(home, place.root, environ)
        )
        return worker.make(git, key, home, console)


def build_env(home: Home, root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of CMake and the compilers."""
    nowhere = "http://127.0.0.1:9"
    extra = {
        "CCACHE_CEILING_DIRS": str(root),
        "CCACHE_CONFIGPATH": os.devnull,
        "CCACHE_DIR": str(home.ccache),
        # sources may stand below somebody's checkout: CMake scripts must not take that for their own repository
        "GIT_DIR": os.devnull,
        "HOME": str(root),
        "LC_ALL": "C",
        "NINJA_STATUS": STATUS,
        "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH),
        "TZ": "UTC",
        # a build that tries to download something fails at once
        "http_proxy": nowhere,
        "https_proxy": nowhere,
    }
    kept = {name: environ[name] for name in ("PATH", "TMPDIR") if name in environ}
    return scrubbed_env(kept, extra=extra)


@dataclass(frozen=True, kw_only=True)
class _Worker:
    """One build in the making."""

    place: _Place
    toolchain: Toolchain
    recipe: Recipe
    jobs: int
    env: Mapping[str, str]

    def make(self, git: Git, key: BuildKey, home: Home, console: Console) -> Build:
        self.place.clear()
        title = f"build {key.label} for {self.recipe.target}"
        with console.task(f"{title}: sources and configuration"):
            write_tree(git, key.tree, self.place.source)
            self._configure()
        with console.task(f"{title}, {self.jobs} jobs") as task:
            self._compile(task)
        finished = harvest(
            self.place.source, self.place.build, self.recipe.programs, self.toolchain, self.place.harvest
        )
        made = put(home, key, finished)
        self.place.clear()
        return made

    def _configure(self) -> None:
        tools = self.toolchain
        fixed = {
            "CMAKE_MAKE_PROGRAM": tools.ninja,
            "CMAKE_C_COMPILER": tools.cc,
            "CMAKE_CXX_COMPILER": tools.cxx,
            "CMAKE_C_COMPILER_LAUNCHER": tools.ccache,
            "CMAKE_CXX_COMPILER_LAUNCHER": tools.ccache,
        }
        source, build_dir = self.place.source, self.place.build
        options = [f"-D{name}={value}" for name, value in fixed.items()]
        recipe = cmake_arguments(self.recipe, source=source, build=build_dir)
        argv: list[str | Path] = [tools.cmake, "-G", "Ninja", "-S", source, "-B", build_dir, *options, *recipe]
        done = run(argv, env=self.env, ok_codes=ANY_CODE, on_line=lambda _: None)
        if done.code:
            raise self._error(explain_configure(self._logged(done, "configure"), code=done.code))

    def _compile(self, task: Task) -> None:
        ninja, programs = self.toolchain.ninja, self.recipe.programs
        argv: list[str | Path] = [ninja, "-C", self.place.build, f"-j{self.jobs}", *programs]

        def show(line: str) -> None:
            progress = parse_progress(line)
            if progress:
                task.update(progress.done, progress.total, progress.what.rpartition("/")[2])

        done = run(argv, env=self.env, ok_codes=ANY_CODE, on_line=show)
        if done.code:
            raise self._error(explain(self._logged(done, "compile"), code=done.code))

    def _logged(self, done: Completed, step: str) -> Sequence[str]:
        """Keep the whole output beside the build for whoever wants all of it; returns its lines."""
        write_atomic(self._log(step), done.stdout)
        return done.stdout.decode("utf-8", "replace").splitlines()

    def _log(self, step: str) -> Path:
        return self.place.root / f"{step}.log"

    def _error(self, failure: Failure) -> SpeedforkError:
        quotes = "".join(f"\n    {line}" for line in failure.quotes)
        log = self._log("configure" if failure.step == "configure" else "compile")
        if failure.cause is Cause.DISK:
            return DiskFull(f"no space left while building {failure.step}{quotes}")
        if failure.cause is Cause.MEMORY:
            fewer = max(1, self.jobs // 2)
            return CompilerKilled(
                f"out of memory: the system killed a compiler at {failure.step or '(unknown step)'}, "
                f"with {self.jobs} job(s) at once{quotes}",
                hint=f"export {ENV_JOBS}={fewer} and run the command again: finished objects are kept",
            )
        what = "CMake refuses the sources" if failure.step == "configure" else f"cannot build {failure.step}"
        return BuildFailed(f"{what}{quotes}", hint=f"the whole output is in {log}")
