"""The check on a machine with a card: prepare what is carried there, run it, judge what comes home."""

import os
import platform
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from ci.builds.store import BUILD_JSON, Build, load_build, stored_builds
from ci.builds.target import Target, find_target
from ci.console import Console
from ci.errors import EXIT_OK, CarryProblem, UsageProblem
from ci.files import sha256_file, write_json
from ci.gpu.carry import checkout_files, fetch_wheels, prepare, read_answer
from ci.gpu.manifest import CHECK_FILE, SCRIPT, Answer, Prepared
from ci.gpu.operators import operators_of
from ci.gpu.probe import ANY_CODE
from ci.gpu.timing import LIMIT_S
from ci.home import Home
from ci.models.exact_pair import PAIRS, ensure_pair
from ci.models.fetch import ensure_model
from ci.outcome import GateResult, JsonMap
from ci.process import run, scrubbed_env
from ci.series.order import load_series
from ci.stages.card import MODEL
from ci.stages.models import used
from ci.verbs.gpu_run import show

LARGEST_CARRIED = 8 << 20
"""Bytes of a toolkit's library above which it stays behind: cuBLAS has 600 MB, and machines with CUDA have it."""

MAY_LAST_S = LIMIT_S + 120
"""Beside its own plan, for a machine that unpacks slowly."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to prepare; empty strings mean the default.

    Args:
        target: what the builds are for.
        lane: its toolkit lane.
        stock: folder of the stock build.
        speed: folder of the speed build.
        libraries: folder of the toolkit's libraries: the small ones among those needed are carried.
        out: the folder to make.
        python: version of the other machine's Python, `3.12` or `3.12.3`.
    """

    target: str = "sm90"
    lane: str = ""
    stock: str = ""
    speed: str = ""
    libraries: str = ""
    out: str = ""
    python: str = "3.12"


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Which part is asked for, at most one; none means prepare and run here.

    Args:
        prepare: make the folder.
        run: the prepared folder to run here.
        collect: the folder of results to judge.
    """

    prepare: bool = False
    run: str = ""
    collect: str = ""


def gpu_check(home: Home, console: Console, asked: Request, steps: Steps) -> int:
    """Do the part that is asked for.

    Raises:
        UsageProblem: several parts at once.
        CarryProblem: what came home is no answer to what was prepared.
    """
    if sum((steps.prepare, bool(steps.run), bool(steps.collect))) > 1:
        raise UsageProblem("give one of --prepare, --run DIR and --collect DIR", hint="invoke gpu-check --help")
    if steps.collect:
        return collect(home, console, steps.collect, asked.out)
    if steps.run:
        return run_here(home, console, steps.run)
    if steps.prepare:
        return prepare_folder(home, console, asked)
    prepare_folder(home, console, replace(asked, python=platform.python_version()))
    return run_here(home, console, asked.out)


def folder_of(home: Home, named: str) -> Path:
    """The prepared folder."""
    return Path(named).resolve() if named else home.out / "gpu-check"


def prepare_folder(home: Home, console: Console, asked: Request, target: Target | None = None) -> int:
    """Make the folder to carry, and say how large its parts are.

    Args:
        home: for builds and models.
        console: for words.
        asked: what the command line said.
        target: instead of the one that is named, for tests.

    Raises:
        UsageProblem: no builds of that target, builds of another one, or not a pair.
        DigestMismatch: a build's files are not those that were built.
    """
    aim = target or find_target(asked.target, lane=asked.lane)
    stock, speed = chosen(home, aim, asked)
    out = folder_of(home, asked.out)
    home.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wheels-", dir=home.work) as scratch:
        with console.task(f"wheels for Python {asked.python}"):
            wheels = fetch_wheels(asked.python, Path(scratch))
        files = {
            **checkout_files(home.checkout),
            **build_files("stock", stock),
            **build_files("speed", speed),
            **model_files(home, console),
            **{f"wheels/{wheel.name}": wheel for wheel in wheels},
            **{f"lib/{path.name}": path for path in carried_libraries(aim, asked.libraries)},
        }
        with console.task("packing"):
            prepared = prepare(files, out, facts_of(home, aim, stock, speed, asked.python))
    return tell(console, out, prepared, asked.out)


def facts_of(home: Home, aim: Target, stock: Build, speed: Build, python: str) -> JsonMap:
    """What the other machine must know beside the files."""
    touched = (file for patch in load_series(home.patches).patches for file in patch.files)
    return {
        "target": aim.id,
        "sass": list(aim.archs.sass),
        "ptx": list(aim.archs.ptx),
        "minimum_driver": aim.lane.minimum_driver if aim.lane else "",
        "libraries": [*aim.lane.companions, *aim.lane.driver] if aim.lane else [],
        "operators": list(operators_of(touched)),
        "python": ".".join(python.split(".")[:2]),
        "stock": {"label": stock.label, "digest": stock.digest},
        "speed": {"label": speed.label, "digest": speed.digest},
    }


def chosen(home: Home, aim: Target, asked: Request) -> tuple[Build, Build]:
    """Stock and speed, verified: those that are named, or the only ones of the target in the store."""
    if bool(asked.stock) != bool(asked.speed):
        raise UsageProblem("give both --stock DIR and --speed DIR, or neither", hint="invoke gpu-check --prepare")
    if not aim.archs.sass:
        raise UsageProblem(f"target {aim.id} carries no code for a card", hint="--target sm90")
    named = {"stock": asked.stock, "speed": asked.speed}
    sides = {side: Path(named[side]) if named[side] else only(home, aim, side) for side in named}
    stock, speed = (checked(aim, side, folder) for side, folder in sides.items())
    if stock.making != speed.making:
        raise UsageProblem(f"{stock.path} and {speed.path} were not built alike", hint=aim.build_command)
    return stock, speed


def only(home: Home, aim: Target, side: str) -> Path:
    """The only build of a target and side in the store."""
    found = [build.path for build in stored_builds(home) if (build.target_id, build.variant) == (aim.id, side)]
    if len(found) == 1:
        return found[0]
    listed = "".join(f"\n    {path}" for path in found)
    raise UsageProblem(
        f"{len(found)} {side} builds of {aim.id} in {home.store}, expected one{listed}",
        hint="name them: --stock DIR --speed DIR" if found else aim.build_command,
    )


def checked(aim: Target, side: str, folder: Path) -> Build:
    """A build for that target, of that side, with every program and the bytes that were built."""
    build = load_build(folder, check=True)
    if (build.target_id, build.variant) != (aim.id, side):
        raise UsageProblem(
            f"{folder}: {build.variant} build of {build.target_id}, expected {side} of {aim.id}",
            hint=aim.build_command,
        )
    missing = [program for program in aim.programs if program not in build.files]
    if missing:
        raise UsageProblem(f"{folder}: without {', '.join(missing)}", hint=aim.build_command)
    return build


def build_files(side: str, build: Build) -> dict[str, Path]:
    """A build's listed files, by their place there."""
    return {f"{side}/{name}": build.path / name for name in (*sorted(build.files), BUILD_JSON)}


