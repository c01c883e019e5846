"""The protocol and the suite against builds that cheat: UNPROVEN or FAIL each time, never PASS."""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from ci.files import read_json
from ci.home import Home
from ci.llama.server import LlamaServer
from ci.llama.spec import Plan, Scenario, plans_for
from ci.outcome import GateResult, Verdict
from ci.throughput.pairing import id_prompts
from ci.throughput.policy import POLICIES, Look, Policy
from ci.throughput.protocol import measure
from ci.throughput.samples import Side
from ci.throughput.verdict import gate_of
from tests.helpers.disguise import disguised
from tests.helpers.fake_build import fake_build
from tests.helpers.made_build import made_build, made_key
from tests.helpers.suites import run_suite

POLICY = Policy(margin=0.03, looks=(Look(pairs=8, alpha=0.004),), pairs_per_start=4, warmup=1)
PLAN = Plan(pair="SMALL", n_predict=17, clock="cpu", claims=True, why="test")
SPECULATIVE = {"spec_type": "ngram-mod"}

Judge = Callable[..., GateResult]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """Measure two stand-ins, real programs on real ports, and give the gate."""
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")

    def start(side: Side, scenario: Scenario) -> AbstractContextManager[LlamaServer]:
        return LlamaServer.start(
            side.build, scenario, log_dir=tmp_path / "logs", env=side.env, expect_build=side.label
        )

    def side(name: str, label: str, env: dict[str, str]) -> Side:
        settings = {"FAKE_WORK": "burn", "FAKE_BUILD": f"b11434-{label}", **env}
        build = fake_build(tmp_path / name, mark=name)
        return Side(name=name, build=build, digest=name * 8, label=label, env=settings)

    def gate(
        *, spec_type: str | None = None, clock: str = "cpu", policy: Policy = POLICY, **speed: str
    ) -> GateResult:
        scenario = Scenario(name="fake", model=model, ctx=512, spec_type=spec_type)
        stock = side("stock", "b11434", {"FAKE_MS": "4.0"})
        other = side("speed", "b11434-speed.1", {"FAKE_MS": "2.0", **speed})
        prompts = id_prompts(policy.looks[-1].pairs, first=8, states=24, seed=1)
        plan = PLAN.model_copy(update={"clock": clock})
        return gate_of(measure(scenario, plan, stock, other, start=start, prompts=prompts, policy=policy, seed=3))

    return gate


def test_an_honest_faster_build_passes(judge: Judge) -> None:
    """The control of this file: without it the sabotage could be refused for any reason."""
    result = judge()
    assert (result.verdict, result.evidence["decision"]) == (Verdict.PASS, "faster")
    assert result.evidence["build_infos"] == ["b11434-b11434", "b11434-b11434-speed.1"]


def test_an_honest_drafting_build_passes(judge: Judge) -> None:
    assert judge(spec_type="ngram-mod").verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("sabotage", "reason"),
    [
        ({"FAKE_MODE": "empty"}, "predicted_n"),
        ({"FAKE_MODE": "short"}, "3 tokens of 17"),
        ({"FAKE_MODE": "cached"}, "4 prompt tokens came from a cache"),
        ({"FAKE_MODE": "other"}, "token ids differ"),
        ({"FAKE_MODE": "shrunk"}, "the server changed the work"),
        ({"FAKE_MODE": "quits"}, "no answer"),
        ({"FAKE_MODE": "die"}, "exit code 1"),
        ({"FAKE_MODE": "slots"}, "total_slots is 4"),
        ({"FAKE_BUILD": "b11434-b11434"}, "another build answers"),
        ({"FAKE_MODE": "undrafted", **SPECULATIVE}, "draft_n is 0"),
        ({"FAKE_MODE": "liar", "FAKE_MS": "4.0", "clock": "server"}, "clocks give a log ratio"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value.values()),
)
def test_a_cheating_build_is_never_measured(judge: Judge, sabotage: dict[str, str], reason: str) -> None:
    result = judge(**sabotage)
    assert result.verdict is Verdict.UNPROVEN
    assert reason in result.reason


@pytest.mark.parametrize("policy", [POLICY, POLICIES["quick"]], ids=["one-look", "quick"])
def test_a_build_that_sleeps_twice_as_long_as_stock_works_is_never_measured(judge: Judge, policy: Policy) -> None:
    """Hardly any CPU time and twice the elapsed time: `faster` by the clock that judges."""
    result = judge(policy=policy, FAKE_WORK="sleep", FAKE_MS="8.0")
    assert result.verdict is Verdict.UNPROVEN
    assert "it waits more" in result.reason


def test_the_suite_on_identical_binaries_is_unproven_throughout(tmp_path: Path) -> None:
    stock = made_build(tmp_path / "one", made_key(variant="stock", label="b7"))
    speed = made_build(tmp_path / "two", made_key())
    home = Home(root=tmp_path / "home", checkout=tmp_path)
    suite = functools.partial(run_suite, "throughput", home=home, evidence=tmp_path / "evidence.json")
    ran = suite(stock=stock.path, speed=speed.path)
    assert ran.code != 0
    assert ran.verdicts("") == {Verdict.UNPROVEN}
    assert {"large-plain", "large-dspark", "large-sampled", "real-plain", "throughput"} <= ran.gates.keys()
    assert "are the same build" in ran.gates["large-plain"].reason
    assert (ran.evidence["suite"], ran.evidence["profile"]) == ("throughput", "quick")
    collected = read_json(tmp_path / "evidence.benchmark.json")["benchmarks"]
    assert [one["extra_info"]["scenario"] for one in collected] == list(plans_for("quick"))
    assert all(one["extra_info"]["pairs"] == [] and one["extra_info"]["refusals"] for one in collected)


def test_the_suite_on_builds_made_otherwise_is_unproven_throughout(tmp_path: Path) -> None:
    stock = made_build(tmp_path / "one", made_key(variant="stock", label="b7"), {"llama-server": b"other"})
    speed = disguised(made_build(tmp_path / "two"), tmp_path / "three", options={"GGML_AVX512": "ON"})
    home = Home(root=tmp_path / "home", checkout=tmp_path)
    ran = run_suite("throughput", stock=stock.path, speed=speed.path, home=home, evidence=tmp_path / "evidence.json")
    assert ran.verdicts("") == {Verdict.UNPROVEN}
    assert "not made alike: option GGML_AVX512 is 'not there' and 'ON'" in ran.gates["large-plain"].reason


def test_the_suite_without_a_build_is_unproven(tmp_path: Path) -> None:
    speed = made_build(tmp_path / "two", made_key())
    home = Home(root=tmp_path / "home", checkout=tmp_path)
    ran = run_suite(
        "throughput", stock=tmp_path / "nothing", speed=speed.path, home=home, evidence=tmp_path / "evidence.json"
    )
    assert ran.code == 1  # and not an internal error: pytest-benchmark warns when nothing ran
    assert ran.verdicts("") == {Verdict.UNPROVEN}
