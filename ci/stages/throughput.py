"""Is the speed build faster than stock, on this machine, in randomised pairs?"""

from ci.machine import fingerprint
from ci.outcome import JsonMap
from ci.stages.prove import Suite, suite_stage
from ci.stages.values import ThroughputProof

SUITE = Suite(
    name="throughput",
    folder="tests/suites/throughput",
    sources=(
        "ci/throughput/*.py",
        "ci/stages/bench.py",
        "ci/llama/*.py",
        "ci/builds/alike.py",
        "ci/models/*.py",
        "ci/config/scenarios.toml",
        "tests/suites/*.py",
        "tests/suites/throughput/*.py",
    ),
)


def this_machine() -> JsonMap:
    """A figure belongs to the machine that it was taken on."""
    return {"machine": fingerprint()}


STAGE = suite_stage(SUITE, "paired against stock", ThroughputProof, more=this_machine)
