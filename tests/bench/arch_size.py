"""`nox -s bench-arch-size`: device code for one architecture against upstream's broad list, in bytes.

A few of upstream's CUDA files are compiled in the toolchain container by the recipe of our targets: once for each of
`ONE`, and once for the list that upstream's own CMake file chooses when it is given none, as its releases do. What
counts is the section that carries the device code; debug symbols and host code stand elsewhere.
Options: `--lane LANE`, `--json FILE`.
"""

import argparse
import os
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ci.builds.box import Job
from ci.builds.compiler import job_count
from ci.builds.contained import BUILD, BYTES_PER_CUDA_JOB, SOURCE, build_env
from ci.builds.engine import Engine
from ci.builds.ninja import parse_progress
from ci.builds.recipe import cmake_arguments, recipe_for
from ci.builds.target import find_lane, find_target
from ci.builds.toolchain.image import ToolchainImage, ensure_toolchain
from ci.builds.tree import write_tree
from ci.console import Console
from ci.errors import EXIT_OK, BuildFailed, SpeedforkError, UsageProblem
from ci.files import exclusive, write_json
from ci.git import Git
from ci.home import Home
from ci.upstream.tags import BuildTag, build_tags

ROOT = Path(__file__).parents[2]
ONE = ("75-real", "120a-real")
BROAD = "broad"
FILES = (
    "norm.cu",
    "quantize.cu",
    "rope.cu",
    "scale.cu",
    "softmax.cu",
    "template-instances/fattn-vec-instance-f16-f16.cu",
)
"""Small and middle ones of `ggml/src/ggml-cuda`, ordinary kernels and one attention template."""
DEADLINE_S = 3600
OWNER = "bench:arch-size"
OBJECTS = "ggml/src/ggml-cuda/CMakeFiles/ggml-cuda.dir"

SCRIPT = """\
set -eu
jobs=$1 lists=$2 files=$3; shift 3
for list in $lists; do
  mkdir "/build/$list" && cd "/build/$list"
  case $list in broad) set_archs= ;; *) set_archs=-DCMAKE_CUDA_ARCHITECTURES=$list ;; esac
  cmake -G Ninja -S /src -B . "$@" $set_archs >log 2>&1 || { cat log; exit 1; }
  sed -n "s/.*Using CMAKE_CUDA_ARCHITECTURES=\\([^ ]*\\).*/::archs $list \\1/p" log
  ninja -j "$jobs" $(for file in $files; do echo "OBJECTS/$file.o"; done)
  for file in $files; do
    size --format=sysv "OBJECTS/$file.o" |
      awk -v at="::bytes $list $file" '$1 ~ /^\\.nv_fatbin/ { sum += $2 } END { print at, sum + 0 }'
  done
done
""".replace("OBJECTS", OBJECTS)

Sizes = Mapping[tuple[str, str], int]
"""Bytes of device code by list and file."""


def compiled(
    engine: Engine, image: ToolchainImage, source: Path, options: Sequence[str], *, jobs: int, console: Console
) -> tuple[str, ...]:
    """Compile in a container; returns what was said.

    Raises:
        BuildFailed: something does not compile.
    """
    job = Job(
        image=image.id,
        argv=("sh", "-c", SCRIPT, "sh", str(jobs), " ".join((*ONE, BROAD)), " ".join(FILES), *options),
        owner=OWNER,
        env=build_env(fresh=True),
        workdir=str(BUILD),
        volumes={},
    )
    with tempfile.TemporaryFile(dir=source.parent) as packed, engine.container(job) as box:
        with tarfile.open(fileobj=packed, mode="w") as tar:
            tar.add(source, arcname=SOURCE.name, filter=readable)
        packed.seek(0)
        box.put(packed, "/")
        with console.task(f"{len(FILES)} files for {len(ONE) + 1} lists of architectures") as task:

            def show(line: str) -> None:
                progress = parse_progress(line)
                if progress:
                    task.update(progress.done, progress.total, progress.what.rpartition("/")[2])

            box.start()
            ended = box.follow(show, deadline_s=DEADLINE_S)
    if ended.code:
        raise BuildFailed("\n".join(("the files do not compile:", *ended.lines[-20:])), hint="invoke toolchain")
    return ended.lines


