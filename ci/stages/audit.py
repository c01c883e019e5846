"""Judge the archives as they will be uploaded, and use each on a bare system."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from ci.builds.audit.auditing import audit_archive
from ci.builds.audit.values import AuditReport
from ci.builds.bare import use_archive
from ci.builds.box import owned_by
from ci.builds.engine import Engine
from ci.builds.store import Build, load_build
from ci.builds.target import Lane, Target
from ci.errors import ArchiveProblem, SpeedforkError
from ci.files import sha256_file, write_json
from ci.home import Home
from ci.models.exact_pair import SMALL, ensure_pair
from ci.outcome import GateResult, JsonMap, Verdict
from ci.stage import Context, Stage, StageResult
from ci.stages.archive import lane_of
from ci.stages.build import target_of, toolchain_image
from ci.stages.prove import Suite
from ci.stages.values import Archived, Audited, Built, Companion

BARE = "speedfork/debian:11-bare"
"""A Debian 11 without compilers, when somebody made one; otherwise the base that the toolchain stands on."""
TOKENS = 8
AUDITOR = Suite(
    name="audit",
    folder="",
    sources=(
        "ci/builds/audit/*",
        "ci/builds/bare.*",
        "ci/builds/box.py",
        "ci/builds/elf*",
        "ci/builds/floor.py",
        "ci/builds/store.py",
        "ci/builds/target.py",
        "ci/config/targets.toml",
        "ci/stages/audit.py",
    ),
)


def archives_of(context: Context) -> Mapping[str, Path]:
    """The archives by what they are: speed, stock, companion."""
    archived = context.value(Archived)
    speed, stock = (archived.folder / name for name in archived.archives)
    return {"speed": speed, "stock": stock, "companion": context.value(Companion).archive}


def plan(context: Context) -> JsonMap:
    """The bytes of the archives, and the sources of the auditor."""
    return {
        "archives": {kind: sha256_file(path) for kind, path in archives_of(context).items()},
        "auditor": AUDITOR.code_digest(context.home.checkout),
    }


def run(context: Context) -> StageResult:
    """Audit all, and start the servers."""
    built, archives = context.value(Built), archives_of(context)
    builds = {"speed": load_build(built.speed), "stock": load_build(built.stock)}
    target = target_of(context.options)
    gates: list[GateResult] = []
    reports: list[Path] = []
    with context.console.task("audit") as task, Engine.connect() as engine:
        for done, (kind, archive) in enumerate(archives.items()):
            task.update(done, len(archives), archive.name)
            if kind in builds:
                gates.append(bare_start(context, engine, archive, builds[kind]))
                version = str(gates[-1].evidence.get("version", ""))
                report = judged(context.home, archive, target=target, version=version)
            else:
                report = judged(context.home, archive, companions=lane_of(context))
            gates.append(gate_of(kind, report))
            reports.append(archive.parent / f"{archive.name}.audit.json")
            write_json(reports[-1], report.to_json())
    return StageResult(value=Audited(reports=tuple(reports)), gates=tuple(gates), made=tuple(reports))


def judged(
    home: Home, archive: Path, *, target: Target | None = None, companions: Lane | None = None, version: str = ""
) -> AuditReport:
    """The report on one archive; the checkout and the state directory must not stand in its binaries."""
    home.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="audit-", dir=home.work) as scratch:
        return audit_archive(
            archive,
            target,
            companions=companions,
            scratch=Path(scratch) / "files",
            places=(str(home.root), str(home.checkout)),
            version=version or None,
        )


def gate_of(kind: str, report: AuditReport) -> GateResult:
    """The report as a gate: what is wrong, or how much was looked at."""
    wrong = [finding for finding in report.worst if finding.verdict is not Verdict.PASS]
    said = "; ".join(f"{fault.rule}: {fault.file} {fault.found}, expected {fault.expected}" for fault in wrong)
    return GateResult(
        gate=f"audit-{kind}",
        verdict=report.verdict,
        reason=said or f"{report.archive}: {len(report.worst)} rules over {len(report.files)} programs and libraries",
        evidence={"sha256": report.sha256, "size": report.size, "rules": len(report.worst)},
    )


def bare_start(context: Context, engine: Engine, archive: Path, build: Build) -> GateResult:
    """Use an archive's server on a system without anything, through its CPU path."""
    gate = f"bare-{build.variant}"
    pair = ensure_pair(context.home, SMALL)
    bare = engine.image(BARE)
    image = bare.id if bare else toolchain_image(engine, lane_of(context)).base
    prompt, owner = pair.law.first, owned_by("bare", context.home.root, build.target_id)
    try:
        used = use_archive(
            engine, image, archive, pair.target, prompt=prompt, count=TOKENS, label=build.label, owner=owner
        )
    except ArchiveProblem as problem:
        return GateResult(gate=gate, verdict=Verdict.FAIL, reason=problem.message)
    except SpeedforkError as problem:
        return GateResult(gate=gate, verdict=Verdict.UNPROVEN, reason=problem.message)
    return GateResult(
        gate=gate,
        verdict=Verdict.PASS if len(used.tokens) == TOKENS else Verdict.FAIL,
        reason=f"{archive.name} on {BARE if bare else image}: {used.version}; {len(used.tokens)} of {TOKENS} tokens",
        evidence={"version": used.version, "image": image, "n_compared": len(used.tokens), "n_expected": TOKENS},
    )


STAGE = Stage(name="audit", about="the archives judged, and used on a bare system", value=Audited, plan=plan, run=run)
