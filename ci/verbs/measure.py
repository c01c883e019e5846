"""What each patch is worth, its switch off against on in one binary.

A speed patch is judged by time, on the scenarios that run its code; a repair of exactness by the law of its texts.
"""

from collections.abc import Iterator, Sequence

from ci.builds.store import Build, load_build
from ci.console import Console
from ci.errors import EXIT_OK, UsageProblem
from ci.files import write_json
from ci.home import Home
from ci.llama.spec import plans_exercising
from ci.machine import fingerprint
from ci.outcome import GateResult, JsonMap, combine, exit_code_of
from ci.series.order import load_series
from ci.series.patch import Patch
from ci.series.trailers import Feature
from ci.stages.bench import measure_patch
from ci.stages.law_bench import measure_repair
from ci.throughput.protocol import Progress
from ci.throughput.verdict import gate_of
from ci.verbs.pipeline import Request, check_profile, current_builds

Row = tuple[Patch, GateResult]

SPEED_HEADINGS = ("patch", "scenario", "verdict", "off against on")
LAW_HEADINGS = ("patch", "seeds", "switch off", "switch on", "verdict")


def switches(home: Home, console: Console, *, patch: str, profile: str) -> int:
    """Measure one patch, or every patch with a switch; figures go to `out/`.

    Raises:
        UsageProblem: no such patch, or it has no switch.
    """
    check_profile(profile)
    chosen = choose(load_series(home.patches).patches, patch)
    check_scenarios(chosen)
    speed = load_build(current_builds(home, console, Request()).speed)
    rows = [(one, gate) for one in chosen for gate in measured(home, console, speed, one, profile)]
    show(home, console, rows, profile)
    return exit_code_of(combine(gate.verdict for _, gate in rows)) if rows else EXIT_OK


def choose(patches: Sequence[Patch], name: str) -> tuple[Patch, ...]:
    """The named patch, or all that have a switch."""
    if not name:
        return tuple(p for p in patches if p.trailers.switch)
    found = next((p for p in patches if p.id == name), None)
    known = ", ".join(p.id for p in patches)
    if found is None:
        raise UsageProblem(f"no patch {name!r} in the series", hint=f"--patch one of: {known}")
    if not found.trailers.switch:
        raise UsageProblem(f"patch {name!r} has no Speed-Switch", hint="measure whole builds: invoke throughput")
    return (found,)


def check_scenarios(patches: Sequence[Patch]) -> None:
    """Find a patch that cannot be measured before the others are.

    Raises:
        UsageProblem: no scenario runs its code.
    """
    for patch in patches:
        if not is_repair(patch) and not plans_exercising(patch.id):
            raise UsageProblem(
                f"no scenario exercises patch {patch.id!r}", hint="name it in `exercises` of ci/config/scenarios.toml"
            )


def is_repair(patch: Patch) -> bool:
    """Whether a patch promises exactness: it is judged by its law, not by its time."""
    return patch.trailers.feature is Feature.EXACTNESS


def measured(home: Home, console: Console, speed: Build, patch: Patch, profile: str) -> tuple[GateResult, ...]:
    """The gates of a patch: one for a repair, else one per scenario that exercises it."""
    gates = repair_gates if is_repair(patch) else speed_gates
    with console.task(f"{patch.id}: {patch.trailers.switch} off against on") as task:
        return gates(home, speed, patch, profile, task.update)


def repair_gates(home: Home, speed: Build, patch: Patch, profile: str, progress: Progress) -> tuple[GateResult, ...]:
    """The gate of a repair of exactness."""
    return (measure_repair(home, speed, switch=str(patch.trailers.switch), profile=profile, progress=progress),)


def speed_gates(home: Home, speed: Build, patch: Patch, profile: str, progress: Progress) -> tuple[GateResult, ...]:
    """A gate per scenario that exercises a speed patch."""
    switch = str(patch.trailers.switch)
    results = measure_patch(home, speed, patch_id=patch.id, switch=switch, profile=profile, progress=progress)
    return tuple(gate_of(result) for result in results)


def show(home: Home, console: Console, rows: Sequence[Row], profile: str) -> None:
    """Tables, a file with every figure, and the machine's document."""
    document = {
        "profile": profile,
        "machine": fingerprint(),
        "patches": [{"patch": patch.id, **gate.to_json()} for patch, gate in rows],
    }
    path = home.out / f"switches-{profile}.json"
    write_json(path, document)
    show_speed(console, [row for row in rows if not is_repair(row[0])])
    show_law(console, [row for row in rows if is_repair(row[0])])
    console.result(f"figures: {path}")
    console.document(document)


def show_speed(console: Console, rows: Sequence[Row]) -> None:
    """The table of speed patches."""
    if rows:
        lines = [(patch.id, gate.gate, gate.verdict.value, gate.reason) for patch, gate in rows]
        console.table(SPEED_HEADINGS, lines)


def show_law(console: Console, rows: Sequence[Row]) -> None:
    """The table of repairs, a line per seed set, and what follows from all sets of a patch."""
    if rows:
        console.table(LAW_HEADINGS, [line for patch, gate in rows for line in law_lines(patch, gate)])
    for patch, gate in rows:
        console.result(f"{patch.id}: {gate.verdict.value}: {gate.reason}")


def law_lines(patch: Patch, gate: GateResult) -> Iterator[tuple[str, ...]]:
    """A line per seed set that was measured; none when a server failed."""
    for one in gate.evidence.get("seed_sets", ()):
        yield patch.id, f"{one['seed']}..", arm_words(one["off"]), arm_words(one["on"]), one["verdict"]


def arm_words(arm: JsonMap) -> str:
    """The figures of one arm that a person asks for."""
    return f"p {figure(arm['p'], '.3g')}, acceptance {figure(arm['acceptance'], '.4f')}"


def figure(value: float | None, spec: str) -> str:
    """A figure, or a word for one that does not exist."""
    return "unknown" if value is None else format(value, spec)
