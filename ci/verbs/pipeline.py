"""The main job and its parts: pipeline, build, parity, throughput."""

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.builds.compiler import check_compiler, find_toolchain, job_count, usable_cpus, usable_memory
from ci.builds.contained import deadline_of
from ci.builds.engine import Engine
from ci.builds.store import load_build
from ci.builds.target import Target, find_target
from ci.builds.toolchain.image import ensure_toolchain
from ci.console import Console
from ci.errors import EXIT_OK, EnvironmentProblem, SpeedforkError, UsageProblem
from ci.files import exclusive, require_free_space, require_writable
from ci.home import Home
from ci.models.lock import load_models
from ci.outcome import GateResult, Verdict, combine, exit_code_of
from ci.pipeline import IN_CONTAINERS, STAGES, UP_TO_BUILD, Asked, preview, run_pipeline
from ci.report.words import duration
from ci.stage import Context, Options, Outcome, Stage, Status
from ci.stages import models, parity, throughput
from ci.stages.build import environ_of
from ci.stages.prove import Suite, run_suite
from ci.stages.sync import wanted
from ci.stages.values import Archived, Built, Released

PROFILES = ("quick", "full")
NEEDED_BYTES = 4_000_000_000
"""History, downloads, models, one build tree, compiler cache, two builds and a release folder, measured 3.1 GB."""
SUITES = {suite.name: suite for suite in (parity.SUITE, throughput.SUITE)}


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asked the pipeline for; empty strings mean the default."""

    onto: str = ""
    profile: str = "quick"
    target: str = "cpu"
    lane: str = ""
    redo_from: str = ""
    only: str = ""
    jobs: str = ""
    dry_run: bool = False

    @property
    def options(self) -> Options:
        """The part that stages see."""
        return Options(
            onto=self.onto or None, profile=self.profile, target=self.target, lane=self.lane, jobs=self.jobs
        )


def run(home: Home, console: Console, request: Request, stages: Sequence[Stage] = STAGES) -> int:
    """Run the pipeline and print the table; the exit code is that of the worst verdict."""
    context = Context(home=home, console=console, options=request.options)
    asked = Asked(redo_from=request.redo_from or None, only=request.only or None)
    preflight(context, request)
    planned = preview(stages, context, asked)
    if request.dry_run:
        return show_preview(console, planned)
    if any(would == "run" for _, would, _ in planned):
        require_free_space(home.root, NEEDED_BYTES, what="the pipeline")
    outcomes: list[Outcome] = []
    with exclusive(home.lock):
        try:
            context = run_pipeline(stages, context, asked, on_outcome=outcomes.append)
        except SpeedforkError as problem:
            if outcomes:
                problem.facts["stages"] = [outcome.to_json() for outcome in outcomes]
            show_table(console, outcomes)
            raise
    show_outcomes(context)
    verdict = verdict_of(context.outcomes)
    return exit_code_of(verdict) if verdict else EXIT_OK


def preflight(context: Context, request: Request) -> None:
    """Find errors before the long work: options, series, aim, compiler, disk.

    Raises:
        SpeedforkError: one error as it is, several as one that lists them all (EnvironmentProblem when all are).
    """
    checks: tuple[Callable[[], object], ...] = (
        lambda: check_profile(request.profile),
        lambda: require_writable(context.home.root),
        lambda: job_count(environ_of(request.options), cpus=usable_cpus(), memory=usable_memory()),
        load_models,
        lambda: check_aim(context),
        lambda: try_compiler(find_target(request.target, lane=request.lane)),
    )
    problems: list[SpeedforkError] = []
    for check in checks:
        try:
            check()
        except SpeedforkError as problem:
            problems.append(problem)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        kind = EnvironmentProblem if all(isinstance(p, EnvironmentProblem) for p in problems) else UsageProblem
        listed = "".join(f"\n  - {problem.message}\n    next: {problem.hint}" for problem in problems)
        raise kind(f"{len(problems)} problems:{listed}", hint="mend them, then run the command again")


def try_compiler(target: Target) -> None:
    """Compile a line, or ask for the engine; leaves nothing behind, so a dry run may do it."""
    if target.lane:
        with Engine.connect():
            return
    with tempfile.TemporaryDirectory() as scratch:
        check_compiler(find_toolchain(os.environ), os.environ, Path(scratch))


def check_profile(profile: str) -> None:
    """Refuse an unknown profile."""
    if profile not in PROFILES:
        raise UsageProblem(f"profile {profile!r} is not one of {', '.join(PROFILES)}", hint="--profile quick")


def check_aim(context: Context) -> None:
    """Refuse a broken series, an unknown build, and a base newer than the aim."""
    base, onto = wanted(context)
    if base.tag > onto:
        raise UsageProblem(
            f"base {base.tag} of the series is newer than the aim {onto}",
            hint=f"choose {base.tag} or a newer build: invoke upstream",
        )


def show_preview(console: Console, rows: Sequence[tuple[str, str, str]]) -> int:
    """What would run and why; nothing is changed."""
    console.table(("stage", "would", "because"), rows, title="dry run: nothing was changed")
    console.document({"dry_run": [{"stage": name, "would": would, "because": why} for name, would, why in rows]})
    return EXIT_OK


def show_outcomes(context: Context) -> None:
    """The table at the end, where the products are, and the machine's document."""
    console = context.console
    show_table(console, context.outcomes)
    for value in context.values:
        if isinstance(value, Released):
            console.result(f"{value.headline}\n{value.folder}/report.html")
        elif isinstance(value, Archived):
            console.result("\n".join(str(value.folder / name) for name in value.archives))
        elif isinstance(value, Built):
            console.result(f"stock: {value.stock}\nspeed: {value.speed}")
    console.document(
        {
            "stages": [outcome.to_json() for outcome in context.outcomes],
            "values": {type(value).__name__.lower(): value.model_dump(mode="json") for value in context.values},
        }
    )


