"""Is the speed build faster than stock, on this machine, in randomised pairs?"""

from ci.machine import fingerprint
from ci.outcome import JsonMap
from ci.stage import Context, Stage, StageResult
from ci.stages.prove import Suite, evidence_path, run_suite
from ci.stages.values import Built, Measured, Shelved

SUITE = Suite(
    name="throughput",
    folder="tests/suites/throughput",
    sources=(
        "ci/throughput/*.py",
        "ci/stages/bench.py",
        "ci/llama/*.py",
        "ci/config/scenarios.toml",
        "ci/models/*.py",
        "tests/suites/*.py",
        "tests/suites/throughput/*.py",
    ),
)


def plan(context: Context) -> JsonMap:
    """As for parity, and the machine: a figure belongs to the machine it was taken on."""
    built = context.value(Built)
    return {
        "stock": built.stock_digest,
        "speed": built.speed_digest,
        "models": dict(context.value(Shelved).digests),
        "profile": context.options.profile,
        "suite": SUITE.code_digest(context.home.checkout),
        "machine": fingerprint(),
    }


def run(context: Context) -> StageResult:
    """Run the suite."""
    built, profile = context.value(Built), context.options.profile
    evidence = evidence_path(context.home, SUITE, built.stock_digest, built.speed_digest, profile)
    gates = run_suite(
        SUITE,
        home=context.home,
        console=context.console,
        stock=built.stock,
        speed=built.speed,
        profile=profile,
        evidence=evidence,
    )
    made = (evidence,) if evidence.is_file() else ()
    return StageResult(value=Measured(evidence=evidence), gates=gates, made=made)


STAGE = Stage(name="throughput", about="paired against stock", value=Measured, plan=plan, run=run)
