"""The main job: a tuple of stages and the one runner that does skipping, timing and progress.

When a record with a stage's inputs exists and its files still match, the stage is not run again: so a run killed
at any point continues where it stopped.
"""

import time
from collections.abc import Sequence

from ci.digest import digest_json
from ci.errors import UsageProblem
from ci.records import find_record, write_record
from ci.stage import Context, Outcome, Stage, Status
from ci.stages import build, models, package, parity, rebase, release, sync, throughput

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


def run_pipeline(
    stages: Sequence[Stage], context: Context, *, redo_from: str | None = None, only: str | None = None
) -> Context:
    """Run the stages in order, each once per content of its inputs.

    Args:
        stages: the pipeline.
        context: home, console and options.
        redo_from: run this stage and all after it again, records or not.
        only: run this one stage; the ones before it must have valid records.

    Raises:
        UsageProblem: an unknown stage name, or `only` where an earlier stage has no record.
        SpeedforkError: whatever a stage raises; the records of the finished stages are kept.
    """
    names = [stage.name for stage in stages]
    for asked in (redo_from, only):
        if asked is not None and asked not in names:
            raise UsageProblem(
                f"unknown stage {asked!r}; stages are: {', '.join(names)}", hint="invoke pipeline --help"
            )
    for stage in stages:
        redo = redo_from is not None and names.index(stage.name) >= names.index(redo_from)
        context = _advance(stage, context, redo=redo or stage.name == only, only=only)
        if stage.name == only:
            break
    return context


def preview(stages: Sequence[Stage], context: Context) -> tuple[tuple[str, str], ...]:
    """For `--dry-run`: what each stage would do, without doing it. Pairs of stage name and words."""
    rows: list[tuple[str, str]] = []
    for stage in stages:
        kept = None if rows and rows[-1][1] != "skip" else find_record(stage, context)
        rows.append((stage.name, "skip" if kept else "run"))
        if kept:
            context = context.after(*kept)
    return tuple(rows)


def _advance(stage: Stage, context: Context, *, redo: bool, only: str | None) -> Context:
    kept = None if redo else find_record(stage, context)
    if kept:
        return context.after(*kept)
    if only is not None and stage.name != only:
        raise UsageProblem(
            f"stage {only!r} needs {stage.name!r}, which has no valid record for these inputs",
            hint="invoke pipeline  (without --only)",
        )
    context.console.say(f"== {stage.name}: {stage.about}", style="bold")
    inputs = stage.plan(context)
    started = time.monotonic()
    result = stage.run(context)
    outcome = Outcome(
        stage=stage.name,
        status=Status.DONE,
        seconds=time.monotonic() - started,
        gates=result.gates,
        made=result.made,
        inputs_digest=digest_json(inputs),
    )
    write_record(context.home, outcome, inputs, result)
    return context.after(outcome, result.value)