def model_files(home: Home, console: Console) -> dict[str, Path]:
    """The pinned model and the exact pairs of the suites, where a home has them."""
    model = ensure_model(home, MODEL, console)
    generated = [entry.generated.pair for entry in used().values() if entry.generated]
    pairs = [ensure_pair(home, PAIRS[name], console).dir for name in generated]
    paths = [model, *(path for folder in pairs for path in sorted(folder.iterdir()))]
    return {f"home/{path.relative_to(home.root)}": path for path in paths}


def carried_libraries(aim: Target, named: str) -> tuple[Path, ...]:
    """The lane's small libraries out of a folder; none without one.

    Raises:
        UsageProblem: the folder has none of them.
    """
    if not named:
        return ()
    wanted = aim.lane.companions if aim.lane else ()
    found = tuple(path for path in (Path(named) / name for name in wanted) if path.is_file())
    if not found:
        raise UsageProblem(
            f"{named}: none of {', '.join(wanted)}", hint="unpack the lane's cudart archive and name it"
        )
    return tuple(path for path in found if path.stat().st_size <= LARGEST_CARRIED)


def tell(console: Console, out: Path, prepared: Prepared, named: str = "") -> int:
    """What to carry, and what to type there and here; `named` is the folder as a person named it."""
    aside = f" --out {named}" if named else ""
    rows = [(part.name, f"{part.size / 2**20:.1f} MiB", part.sha256) for part in prepared.parts]
    console.table(("part", "size", "sha256"), rows, title=f"{prepared.target}: {prepared.speed.label}")
    console.result(
        f"carry all of {out} to a machine with one card for {', '.join(prepared.sass)}; there: python3 {SCRIPT}\n"
        f"bring the folder `results` home: invoke gpu-check --collect DIR{aside}"
    )
    console.document({"folder": str(out), "parts": [part.model_dump() for part in prepared.parts]})
    return EXIT_OK


def run_here(home: Home, console: Console, named: str) -> int:
    """Start the carried script as the other machine would; its exit code, and what it found."""
    folder = folder_of(home, named)
    if not (folder / SCRIPT).is_file():
        raise UsageProblem(f"{folder}: no {SCRIPT} in it", hint="invoke gpu-check --prepare")
    extra = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as scratch:
        argv = (sys.executable, folder / SCRIPT, "--work", Path(scratch) / "work")
        done = run(argv, env=scrubbed_env(extra=extra), ok_codes=ANY_CODE, timeout=MAY_LAST_S, on_line=console.result)
    console.document({"exit_code": done.code, "results": str(folder / "results")})
    return done.code


def collect(home: Home, console: Console, results: str, named: str) -> int:
    """Judge what came home, anew, and keep it among the evidence.

    Raises:
        CarryProblem: it is no answer to what was prepared.
    """
    folder, prepared = Path(results).resolve(), folder_of(home, named)
    if not (prepared / CHECK_FILE).is_file():
        told = f"{prepared}: no {CHECK_FILE} in it: this is not the folder that was prepared"
        raise CarryProblem(told, hint=f"invoke gpu-check --collect {results} --out FOLDER, with the prepared folder")
    answer, gates = read_answer(folder, prepared)
    return show(console, gates, answer.seconds, keep(home, answer, gates, sha256_file(prepared / CHECK_FILE)))


def keep(home: Home, answer: Answer, gates: tuple[GateResult, ...], digest: str) -> Path:
    """Write the verdicts beside other evidence."""
    name = f"gpu-check-{answer.stock.digest[:12]}-{answer.speed.digest[:12]}.json"
    path = home.records / "evidence" / name
    document = {**answer.model_dump(mode="json"), "prepared": digest, "gates": [gate.to_json() for gate in gates]}
    write_json(path, document)
    return path
