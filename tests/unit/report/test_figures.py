"""The report reads what the gates of `ci.throughput` and `ci.parity` really write."""

import math
from pathlib import Path

import pytest

from ci.config import parse
from ci.outcome import GateResult
from ci.parity.greedy import Comparison, Text, judge
from ci.parity.policy import BITWISE
from ci.release.manifest import SuiteEvidence
from ci.report.figures import ScenarioFigure, scenario_figures
from ci.report.summary import REAL_GATE, summarise
from ci.throughput.pairing import Turn
from ci.throughput.policy import POLICIES
from ci.throughput.samples import Pair, Sample, Side
from ci.throughput.stats import interval
from ci.throughput.verdict import Decision, Measured, gate_of
from tests.helpers import releases


def sample(ms_per_token: float, drafted: int = 0) -> Sample:
    return Sample(
        tokens=(1, 2, 3, 4),
        ms_per_token=ms_per_token,
        wall_ms_per_token=ms_per_token,
        cpu_ms_per_token=ms_per_token,
        elapsed_ms_per_token=ms_per_token,
        rounds=2,
        draft_n=drafted,
        draft_n_accepted=drafted // 2,
    )


def measured(*, pairs: int = 8, refused: bool = False, drafted: int = 0) -> GateResult:
    sides = (
        Side(name="stock", build=Path("stock"), digest=releases.STOCK_DIGEST, label="b11434"),
        Side(name="speed", build=Path("speed"), digest=releases.SPEED_DIGEST, label=releases.RELEASE),
    )
    timed = tuple(
        Pair(
            turn=Turn(index=index, order="ab", prompt=f"p{index}", seed=index),
            a=sample(20.0, drafted),
            b=sample(16.0 + index / 100, drafted),
        )
        for index in range(pairs)
    )
    found = None if refused else interval([pair.log_ratio("cpu") for pair in timed], POLICIES["quick"].looks[0].alpha)
    return gate_of(
        Measured(
            scenario="large-plain",
            claims=True,
            sides=sides,
            build_infos=("b11434", releases.RELEASE),
            pairs=timed,
            clock="cpu",
            decision=Decision.UNDECIDED if refused else Decision.FASTER,
            interval=found,
            refusals=("one build served twice",) if refused else (),
            policy=POLICIES["quick"],
        )
    )


def read(gate: GateResult) -> tuple[ScenarioFigure, ...]:
    return scenario_figures(parse(SuiteEvidence, releases.suite("throughput", [gate.to_json()]), source="test"))


def test_a_measured_scenario_is_read() -> None:
    (figure,) = read(measured(drafted=6))
    assert figure.scenario == "large-plain"
    assert figure.claims
    assert figure.is_faster
    assert figure.pairs == 8
    assert figure.log_ratio == pytest.approx(math.log(20 / 16), abs=0.01)
    assert figure.confidence == pytest.approx(0.992)
    assert (figure.stock_rate, figure.acceptance, figure.tokens_per_round) == (50.0, 0.5, 2.0)
    assert figure.clock_words == "CPU time"


def test_a_scenario_without_drafts_has_no_acceptance() -> None:
    assert read(measured())[0].acceptance is None


def test_a_refused_scenario_is_no_figure() -> None:
    assert read(measured(refused=True)) == ()


def test_pairs_that_are_too_few_leave_the_interval_open() -> None:
    (figure,) = read(measured(pairs=2))
    assert (figure.low, figure.high) == (None, None)
    assert figure.interval == "none: too few pairs"


def test_the_parity_gate_gives_the_headline_its_amounts() -> None:
    texts = tuple(Text(prompt=f"p{index}", tokens=(1, 2, 3, 4), asked=4) for index in range(3))
    gate = judge(
        Comparison(gate=REAL_GATE, left=texts, right=texts, n_prompts=3, n_expected=12, tolerance=BITWISE, forks=())
    )
    parity = releases.suite("parity", [gate.to_json()])
    headline = summarise(releases.manifest([parity, releases.throughput()])).headline
    assert headline.startswith("Safe and faster: token-identical to stock on 12 tokens (3 real prompts x 4); ")
