"""Pack both builds and the patched sources, then unpack the speed archive and use it as a stranger would."""

import tempfile
from pathlib import Path

from ci.builds.package import SUMS_FILE, archive_name, pack_build, pack_source, smoke, source_archive_name
from ci.builds.store import Build, load_build
from ci.errors import ArchiveProblem, SpeedforkError
from ci.git import Git
from ci.home import Home
from ci.llama.client import Request
from ci.llama.server import LlamaServer
from ci.llama.spec import Scenario
from ci.models.exact_pair import SMALL, ensure_pair
from ci.outcome import GateResult, JsonMap, Verdict
from ci.stage import Context, Stage, StageResult
from ci.stages import drift
from ci.stages.archive import described
from ci.stages.audit import AUDITOR, gate_of, judged
from ci.stages.build import target_of
from ci.stages.values import Built, Packed, Rebased

FORMAT = 1
"""Raise it when the same builds would be packed otherwise."""

TOKENS = 8


def folder_of(home: Home, release: str) -> Path:
    """The release folder."""
    return home.out / "release" / release


def plan(context: Context) -> JsonMap:
    """What goes into the archives."""
    built, rebased = context.value(Built), context.value(Rebased)
    return {
        "format": FORMAT,
        "release": rebased.release,
        "tree": rebased.tree,
        "stock": described(built.stock),
        "speed": described(built.speed),
        "folder": str(folder_of(context.home, rebased.release)),
        "drift": drift.inputs(context),
        "auditor": AUDITOR.code_digest(context.home.checkout),
    }


def run(context: Context) -> StageResult:
    """Pack, and try what was packed.

    Raises:
        DriftUnproven: parity did not prove that what changed under the patches does no harm.
        DriftRefuted: parity says that something is wrong.
    """
    proved = drift.proof(context)
    built, rebased = context.value(Built), context.value(Rebased)
    folder = folder_of(context.home, rebased.release)
    stock, speed = load_build(built.stock), load_build(built.speed)
    names = (archive_name(speed), archive_name(stock), source_archive_name(rebased.release))
    clear_strays(folder, keep=names)
    with context.console.task("packing") as task:
        for done, build in enumerate((speed, stock)):
            task.update(done, 3, archive_name(build))
            pack_build(build, folder)
        task.update(2, 3, names[2])
        pack_source(Git(path=context.home.history), rebased.tree, rebased.release, folder)
    gates = (*proved, *(gate for build in (speed, stock) for gate in gates_of(context, folder, build)))
    made = tuple(folder / name for name in names)
    return StageResult(value=Packed(folder=folder, archives=names), gates=gates, made=made)


def gates_of(context: Context, folder: Path, build: Build) -> tuple[GateResult, GateResult]:
    """An archive used, and judged."""
    archive = folder / archive_name(build)
    used = tried(context.home, archive, build)
    target = target_of(context.options)
    report = judged(context.home, archive, target=target, version=str(used.evidence.get("version", "")))
    return used, gate_of(build.variant, report)


def clear_strays(folder: Path, *, keep: tuple[str, ...]) -> None:
    """Remove what an earlier run left in the release folder: everything in there is listed and summed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SUMS_FILE).unlink(missing_ok=True)
    for path in folder.iterdir():
        if path.is_file() and path.name not in keep:
            path.unlink()


def tried(home: Home, archive: Path, build: Build) -> GateResult:
    """Unpack an archive, ask its server for its version with nothing on PATH, and for one completion."""
    gate = f"archive-{build.variant}"
    home.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="smoke-", dir=home.work) as scratch:
        unpacked = Path(scratch) / "unpacked"
        try:
            said = smoke(archive, unpacked, label=build.label)
            tokens = completed(home, next(unpacked.iterdir()), build, Path(scratch))
        except ArchiveProblem as problem:
            return GateResult(gate=gate, verdict=Verdict.FAIL, reason=problem.message)
        except SpeedforkError as problem:
            return GateResult(gate=gate, verdict=Verdict.UNPROVEN, reason=problem.message)
    return GateResult(
        gate=gate,
        verdict=Verdict.PASS if tokens == TOKENS else Verdict.FAIL,
        reason=f"{archive.name} unpacked: {said}; {tokens} of {TOKENS} tokens completed",
        evidence={"version": said, "n_compared": tokens, "n_expected": TOKENS},
    )


def completed(home: Home, folder: Path, build: Build, scratch: Path) -> int:
    """How many tokens the unpacked server generates for one request on the small exact pair."""
    pair = ensure_pair(home, SMALL)
    scenario = Scenario(name="smoke", model=pair.target)
    with LlamaServer.start(folder, scenario, log_dir=scratch, expect_build=build.label) as server:
        reply = server.client.complete(Request(prompt=(pair.law.first,), n_predict=TOKENS))
    return len(reply.tokens)


STAGE = Stage(name="package", about="archives, unpacked, tried and audited", value=Packed, plan=plan, run=run)
