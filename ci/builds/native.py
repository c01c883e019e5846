"""Build a git tree on this machine: the same folder for stock and speed, so that both share one compiler cache.

A killed build leaves nothing in the store; the next one starts in fresh folders and gets every finished object
from the cache.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ci.builds.compiler import (
    Toolchain,
    check_compiler,
    find_toolchain,
    job_count,
    usable_cpus,
    usable_memory,
)
from ci.builds.faults import error_of
from ci.builds.harvest import harvest
from ci.builds.ninja import CONFIGURE, STATUS, Failure, explain, explain_configure, parse_progress
from ci.builds.recipe import SOURCE_DATE_EPOCH, Recipe, cmake_arguments
from ci.builds.request import BuildRequest, key_of
from ci.builds.store import Build, BuildKey, find, put
from ci.builds.tree import write_tree
from ci.console import Console, Task
from ci.errors import SpeedforkError
from ci.files import exclusive, remove_tree, require_free_space, write_atomic
from ci.git import Git
from ci.home import Home
from ci.process import Completed, run, scrubbed_env

NEEDED_BYTES = 1_500_000_000
"""Sources, objects, binaries and a cold compiler cache of one llama.cpp build, with room to spare."""

ORPHAN_WAIT_S = 30.0
"""How long compilers of a killed run may take to notice that they are alone."""

ANY_CODE = range(-64, 256)
COMPILE = "compile"


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
    with _alone(home.work / "build", key.target, console) as place:
        found = find(home, key.digest)  # whoever held the lock may have made it
        if found:
            return found
        worker = _worker(place, toolchain, key.recipe, environ, build_env(home, place.root, environ))
        return put(home, key, worker.make(git, key, console))


@contextmanager
def build_fresh(
    git: Git, request: BuildRequest, home: Home, console: Console, *, environ: Mapping[str, str] | None = None
) -> Iterator[Mapping[str, Path]]:
    """Build once more, neither reading nor filling the compiler cache, in a folder of another name; store nothing.

    Returns:
        Final file name -> finished file, there until the block ends.

    Raises:
        SpeedforkError: as `build`.
    """
    environ = os.environ if environ is None else environ
    toolchain = find_toolchain(environ)
    key = key_of(request, toolchain.identity)
    with _alone(home.work / "rebuild", key.target, console) as place:
        env = {**build_env(home, place.root, environ), "CCACHE_DISABLE": "1", "CCACHE_DIR": os.devnull}
        yield _worker(place, toolchain, key.recipe, environ, env).make(git, key, console)


@contextmanager
def _alone(folder: Path, target: str, console: Console) -> Iterator[_Place]:
    """The empty place of builds for one target, held against other runs; emptied again when all went well.

    Raises:
        DiskFull: too little room for a build.
        Busy: another build for this target runs.
    """
    place, lock = _Place(root=folder / target), folder / f"{target}.lock"
    require_free_space(place.root, NEEDED_BYTES, what="a build")
    with exclusive(lock, wait_s=ORPHAN_WAIT_S, on_wait=lambda: console.say(f"waiting for the lock {lock}")):
        place.clear()
        yield place
        place.clear()


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


def _worker(
    place: _Place, toolchain: Toolchain, recipe: Recipe, environ: Mapping[str, str], env: Mapping[str, str]
) -> "_Worker":
    jobs = job_count(environ, cpus=usable_cpus(), memory=usable_memory())
    check_compiler(toolchain, environ, place.root)
    return _Worker(place=place, toolchain=toolchain, recipe=recipe, jobs=jobs, env=env)


@dataclass(frozen=True, kw_only=True)
class _Worker:
    """One build in the making."""

    place: _Place
    toolchain: Toolchain
    recipe: Recipe
    jobs: int
    env: Mapping[str, str]

    def make(self, git: Git, key: BuildKey, console: Console) -> Mapping[str, Path]:
        """Final file name -> finished file."""
        title = f"build {key.label} for {self.recipe.target}"
        with console.task(f"{title}: sources and configuration"):
            write_tree(git, key.tree, self.place.source)
            self._configure()
        with console.task(f"{title}, {self.jobs} jobs") as task:
            self._compile(task)
        place = self.place
        return harvest(place.source, place.build, self.recipe.programs, self.toolchain, place.harvest)

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
            raise self._error(explain_configure(self._logged(done, CONFIGURE), code=done.code))

    def _compile(self, task: Task) -> None:
        ninja, programs = self.toolchain.ninja, self.recipe.programs
        argv: list[str | Path] = [ninja, "-C", self.place.build, f"-j{self.jobs}", *programs]

        def show(line: str) -> None:
            progress = parse_progress(line)
            if progress:
                task.update(progress.done, progress.total, progress.what.rpartition("/")[2])

        done = run(argv, env=self.env, ok_codes=ANY_CODE, on_line=show)
        if done.code:
            raise self._error(explain(self._logged(done, COMPILE), code=done.code))

    def _logged(self, done: Completed, step: str) -> Sequence[str]:
        """Keep the whole output beside the build for whoever wants all of it; returns its lines."""
        write_atomic(self._log(step), done.stdout)
        return done.stdout.decode("utf-8", "replace").splitlines()

    def _log(self, step: str) -> Path:
        return self.place.root / f"{step}.log"

    def _error(self, failure: Failure) -> SpeedforkError:
        step = CONFIGURE if failure.step == CONFIGURE else COMPILE
        return error_of(failure, jobs=self.jobs, log=str(self._log(step)))
