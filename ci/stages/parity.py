"""Do both builds say the same, token for token?"""

from ci.outcome import JsonMap
from ci.stage import Context, Stage, StageResult
from ci.stages.prove import Suite, evidence_path, run_suite
from ci.stages.values import Built, Paritied, Shelved

SUITE = Suite(
    name="parity",
    folder="tests/suites/parity",
    sources=(
        "ci/parity/*.py",
        "ci/llama/*.py",
        "ci/law.py",
        "ci/acceptance.py",
        "ci/config/scenarios.toml",
        "ci/models/*.py",
        "tests/suites/*.py",
        "tests/suites/parity/*.py",
    ),
)


def plan(context: Context) -> JsonMap:
    """Both builds' content, the models, the profile and the suite's own sources."""
    built = context.value(Built)
    return {
        "stock": built.stock_digest,
        "speed": built.speed_digest,
        "models": dict(context.value(Shelved).digests),
        "profile": context.options.profile,
        "suite": SUITE.code_digest(context.home.checkout),
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
    return StageResult(value=Paritied(evidence=evidence), gates=gates, made=made)


STAGE = Stage(name="parity", about="the same tokens as stock", value=Paritied, plan=plan, run=run)
