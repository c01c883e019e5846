import dataclasses

import pytest

from ci.outcome import Verdict
from ci.parity.identity import Side, judge_two_builds

FILES = {"llama-server": "s" * 64, "libllama.so.0": "1" * 64, "LICENSE": "0" * 64}
MAKING = {"tag": "b2", "compiler": "c++ 12", "option GGML_AVX": "ON"}
STOCK = Side(variant="stock", label="b2", making=MAKING, files=FILES, build_info="b2-b2")
SPEED = Side(
    variant="speed",
    label="b2-speed.1",
    making=MAKING,
    files={**FILES, "libllama.so.0": "2" * 64},
    build_info="b2-b2-speed.1",
)


def test_two_builds_pass_and_name_what_differs() -> None:
    result = judge_two_builds(STOCK, SPEED)
    assert result.verdict is Verdict.PASS
    assert result.evidence["changed_files"] == ["libllama.so.0"]


@pytest.mark.parametrize(
    ("speed", "words"),
    [
        (STOCK, "expected a stock and a speed build, found stock and stock"),
        (dataclasses.replace(SPEED, files=FILES), "hold the same server files"),
        (dataclasses.replace(SPEED, files={**FILES, "LICENSE": "3" * 64}), "hold the same server files"),
        (dataclasses.replace(SPEED, build_info=STOCK.build_info), "both servers report 'b2-b2'"),
        (dataclasses.replace(SPEED, label="b2"), "both builds carry the label 'b2'"),
        (dataclasses.replace(SPEED, making={**MAKING, "tag": "b3"}), "not made alike: tag is 'b2' and 'b3'"),
        (
            dataclasses.replace(SPEED, making={**MAKING, "compiler": "c++ 14", "option GGML_AVX": "OFF"}),
            "not made alike: compiler is 'c++ 12' and 'c++ 14'; option GGML_AVX is 'ON' and 'OFF'",
        ),
    ],
)
def test_the_same_build_twice_or_builds_made_otherwise_prove_nothing(speed: Side, words: str) -> None:
    result = judge_two_builds(STOCK, speed)
    assert result.verdict is Verdict.UNPROVEN
    assert words in result.reason