def readable(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The member as one that every user may read, whatever the umask here."""
    return member.replace(mode=0o755 if member.isdir() or member.mode & 0o100 else 0o644, deep=False)


def parse_sizes(lines: Sequence[str]) -> Sizes:
    """Sizes from the lines `::bytes LIST FILE BYTES`.

    Raises:
        BuildFailed: a size is missing, or a file carries no device code.
    """
    words = [line.split() for line in lines if line.startswith("::bytes ")]
    sizes = {(found[1], found[2]): int(found[3]) for found in words}
    missing = [(name, file) for name in (*ONE, BROAD) for file in FILES if not sizes.get((name, file))]
    if missing:
        raise BuildFailed(f"no device code in {missing[0][1]} for {missing[0][0]}", hint="invoke toolchain")
    return sizes


def parse_lists(lines: Sequence[str]) -> Mapping[str, str]:
    """What upstream's CMake file made of each list, from the lines `::archs LIST ARCHS`.

    Raises:
        BuildFailed: it did not say.
    """
    words = [line.split() for line in lines if line.startswith("::archs ")]
    lists = {found[1]: found[2] for found in words}
    if set(lists) != {*ONE, BROAD}:
        raise BuildFailed("CMake does not name the architectures that it chose", hint="invoke toolchain")
    return lists


def report(console: Console, sizes: Sizes, lists: Mapping[str, str], tag: BuildTag) -> None:
    """A table, and the line that machines read: the larger of the single ones against the broad list."""
    names = (*ONE, BROAD)
    total = {name: sum(sizes[name, file] for file in FILES) for name in names}
    rows = [(file, *(f"{sizes[name, file] / 1024:.0f}" for name in names)) for file in FILES]
    console.table(
        ("file", *names),
        [*rows, ("all", *(f"{total[name] / 1024:.0f}" for name in names))],
        title=f"KiB of device code, {tag}; {BROAD} is {lists[BROAD]}",
    )
    console.result(f"one_arch_vs_broad={max(total[name] for name in ONE) / total[BROAD]:.2f} files={len(FILES)}")


def bench(home: Home, console: Console, *, lane: str, json_file: Path | None) -> int:
    """Compile, print; returns the exit code."""
    git = Git(path=home.history)
    known = build_tags(git.tags()) if home.history.is_dir() else ()
    if not known:
        raise UsageProblem(f"{home.history} has no upstream build", hint="invoke sync-upstream")
    tag, target = known[-1], find_target("sm75", lane=lane)
    recipe = recipe_for(target, label=str(tag), number=tag.number)
    options = [
        option
        for option in cmake_arguments(recipe, source=SOURCE, build=BUILD)
        if not option.startswith("-DCMAKE_CUDA_ARCHITECTURES=")
    ]
    home.work.mkdir(parents=True, exist_ok=True)
    with (
        Engine.connect() as engine,
        exclusive(home.lock),
        tempfile.TemporaryDirectory(prefix="bench-", dir=home.work) as scratch,
    ):
        engine.remove_orphans(OWNER)
        image = ensure_toolchain(engine, find_lane(lane), home, console)
        jobs = job_count(os.environ, cpus=engine.facts.cpus, memory=engine.facts.memory, per_job=BYTES_PER_CUDA_JOB)
        source = Path(scratch) / "src"
        write_tree(git, tag.ref, source)
        lines = compiled(engine, image, source, options, jobs=jobs, console=console)
    sizes, lists = parse_sizes(lines), parse_lists(lines)
    report(console, sizes, lists, tag)
    if json_file:
        samples = [{"archs": lists[name], "file": file, "bytes": size} for (name, file), size in sizes.items()]
        write_json(json_file, {"base": str(tag), "toolchain": image.identity, "samples": samples})
    return EXIT_OK


def main() -> int:
    """Parse the command line, measure, turn errors into text."""
    parser = argparse.ArgumentParser(prog="nox -s bench-arch-size --", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--lane", default="cu13", help="toolkit to compile with")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every size to FILE")
    asked = parser.parse_args()
    console = Console()
    try:
        return bench(Home.find(ROOT, os.environ), console, lane=asked.lane, json_file=asked.json)
    except SpeedforkError as error:
        console.error(error)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
