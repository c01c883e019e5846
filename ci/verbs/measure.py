"""What each patch is worth: its switch off against on in one binary, on the scenarios that run its code."""

from collections.abc import Iterator, Sequence

from ci.builds.store import Build, load_build
from ci.console import Console
from ci.errors import EXIT_OK, UsageProblem
from ci.files import write_json
from ci.home import Home
from ci.machine import fingerprint
from ci.outcome import GateResult, combine, exit_code_of
from ci.series.order import load_series
from ci.series.patch import Patch
from ci.series.trailers import Feature
from ci.stages.bench import measure_patch
from ci.throughput.verdict import gate_of
from ci.verbs.pipeline import Request, check_profile, current_builds

Row = tuple[Patch, GateResult]


def switches(home: Home, console: Console, *, patch: str, profile: str) -> int:
    """Measure one patch, or every speed patch; figures go to `out/`.

    Raises:
        UsageProblem: no such patch, or it has no switch.
    """
    check_profile(profile)
    chosen = choose(load_series(home.patches).patches, patch)
    speed = load_build(current_builds(home, console, Request()).speed)
    rows = [row for one in chosen for row in measured(home, console, speed, one, profile)]
    show(home, console, rows, profile)
    return exit_code_of(combine(gate.verdict for _, gate in rows)) if rows else EXIT_OK


def choose(patches: Sequence[Patch], name: str) -> tuple[Patch, ...]:
    """The named patch, or all that promise speed: an exactness repair is judged by its law, not by its time."""
    if not name:
        return tuple(p for p in patches if p.trailers.switch and p.trailers.feature is not Feature.EXACTNESS)
    found = next((p for p in patches if p.id == name), None)
    known = ", ".join(p.id for p in patches)
    if found is None:
        raise UsageProblem(f"no patch {name!r} in the series", hint=f"--patch one of: {known}")
    if not found.trailers.switch:
        raise UsageProblem(f"patch {name!r} has no Speed-Switch", hint="measure whole builds: invoke throughput")
    return (found,)


def measured(home: Home, console: Console, speed: Build, patch: Patch, profile: str) -> Iterator[Row]:
    """A gate per scenario that exercises the patch; no scenario is an UNPROVEN one by `combine`'s rule."""
    switch = str(patch.trailers.switch)
    with console.task(f"{patch.id}: {switch} off against on") as task:
        results = tuple(
            measure_patch(home, speed, patch_id=patch.id, switch=switch, profile=profile, progress=task.update)
        )
    if not results:
        raise UsageProblem(
            f"no scenario exercises patch {patch.id!r}", hint="name it in `exercises` of ci/config/scenarios.toml"
        )
    yield from ((patch, gate_of(result)) for result in results)


def show(home: Home, console: Console, rows: Sequence[Row], profile: str) -> None:
    """A table, a file with every figure, and the machine's document."""
    document = {
        "profile": profile,
        "machine": fingerprint(),
        "patches": [{"patch": patch.id, **gate.to_json()} for patch, gate in rows],
    }
    path = home.out / f"switches-{profile}.json"
    write_json(path, document)
    console.table(
        ("patch", "scenario", "verdict", "off against on"),
        [(patch.id, gate.gate, gate.verdict.value, gate.reason) for patch, gate in rows],
    )
    console.result(f"figures: {path}")
    console.document(document)