def show_table(console: Console, outcomes: Sequence[Outcome]) -> None:
    """How each stage ended, and every gate that is not PASS."""
    console.table(("stage", "outcome", "verdict", "time", "made"), [outcome_row(outcome) for outcome in outcomes])
    for outcome in outcomes:
        for gate in outcome.gates:
            if gate.verdict is not Verdict.PASS:
                console.say(f"{gate.verdict} {outcome.stage}/{gate.gate}: {gate.reason}", style="yellow")


def outcome_row(outcome: Outcome) -> tuple[str, str, str, str, str]:
    """One line of the table; a kept stage shows the time its work once took, in brackets."""
    spent = duration(outcome.seconds)
    return (
        outcome.stage,
        outcome.status.value,
        outcome.verdict.value if outcome.verdict else "",
        f"({spent})" if outcome.status is Status.KEPT else spent,
        made_words(outcome.made),
    )


def made_words(made: Sequence[Path]) -> str:
    """A few words on files: their number and folder, or the one name."""
    if not made:
        return ""
    if len(made) == 1:
        return made[0].name
    folders = {path.parent for path in made}
    where = made[0].parent.name if len(folders) == 1 else f"{len(folders)} folders"
    return f"{len(made)} files in {where}"


def verdict_of(outcomes: Sequence[Outcome]) -> Verdict | None:
    """The worst verdict, or None when no stage had gates."""
    verdicts = [outcome.verdict for outcome in outcomes if outcome.verdict]
    return combine(verdicts) if verdicts else None


def build(home: Home, console: Console, request: Request) -> int:
    """Stock and speed, and the stages they need; for a target of a lane also their archives, audited."""
    target = find_target(request.target, lane=request.lane)
    if target.lane is None:
        return run(home, console, request, UP_TO_BUILD)
    deadline_of(environ_of(request.options))
    with Engine.connect() as engine, exclusive(home.lock):
        ensure_toolchain(engine, target.lane, home, console)
    return run(home, console, request, IN_CONTAINERS)


def current_builds(home: Home, console: Console, request: Request) -> Built:
    """The current stock and speed builds, built when they are not in the store."""
    context = Context(home=home, console=console, options=request.options)
    preflight(context, request)
    with exclusive(home.lock):
        return run_pipeline(UP_TO_BUILD, context).value(Built)


def prove(home: Home, console: Console, suite_name: str, stock: str, speed: str, profile: str) -> int:
    """Run one suite on two builds, by default the current ones; evidence goes to `out/`."""
    suite = SUITES[suite_name]
    check_profile(profile)
    if bool(stock) != bool(speed):
        raise UsageProblem(
            "give both --stock DIR and --speed DIR, or neither", hint=f"invoke {suite_name} --stock DIR --speed DIR"
        )
    if stock:
        sides = (Path(stock).resolve(), Path(speed).resolve())
    else:
        built = current_builds(home, console, Request(profile=profile))
        sides = (built.stock, built.speed)
    with exclusive(home.lock):
        gates, evidence = prove_pair(home, console, suite, sides, profile)
    show_gates(console, suite, gates, evidence)
    return exit_code_of(combine(gate.verdict for gate in gates))


def prove_pair(
    home: Home, console: Console, suite: Suite, sides: tuple[Path, Path], profile: str
) -> tuple[tuple[GateResult, ...], Path]:
    """The suite's gates on two build folders that were checked first, and its evidence file."""
    for side in sides:
        load_build(side, check=True)
    context = Context(home=home, console=console, options=Options(profile=profile))
    for entry in models.used().values():
        models.ensure(context, entry)
    evidence = home.out / f"{suite.name}-{profile}.json"
    evidence.parent.mkdir(parents=True, exist_ok=True)
    gates = run_suite(
        suite, home=home, console=console, stock=sides[0], speed=sides[1], profile=profile, evidence=evidence
    )
    return gates, evidence


def show_gates(console: Console, suite: Suite, gates: Sequence[GateResult], evidence: Path) -> None:
    """A table of gates, and the machine's document."""
    rows = [(gate.gate, gate.verdict.value, gate.reason) for gate in gates]
    console.table(("gate", "verdict", "reason"), rows, title=suite.name)
    console.result(f"evidence: {evidence}")
    console.document({"suite": suite.name, "gates": [gate.to_json() for gate in gates], "evidence": str(evidence)})
