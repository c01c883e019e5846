"""The main job: a tuple of stages and the one runner that does skipping, timing and progress.

When a record with a stage's inputs exists and its files still match, the stage is not run again: so a run killed
at any point continues where it stopped.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ci.config import Model
from ci.digest import digest_json
from ci.errors import SpeedforkError, UsageProblem
from ci.records import find_record, write_record
from ci.stage import Context, Outcome, Stage, Status
from ci.stages import archive, audit, build, models, package, parity, rebase, release, sync, throughput

STAGES = (
    sync.STAGE,
    models.STAGE,
    rebase.STAGE,
    build.STAGE,
    parity.STAGE,
    throughput.STAGE,
    package.STAGE,
    release.STAGE,
)
UP_TO_BUILD = STAGES[: STAGES.index(build.STAGE) + 1]
"""What has to be done before anything can be run."""
IN_CONTAINERS = (sync.STAGE, rebase.STAGE, build.STAGE, archive.STAGE, archive.COMPANION, audit.STAGE)
"""What a target of a lane goes through: no card is needed for it."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Which stages to run again or alone.

    Attributes:
        redo_from: run this stage and all after it again, records or not.
        only: run this one stage; the ones before it must have valid records.
    """

    redo_from: str | None = None
    only: str | None = None


def run_pipeline(
    stages: Sequence[Stage],
    context: Context,
    asked: Asked = Asked(),
    *,
    on_outcome: Callable[[Outcome], None] = lambda _: None,
) -> Context:
    """Run the stages in order, each once per content of its inputs.

    Args:
        stages: the pipeline.
        context: home, console and options.
        asked: what to do again, or alone.
        on_outcome: hears how each stage ended, the one that failed included.

    Raises:
        UsageProblem: an unknown stage name, or `only` where an earlier stage has no record.
        SpeedforkError: whatever a stage raises; the records of the finished stages are kept.
    """
    for stage, redo in schedule(stages, asked):
        kept = None if redo else find_record(stage, context)
        if kept is None and asked.only not in (None, stage.name):
            raise _needs(asked.only, stage)
        outcome, value = kept or _worked(stage, context, on_outcome)
        on_outcome(outcome)
        context = context.after(outcome, value)
    return context


def schedule(stages: Sequence[Stage], asked: Asked) -> tuple[tuple[Stage, bool], ...]:
    """The stages to go through, and whether each is to run whatever the records say.

    Raises:
        UsageProblem: an unknown stage name.
    """
    if asked.redo_from and asked.only:
        raise UsageProblem("--from and --only exclude each other", hint="invoke pipeline --help")
    names = [stage.name for stage in stages]
    for name in (asked.redo_from, asked.only):
        if name is not None and name not in names:
            raise UsageProblem(
                f"unknown stage {name!r}; stages are: {', '.join(names)}", hint="invoke pipeline --help"
            )
    first = names.index(asked.redo_from) if asked.redo_from else len(names)
    last = names.index(asked.only) if asked.only else len(names) - 1
    return tuple((stage, i >= first or stage.name == asked.only) for i, stage in enumerate(stages[: last + 1]))


def preview(stages: Sequence[Stage], context: Context, asked: Asked = Asked()) -> tuple[tuple[str, str, str], ...]:
    """For `--dry-run`: what each stage would do and why, without doing it: stage, `run` or `keep`, reason.

    Raises:
        UsageProblem: as `run_pipeline` would.
    """
    rows: list[tuple[str, str, str]] = []
    for stage, redo in schedule(stages, asked):
        after = next((name for name, would, _ in rows if would == "run"), None)
        kept = None if redo or after else find_record(stage, context)
        if kept:
            context = context.after(*kept)
        elif asked.only not in (None, stage.name):
            raise _needs(asked.only, stage)
        reason = "asked for" if redo else f"after {after}" if after else "" if kept else "no record for these inputs"
        rows.append((stage.name, "keep" if kept else "run", reason))
    return tuple(rows)


def _needs(only: str | None, stage: Stage) -> UsageProblem:
    return UsageProblem(
        f"stage {only!r} needs {stage.name!r}, which has no valid record for these inputs",
        hint="invoke pipeline  (without --only)",
    )


def _worked(stage: Stage, context: Context, on_outcome: Callable[[Outcome], None]) -> tuple[Outcome, Model]:
    """Do a stage's work and leave its record; a failure is reported as an outcome before it goes on its way."""
    context.console.say(f"== {stage.name}: {stage.about}", style="bold")
    started = time.monotonic()
    try:
        inputs = stage.plan(context)
        result = stage.run(context)
    except SpeedforkError as problem:
        seconds = time.monotonic() - started
        on_outcome(Outcome(stage=stage.name, status=Status.ERROR, seconds=seconds, reason=problem.message))
        raise
    outcome = Outcome(
        stage=stage.name,
        status=Status.DONE,
        seconds=time.monotonic() - started,
        gates=result.gates,
        made=result.made,
        inputs_digest=digest_json(inputs),
    )
    write_record(context.home, outcome, inputs, result)
    return outcome, result.value
