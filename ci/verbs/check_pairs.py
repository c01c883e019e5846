"""check-pairs: exact pairs in a real llama-server, law and draft counters beside their closed forms."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from ci.builds.store import Build, Variant, load_build
from ci.console import Console
from ci.errors import UsageProblem
from ci.files import write_json
from ci.home import Home
from ci.machine import fingerprint
from ci.models.exact_pair import PAIRS
from ci.outcome import GateResult, JsonMap, combine, exit_code_of
from ci.parity.pair_figures import MODES
from ci.stages.pair_bench import Job, all_jobs, check_pairs
from ci.suggest import did_you_mean
from ci.verbs.pipeline import Request, check_profile, current_builds

HEADINGS = (
    "pair",
    "mode",
    "T",
    "tokens",
    "p of G",
    "z Q/P",
    "z argmax Q",
    "accepted, expected",
    "mean length, expected",
    "as plain",
    "counters",
    "verdict",
)
VARIANTS: dict[str, Variant] = {"stock": "stock", "speed": "speed"}
NOTHING = (
    "nothing to measure: sampled drafts on the hybrid pair are a known defect of stock, and measured on speed only"
)

Choice = TypeVar("Choice")
Rows = Sequence[tuple[Job, GateResult]]


def check(
    home: Home, console: Console, *, pairs: Sequence[str], modes: Sequence[str], build: str, profile: str
) -> int:
    """Measure, print a table, write every figure to `out/`; the exit code is the verdict's.

    Args:
        home: for builds, pairs and logs.
        console: where to print.
        pairs: names of exact pairs; all when empty.
        modes: names of ways to draft; all when empty.
        build: `stock` or `speed`, the current one.
        profile: `quick` or `full`.

    Raises:
        UsageProblem: no such pair, mode, build or profile; or nothing is left to measure.
    """
    check_profile(profile)
    specs, drafting = chosen("pair", PAIRS, pairs), chosen("mode", MODES, modes)
    variant = chosen("build", VARIANTS, [build])[0]
    jobs = all_jobs(specs, drafting, profile=profile, variant=variant)
    if not jobs:
        raise UsageProblem(NOTHING, hint="invoke check-pairs --build speed")
    server = current_build(home, console, variant)
    with console.task(f"{len(jobs)} rows on {server.label}") as task:
        rows = list(check_pairs(home, server, jobs, task.update))
    show(home, console, server, rows, profile)
    return exit_code_of(combine(gate.verdict for _, gate in rows))


def chosen(what: str, known: Mapping[str, Choice], names: Sequence[str]) -> tuple[Choice, ...]:
    """The named ones in their own order, or all.

    Raises:
        UsageProblem: one of the names is unknown.
    """
    unknown = [name for name in names if name not in known]
    if unknown:
        guess = did_you_mean(unknown[0], known)
        raise UsageProblem(f"no {what} {unknown[0]!r}{guess}", hint=f"--{what} one of: {', '.join(known)}")
    return tuple(value for name, value in known.items() if not names or name in names)


def current_build(home: Home, console: Console, variant: Variant) -> Build:
    """The current stock or speed build, built when it is not in the store."""
    built = current_builds(home, console, Request())
    return load_build(built.stock if variant == "stock" else built.speed)


def show(home: Home, console: Console, build: Build, rows: Rows, profile: str) -> None:
    """The table, what is wrong or unproven below it, a file with every figure, and the machine's document."""
    document = {
        "build": build.label,
        "profile": profile,
        "machine": fingerprint(),
        "rows": [{**described(job), **gate.to_json()} for job, gate in rows],
    }
    path = home.out / f"pairs-{build.variant}-{profile}.json"
    write_json(path, document)
    console.table(HEADINGS, [row_of(job, gate) for job, gate in rows], title=f"exact pairs on {build.label}")
    for _, gate in rows:
        if gate.verdict.value != "PASS":
            console.result(f"{gate.gate}: {gate.verdict.value}: {gate.reason}")
    console.result(f"figures: {path}")
    console.result(f"check_pairs={combine(gate.verdict for _, gate in rows).value}")
    console.document(document)


def described(job: Job) -> dict[str, str | float | int]:
    """A job, for a machine."""
    return {
        "pair": job.spec.name,
        "mode": job.mode.name,
        "temperature": job.temperature,
        "seed": job.seed,
        "requests": job.requests,
        "n_predict": job.n_predict,
    }


def row_of(job: Job, gate: GateResult) -> tuple[str, ...]:
    """One line of the table; what does not exist is a dash."""
    seen = gate.evidence
    return (
        job.spec.name,
        job.mode.name,
        f"{job.temperature:g}",
        str(seen.get("transitions", "-")),
        figure(seen.get("p"), ".3g"),
        figure(seen.get("z_direction"), ".2f"),
        figure(seen.get("z_argmax"), ".2f"),
        beside(seen, "acceptance", ".4f"),
        beside(seen, "mean_length", ".3f") if job.mode.spec_type else "-",
        share(seen, "texts_as_plain", "texts_compared"),
        share(seen, "counters_exact", "texts"),
        gate.verdict.value,
    )


def figure(value: float | None, spec: str) -> str:
    """A figure, or a dash for one that does not exist."""
    return "-" if value is None else format(value, spec)


def beside(seen: JsonMap, name: str, spec: str) -> str:
    """Measured and expected."""
    return f"{figure(seen.get(name), spec)}, {figure(seen.get(f'expected_{name}'), spec)}"


def share(seen: JsonMap, name: str, of: str) -> str:
    """How many of how many."""
    return "-" if seen.get(name) is None or not seen.get(of) else f"{seen[name]}/{seen[of]}"
