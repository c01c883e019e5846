"""Build a git tree in a container: no network, an ordinary user, sources it cannot write, one fixed place.

A build that is killed, or whose starter is, leaves nothing in the store; its container is gone or removed by the next
run, which gets every finished object from the compiler cache. That cache is a volume of its own for each toolchain,
and device code has a name space in it for each architecture list: it cannot serve an object made for another card.
"""

import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ci.builds.arch import check_supported
from ci.builds.archive import add_bytes
from ci.builds.box import Box, Ended, Job, owned_by
from ci.builds.compiler import job_count, usable_memory
from ci.builds.engine import Engine
from ci.builds.faults import error_of
from ci.builds.licences import write_licences
from ci.builds.ninja import STATUS, Failure, explain, explain_configure, parse_progress
from ci.builds.recipe import SOURCE_DATE_EPOCH, Recipe, cmake_arguments
from ci.builds.request import BuildRequest, key_of
from ci.builds.said import COMPILE, CONFIGURE, COUNTS, DONE, Counts, last_step, lines_of, parse_counts, step_of
from ci.builds.store import Build, find, put
from ci.builds.target import Target
from ci.builds.toolchain.image import ToolchainImage
from ci.builds.tree import write_tree
from ci.console import Console, Task
from ci.errors import BuildFailed, SpeedforkError, UsageProblem
from ci.files import exclusive, remove_tree, require_free_space, write_atomic
from ci.git import Git
from ci.home import Home

ENV_DEADLINE = "SPEEDFORK_DEADLINE_S"
ENV_KEEP = "KEEP_CONTAINER"
DEADLINE_S = 4 * 3600
"""Eight times what a cold build of one target takes on two cores."""

BYTES_PER_CUDA_JOB = 1_400_000_000
"""The largest process of nvcc on llama.cpp takes 0.9 GB; the rest is for the linker and the engine itself."""
MEMORY_SHARE = 0.9
"""Of the engine's memory: so that the kernel kills in the container before it kills outside."""

SOURCE, BUILD, OUT, JOB = Path("/src"), Path("/build"), "/out", "job"
CACHE_MOUNT = "/ccache"
CACHE_LABEL = "org.speedfork.ccache"
NEEDED_BYTES = 1_500_000_000
"""Here: sources, finished files and their place in the store."""
NEEDED_THERE = 1_500_000_000
"""Where the engine keeps containers and the compiler cache: a build tree, finished files, and new objects."""
SCRIPT = Path(__file__).with_name("build.sh")


@dataclass(frozen=True, kw_only=True)
class Made:
    """A build, and what was compiled for it; no counts when it came from the store."""

    build: Build
    counts: Counts | None = None


def build_contained(
    git: Git,
    request: BuildRequest,
    home: Home,
    console: Console,
    engine: Engine,
    toolchain: ToolchainImage,
    *,
    environ: Mapping[str, str] | None = None,
) -> Made:
    """The build that was asked for, from the store or made now.

    Raises:
        UsageProblem: jobs or deadline are no numbers, or the toolkit makes no code for the target's cards.
        SourceTreeProblem: the tree is not in the history.
        BuildFailed: the sources do not configure, compile or link; quotes the errors.
        CompilerKilled: a compiler was killed, or found no memory.
        BuildLate: not over by the deadline.
        EngineProblem: the engine refuses.
        DiskFull: no room.
        Busy: another build for this target runs.
    """
    check_supported(request.target.archs, toolchain.nvcc_archs)
    key = key_of(request, toolchain.identity)
    found = find(home, key.digest)
    if found:
        return Made(build=found)
    maker = Maker.of(home, console, engine, toolchain, os.environ if environ is None else environ)
    with maker.place(request.target) as scratch:
        found = find(home, key.digest)  # whoever held the lock may have made it
        if found:
            return Made(build=found)
        files, counts = maker.compile(git, request, key.recipe, scratch)
        return Made(build=put(home, key, files), counts=counts)


