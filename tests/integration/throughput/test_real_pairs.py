"""The protocol on real builds and a small exact pair: what may be said is asserted, never how fast anything is."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from ci.builds.store import Build
from ci.home import Home
from ci.llama.server import LlamaServer
from ci.llama.spec import Plan, Scenario
from ci.models.exact_pair import SMALL, Pair, ensure_pair
from ci.outcome import Verdict
from ci.throughput.pairing import id_prompts
from ci.throughput.policy import POLICIES, Look
from ci.throughput.protocol import measure
from ci.throughput.samples import Side
from ci.throughput.verdict import Decision, Measured, figures_of, gate_of

pytestmark = pytest.mark.native

PLAN = Plan(pair="SMALL", n_predict=96, clock="cpu", claims=True, why="test")
POLICY = replace(POLICIES["quick"], looks=(Look(pairs=8, alpha=0.004),))

Measure = Callable[..., Measured]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    root = tmp_path_factory.mktemp("models")
    return ensure_pair(Home(root=root, checkout=root), SMALL)


@pytest.fixture
def run(pair: Pair, tmp_path: Path) -> Measure:
    def start(side: Side, scenario: Scenario) -> AbstractContextManager[LlamaServer]:
        return LlamaServer.start(
            side.build, scenario, log_dir=tmp_path / side.name, env=side.env, expect_build=side.label
        )

    def measured(a: Side, b: Side, *, drafted: bool = False) -> Measured:
        plan = PLAN.model_copy(update={"spec_type": "draft-dspark", "n_max": 7} if drafted else {})
        scenario = plan.scenario("small", pair.target, pair.draft)
        prompts = id_prompts(8, first=SMALL.first, states=SMALL.n_state, seed=4)
        return measure(scenario, plan, a, b, start=start, prompts=prompts, policy=POLICY, seed=4)

    return measured


def side(build: Build, **env: str) -> Side:
    return Side(name=build.variant, build=build.path, digest=build.digest, label=build.label, env=env)


@pytest.mark.parametrize("drafted", [False, True], ids=["plain", "dspark"])
def test_stock_and_speed_do_the_same_work(
    stock_build: Build, speed_build: Build, run: Measure, *, drafted: bool
) -> None:
    result = run(side(stock_build), side(speed_build), drafted=drafted)
    figures = figures_of(result)
    assert (result.refusals, figures["same_work"], figures["n_pairs"]) == ((), 8, 8)
    assert figures["log_ratio_tokens_per_round"] == 0
    assert (figures["sides"]["a"]["draft_n"] > 0) is drafted


def test_a_build_against_itself_is_never_called_faster(stock_build: Build, run: Measure) -> None:
    """An A/A run, told apart by a variable that nothing reads; at this level it errs once in 250 runs."""
    result = run(side(stock_build), replace(side(stock_build, SPEEDFORK_TEST="1"), name="again"))
    assert len(result.pairs) == 8
    assert result.decision is not Decision.FASTER
    assert gate_of(result).verdict is not Verdict.PASS


def test_stock_in_the_place_of_speed_is_not_measured(stock_build: Build, speed_build: Build, run: Measure) -> None:
    """The speed build's name and digest on stock's folder: the served build gives it away."""
    imposter = replace(side(speed_build), build=stock_build.path)
    gate = gate_of(run(side(stock_build), imposter))
    assert gate.verdict is Verdict.UNPROVEN
    assert "another build answers" in gate.reason
