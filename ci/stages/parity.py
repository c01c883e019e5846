"""Do both builds say the same, token for token?"""

from ci.stages.prove import Suite, suite_stage
from ci.stages.values import ParityProof

SUITE = Suite(
    name="parity",
    folder="tests/suites/parity",
    sources=(
        "ci/parity/*.py",
        "ci/llama/*.py",
        "ci/builds/alike.py",
        "ci/law.py",
        "ci/models/*.py",
        "tests/suites/*.py",
        "tests/suites/parity/*.py",
    ),
)

STAGE = suite_stage(SUITE, "the same tokens as stock", ParityProof)