@dataclass(frozen=True, kw_only=True)
class Maker:
    """What builds in containers share: the engine, its toolchain, limits."""

    home: Home
    console: Console
    engine: Engine
    toolchain: ToolchainImage
    jobs: int
    memory: int
    deadline_s: float
    keep: bool

    @classmethod
    def of(
        cls, home: Home, console: Console, engine: Engine, toolchain: ToolchainImage, environ: Mapping[str, str]
    ) -> "Maker":
        """With limits from the engine's machine and the environment.

        Raises:
            UsageProblem: jobs or deadline are no numbers.
        """
        memory = int(engine.facts.memory * MEMORY_SHARE)
        if engine.facts.address.startswith("unix:"):
            memory = min(memory, usable_memory())
        return cls(
            home=home,
            console=console,
            engine=engine,
            toolchain=toolchain,
            jobs=job_count(environ, cpus=engine.facts.cpus, memory=memory, per_job=BYTES_PER_CUDA_JOB),
            memory=memory,
            deadline_s=deadline_of(environ),
            keep=environ.get(ENV_KEEP, "") not in ("", "0"),
        )

    @contextmanager
    def place(self, target: Target) -> Iterator[Path]:
        """An empty folder for one build at a time of a target; containers of a killed one are removed first.

        Raises:
            Busy: another build for this target runs.
        """
        root = self.home.work / "build" / target.id
        require_free_space(root, NEEDED_BYTES, what="a build")
        with exclusive(self.home.work / "build" / f"{target.id}.lock"):
            self.engine.remove_orphans(owner_of(self.home, target))
            remove_tree(root)
            root.mkdir(parents=True)
            yield root
            remove_tree(root)

    def compile(
        self, git: Git, request: BuildRequest, recipe: Recipe, scratch: Path, *, fresh: bool = False
    ) -> tuple[Mapping[str, Path], Counts]:
        """Make the finished files of a build.

        Args:
            git: the history.
            request: what to build.
            recipe: how.
            scratch: an empty folder.
            fresh: do without the compiler cache, neither reading nor filling it.

        Returns:
            Final file name -> finished file below `scratch`, and what was compiled.
        """
        title = f"build {request.label} for {request.target.id}"
        with self.console.task(f"{title}: sources"):
            write_tree(git, request.tree, scratch / "src")
        with self.engine.container(self._job(request.target, fresh=fresh), keep=self.keep) as box:
            if self.keep:
                self.console.say(f"  the container is {box.name}; it stays: docker rm {box.name}")
            with self.console.task(f"{title}, {self.jobs} jobs") as task:
                self._fill(box, recipe, request.target, scratch / "src")
                box.start()
                ended = box.follow(lambda line: _show(task, line), deadline_s=self.deadline_s)
            self._check(request.target, ended)
            made = box.fetch(OUT, scratch / "out")
        odd = next((path.name for path in made.iterdir() if not path.is_file()), None)
        if odd:
            raise BuildFailed(f"the build left a folder {odd!r} where its programs are to be")
        write_licences(scratch / "src", made)
        return {path.name: path for path in made.iterdir()}, parse_counts(lines_of(ended.lines, COUNTS))

    def _job(self, target: Target, *, fresh: bool) -> Job:
        volume = f"speedfork-ccache-{self.toolchain.digest[:16]}"
        self.engine.ensure_volume(volume, {CACHE_LABEL: self.toolchain.digest})
        return Job(
            image=self.toolchain.id,
            argv=("sh", f"/{JOB}/build.sh", str(self.jobs), f"{self.deadline_s:.0f}", str(NEEDED_THERE // 1024)),
            owner=owner_of(self.home, target),
            env=build_env(fresh=fresh),
            workdir=str(BUILD),
            volumes={volume: CACHE_MOUNT},
            memory=self.memory,
            tethered=True,
        )

    def _fill(self, box: Box, recipe: Recipe, target: Target, source: Path) -> None:
        arguments = (*launchers(target), *cmake_arguments(recipe, source=SOURCE, build=BUILD))
        inputs = {
            "build.sh": SCRIPT.read_bytes(),
            "configure": "".join(f"{argument}\0" for argument in arguments).encode(),
            "programs": "".join(f"{name}\n" for name in recipe.programs).encode(),
        }
        with tempfile.TemporaryFile(dir=source.parent) as packed:
            with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
                tar.add(source, arcname=SOURCE.name, filter=_as_roots)
                for name, content in inputs.items():
                    add_bytes(tar, f"{JOB}/{name}", content)
            packed.seek(0)
            box.put(packed, "/")

    def _check(self, target: Target, ended: Ended) -> None:
        log = self.home.work / "build" / f"{target.id}.log"
        write_atomic(log, "".join(f"{line}\n" for line in ended.lines).encode())
        if ended.code or last_step(ended.lines) != DONE:
            raise self._error(ended, log)

    def _error(self, ended: Ended, log: Path) -> SpeedforkError:
        step = last_step(ended.lines)
        said = lines_of(ended.lines, step) if step else ended.lines
        failure: Failure = (
            explain_configure(said, code=ended.code, killed_for_memory=ended.killed_for_memory)
            if step == CONFIGURE
            else explain(said, code=ended.code or 1, killed_for_memory=ended.killed_for_memory)
        )
        return error_of(failure, jobs=self.jobs, log=str(log))


def owner_of(home: Home, target: Target) -> str:
    """Whose the containers of a target's builds are."""
    return owned_by("build", home.root, target.id)


def deadline_of(environ: Mapping[str, str]) -> float:
    """Seconds that a build may take: SPEEDFORK_DEADLINE_S, or `DEADLINE_S`.

    Raises:
        UsageProblem: it is not a whole number of at least 1.
    """
    asked = environ.get(ENV_DEADLINE, "")
    if not asked:
        return DEADLINE_S
    if not (asked.isascii() and asked.isdecimal() and 1 <= int(asked) <= 7 * 86400):
        raise UsageProblem(
            f"{ENV_DEADLINE}={asked!r} is not a whole number of seconds from 1 to a week",
            hint=f"export {ENV_DEADLINE}={DEADLINE_S}",
        )
    return float(asked)


def build_env(*, fresh: bool) -> dict[str, str]:
    """The environment of CMake and the compilers beside the image's own."""
    cache = (
        {"CCACHE_DISABLE": "1"}
        if fresh
        else {
            "CCACHE_DIR": CACHE_MOUNT,
            # an image made anew has other dates on the same compilers
            "CCACHE_COMPILERCHECK": "content",
            "CCACHE_MAXSIZE": "20G",
            "CCACHE_STATSLOG": f"{BUILD}/ccache.stats",
        }
    )
    return {
        **cache,
        "CCACHE_CONFIGPATH": os.devnull,
        "GIT_DIR": os.devnull,
        "HOME": "/tmp",  # noqa: S108 - inside the container
        "LC_ALL": "C",
        "NINJA_STATUS": STATUS,
        "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH),
        "TZ": "UTC",
    }


def launchers(target: Target) -> tuple[str, ...]:
    """CMake options that put the compiler cache before each compiler; device code by architecture list."""
    cache = "/opt/bin/ccache"
    return (
        f"-DCMAKE_C_COMPILER_LAUNCHER={cache}",
        f"-DCMAKE_CXX_COMPILER_LAUNCHER={cache}",
        f"-DCMAKE_CUDA_COMPILER_LAUNCHER={cache};namespace={target.archs.cmake.replace(';', '+')}",
    )


def _as_roots(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The member as a file of root's that everybody may read, and nobody write."""
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    member.mtime = SOURCE_DATE_EPOCH
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return member


def _show(task: Task, line: str) -> None:
    progress = parse_progress(line)
    if progress:
        task.update(progress.done, progress.total, progress.what.rpartition("/")[2])
    elif step_of(line) not in (None, COMPILE, DONE):
        task.update(0, None, str(step_of(line)))
