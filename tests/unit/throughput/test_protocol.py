"""The protocol on servers that are values: who is asked what, in which order, and what makes a run worthless."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from ci.errors import ForeignServer, ReplyProblem
from ci.llama.reply import Reply, Request, Timings
from ci.llama.spec import Plan, Scenario
from ci.outcome import JsonValue, Verdict
from ci.throughput.pairing import id_prompts
from ci.throughput.policy import POLICIES, Look, Policy
from ci.throughput.protocol import measure, switch_sides
from ci.throughput.samples import Side
from ci.throughput.verdict import Decision, Measured, figures_of, gate_of, pairs_of

POLICY = Policy(
    margin=0.03, looks=(Look(pairs=8, alpha=0.004), Look(pairs=16, alpha=0.006)), pairs_per_start=4, warmup=1
)
PLAN = Plan(pair="SMALL", n_predict=11, clock="cpu", claims=True, why="test")
PLAIN = Scenario(name="plain", model=Path("/m.gguf"))
DRAFTED = replace(PLAIN, name="drafted", draft=Path("/d.gguf"), spec_type="draft-dspark")
STOCK = Side(name="stock", build=Path("/stock"), digest="s" * 64, label="b1")
SPEED = Side(name="speed", build=Path("/speed"), digest="p" * 64, label="b1-speed.1")


@dataclass(kw_only=True)
class World:
    """A machine with one clock; each side takes its own time per token."""

    ms: dict[str, float]
    drafts: dict[str, int] = field(default_factory=dict)
    build_infos: dict[str, str] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    shift: int = 0
    lie: float = 1.0
    idle: float = 0.0
    fail: Exception | None = None
    now_ms: float = 0.0
    asked: list[tuple[str, Request]] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)

    def clock(self) -> float:
        return self.now_ms / 1000

    @contextlib.contextmanager
    def start(self, side: Side, scenario: Scenario) -> Iterator["FakeServer"]:
        assert scenario.name in {"plain", "drafted"}
        self.starts.append(side.name)
        yield FakeServer(world=self, side=side.name, degraded=self.degraded)


@dataclass(kw_only=True)
class FakeServer:
    world: World
    side: str
    degraded: tuple[str, ...]
    used_ms: float = 0.0

    @property
    def build_info(self) -> str:
        return self.world.build_infos.get(self.side, f"build of {self.side}")

    def cpu_s(self) -> float:
        return self.used_ms / 1000

    def complete(self, request: Request) -> Reply:
        world, n = self.world, request.n_predict
        world.asked.append((self.side, request))
        if world.fail and len(world.asked) > 9:
            raise world.fail
        work = world.ms[self.side] * (n - 1)
        wait = world.idle * (n - 1) if self.side == "speed" else 0.0
        self.used_ms += work
        world.now_ms += work + wait
        drafted = world.drafts.get(self.side, 0)
        timings = Timings(
            cache_n=0,
            prompt_n=4,
            prompt_ms=0.0,
            predicted_n=n,
            predicted_ms=(work + wait) * (world.lie if self.side == "speed" else 1.0),
            draft_n=drafted,
            draft_n_accepted=drafted // 2,
        )
        first = world.shift if self.side == "speed" else 0
        return Reply(tokens=tuple(range(first, first + n)), content="", stop_type="limit", timings=timings)


def run(
    world: World, *, scenario: Scenario = PLAIN, plan: Plan = PLAN, speed: Side = SPEED, policy: Policy = POLICY
) -> Measured:
    prompts = id_prompts(policy.looks[-1].pairs, first=8, states=24, seed=1)
    return measure(
        scenario, plan, STOCK, speed, start=world.start, prompts=prompts, policy=policy, seed=2, clock=world.clock
    )


def faster(**changes: JsonValue) -> World:
    return World(ms={"stock": 2.0, "speed": 1.0}, **changes)


def test_a_faster_build_is_called_faster_after_the_first_look() -> None:
    result = run(faster())
    assert result.decision is Decision.FASTER
    assert [round(ratio, 4) for ratio in result.log_ratios] == [0.6931] * 8
    gate = gate_of(result)
    assert gate.verdict is Verdict.PASS
    assert gate.reason == "faster: +100.0 % [+100.0, +100.0] tokens per CPU second against stock, 8 pairs"


def test_both_sides_get_the_same_unseen_prompts_in_random_order_with_warm_up_dropped() -> None:
    world = faster()
    result = run(world)
    warm = [side for side, request in world.asked if not request.full_length]
    counted = [(side, request) for side, request in world.asked if request.full_length]
    assert warm == ["stock", "speed"] * 2
    pairs = list(zip(counted[::2], counted[1::2], strict=True))
    assert all(first[1] == second[1] and {first[0], second[0]} == {"stock", "speed"} for first, second in pairs)
    assert len({request.prompt for _, request in counted}) == 8
    orders = ["ab" if first[0] == "stock" else "ba" for first, _ in pairs]
    assert orders == [pair.turn.order for pair in result.pairs]
    assert orders.count("ab") == 4
    assert all(request.to_json()["cache_prompt"] is False and not request.ignore_eos for _, request in counted)


def test_servers_are_started_afresh_every_few_pairs() -> None:
    world = faster()
    run(world)
    assert world.starts == ["stock", "speed"] * 2


def test_a_run_against_itself_is_not_faster_and_a_claim_stays_unproven() -> None:
    result = run(World(ms={"stock": 2.0, "speed": 2.0}))
    assert result.decision is Decision.NO_REGRESSION
    assert len(result.pairs) == 16
    assert gate_of(result).verdict is Verdict.UNPROVEN
    unclaimed = run(World(ms={"stock": 2.0, "speed": 2.0}), plan=PLAN.model_copy(update={"claims": False}))
    assert (len(unclaimed.pairs), gate_of(unclaimed).verdict) == (8, Verdict.PASS)


def test_a_slower_build_fails_once_confirmed() -> None:
    result = run(World(ms={"stock": 2.0, "speed": 2.2}))
    assert (len(result.pairs), gate_of(result).verdict) == (16, Verdict.FAIL)


BOTH = {"stock": 6, "speed": 6}
WORTHLESS: dict[str, tuple[World, Scenario, str]] = {
    "one build served twice": (
        faster(build_infos={"stock": "b1-b1", "speed": "b1-b1"}),
        PLAIN,
        "one build served twice: both servers say that they are 'b1-b1'",
    ),
    "no drafts": (faster(), DRAFTED, "stock: draft_n is 0 in all 8 samples"),
    "no drafts on one side": (faster(drafts={"stock": 6}), DRAFTED, "speed: draft_n is 0 in all 8 samples"),
    "other tokens": (faster(shift=1), PLAIN, "8 of 8 pairs did not do the same work: token ids"),
    "other counters": (faster(drafts={"stock": 6, "speed": 4}), DRAFTED, "draft counters differ"),
    "a clock that lies": (faster(lie=0.5), PLAIN, "the servers' clocks give a log ratio that is off by +0.6931"),
    "less than asked": (faster(degraded=("context size reduced",)), PLAIN, "the server changed the work"),
    "rejected sample": (faster(fail=ReplyProblem("236 prompt tokens came from a cache")), PLAIN, "236 prompt tokens"),
    "foreign server": (faster(fail=ForeignServer("another server answers")), PLAIN, "another server answers"),
    "a clock that stands": (World(ms={"stock": 0.0, "speed": 0.0}), PLAIN, "each must be above 0"),
}


@pytest.mark.parametrize(("world", "scenario", "reason"), WORTHLESS.values(), ids=WORTHLESS.keys())
def test_worthless_runs_are_not_measured_and_say_why(world: World, scenario: Scenario, reason: str) -> None:
    result = run(replace(world, asked=[], starts=[]), scenario=scenario)
    gate = gate_of(result)
    assert gate.verdict is Verdict.UNPROVEN
    assert gate.reason.startswith("not measured: ")
    assert reason in gate.reason
    assert (result.decision, result.interval) == (Decision.UNDECIDED, None)


def test_waiting_that_cpu_time_does_not_see_is_refused() -> None:
    result = run(World(ms={"stock": 2.0, "speed": 2.0}, idle=0.5))
    assert "it waits more" in gate_of(result).reason
    assert gate_of(result).verdict is Verdict.UNPROVEN


@pytest.mark.parametrize("profile", POLICIES)
def test_less_cpu_time_at_twice_the_elapsed_time_is_refused_by_the_policies_that_run(profile: str) -> None:
    result = run(World(ms={"stock": 2.0, "speed": 1.5}, idle=2.5), policy=POLICIES[profile])
    assert (gate_of(result).verdict, result.decision) == (Verdict.UNPROVEN, Decision.UNDECIDED)
    assert "it waits more, which CPU time does not see: +83%" in gate_of(result).reason
    assert len(result.pairs) == POLICIES[profile].looks[-1].pairs  # a suspicion asks for every further pair


def test_the_evidence_holds_the_extra_wait_and_a_rule_that_names_clock_and_sides() -> None:
    figures = gate_of(run(faster())).evidence
    assert figures["extra_wait"] == {"estimate": 0.0, "lower": 0.0, "upper": 0.0, "alpha": 0.01, "n": 8}
    assert figures["rule"].startswith("tokens per CPU second of speed against stock")


def test_by_the_servers_clock_waiting_is_a_loss() -> None:
    plan = PLAN.model_copy(update={"clock": "server"})
    assert gate_of(run(World(ms={"stock": 2.0, "speed": 2.0}, idle=0.5), plan=plan)).verdict is Verdict.FAIL


def test_the_same_files_twice_are_refused_before_anything_starts() -> None:
    world = faster()
    result = run(world, speed=replace(SPEED, digest=STOCK.digest))
    assert world.starts == []
    assert "are the same build" in gate_of(result).reason
    assert gate_of(result).verdict is Verdict.UNPROVEN


def test_builds_made_otherwise_are_refused_before_anything_starts() -> None:
    world = faster()
    result = run(world, speed=replace(SPEED, making={"option GGML_LTO": "ON"}))
    assert world.starts == []
    assert "stock and speed were not made alike: option GGML_LTO is 'not there' and 'ON'" in gate_of(result).reason
    assert gate_of(result).verdict is Verdict.UNPROVEN


def test_every_pair_is_kept_with_both_samples() -> None:
    result = run(faster(drafts=BOTH), scenario=DRAFTED)
    pairs = pairs_of(result)
    assert [pair["order"] for pair in pairs] == figures_of(result)["orders"]
    assert pairs[0]["b"] == {
        "tokens": 11,
        "rounds": 8,
        "draft_n": 6,
        "draft_n_accepted": 3,
        "cpu": 0.90909,
        "server": 1.0,
        "wall": 1.0,
        "elapsed": 0.90909,
    }
    assert pairs[0]["a"]["cpu"] == pytest.approx(2 * pairs[0]["b"]["cpu"], abs=1e-4)


def test_equal_drafting_is_separated_from_time_per_round() -> None:
    result = run(faster(drafts=BOTH), scenario=DRAFTED)
    figures = figures_of(result)
    assert gate_of(result).verdict is Verdict.PASS
    assert figures["log_ratio_tokens_per_round"] == 0.0
    assert figures["sides"]["a"]["tokens_per_round"] == pytest.approx(11 / 8)
    assert figures["sides"]["b"]["acceptance"] == 0.5
    assert (figures["same_work"], figures["n_pairs"], len(figures["log_ratios"])) == (8, 8, 8)


def test_sampled_runs_must_do_the_same_work_too() -> None:
    sampled = PLAN.model_copy(update={"temperature": 0.7, "top_k": 40})
    assert gate_of(run(faster(), plan=sampled)).verdict is Verdict.PASS
    gate = gate_of(run(faster(shift=1), plan=sampled))
    assert (gate.verdict, "token ids differ" in gate.reason) == (Verdict.UNPROVEN, True)
    drafts = gate_of(run(faster(drafts={"stock": 6, "speed": 4}), scenario=DRAFTED, plan=sampled))
    assert (drafts.verdict, "draft counters differ" in drafts.reason) == (Verdict.UNPROVEN, True)


def test_one_binary_with_a_switch_off_and_on_can_be_compared() -> None:
    off, on = switch_sides(Path("/speed"), "p" * 64, label="b1-speed.1", switch="LLAMA_ARG_HOST_ARGMAX")
    assert (off.env, on.env) == ({"LLAMA_ARG_HOST_ARGMAX": "0"}, {"LLAMA_ARG_HOST_ARGMAX": "1"})
    world = World(ms={off.name: 2.0, on.name: 1.5})
    prompts = id_prompts(16, first=8, states=24, seed=1)
    result = measure(
        PLAIN, PLAN, off, on, start=world.start, prompts=prompts, policy=POLICY, seed=2, clock=world.clock
    )
    assert gate_of(result).verdict is Verdict.PASS
