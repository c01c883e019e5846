"""A repair of exactness on the real speed build: wiring only, with far too few texts to judge a law."""

from dataclasses import replace

import pytest

from ci.builds.store import Build
from ci.home import Home
from ci.outcome import Verdict
from ci.parity.policy import SAMPLING, Sampling
from ci.parity.sampled import LawFigures, SeedSet, judge_repair
from ci.stages import law_bench
from ci.stages.law_bench import measure_repair, sample_sets

pytestmark = pytest.mark.native

SWITCH = "LLAMA_ARG_HYBRID_ACCEPT_RNG"
FEW = Sampling(requests=6, n_predict=48)


def arms_of(sets: tuple[SeedSet, ...]) -> list[LawFigures]:
    return [arm for one in sets for arm in (one.off, one.on)]


def test_both_arms_answer_every_seed_set_with_drafts(real_home: Home, speed_build: Build) -> None:
    seen: list[tuple[int, int]] = []
    sets = sample_sets(
        real_home, speed_build, switch=SWITCH, sampling=FEW, progress=lambda done, of: seen.append((done, of))
    )
    assert [one.seed for one in sets] == [20_000, 50_000]
    assert {arm.transitions for arm in arms_of(sets)} == {288}
    assert {arm.foreign for arm in arms_of(sets)} == {0}
    assert all(0 < arm.counters.accepted < arm.counters.drafted for arm in arms_of(sets))
    assert seen == [(done, 24) for done in range(1, 25)]


def test_the_switch_reaches_the_server(real_home: Home, speed_build: Build) -> None:
    """Same seeds on both arms: the texts differ because of the switch, and a variable that nothing reads does not."""
    real = sample_sets(real_home, speed_build, switch=SWITCH, sampling=FEW)
    idle = sample_sets(real_home, speed_build, switch="SPEEDFORK_TEST", sampling=FEW)
    assert [one.off != one.on for one in real] == [True, True]
    assert [one.off == one.on for one in idle] == [True, True]
    assert [one.on for one in idle] == [one.on for one in real]  # on by default
    assert "the switch changed nothing" in judge_repair(idle, replace(FEW, defect_must_show=False)).reason


def test_a_build_without_the_repair_proves_nothing(
    real_home: Home, stock_build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SAMPLING, "quick", replace(FEW, defect_must_show=False))
    gate = measure_repair(real_home, stock_build, switch=SWITCH, profile="quick")
    assert gate.verdict is Verdict.UNPROVEN
    assert "the switch changed nothing" in gate.reason


def test_a_server_that_fails_is_the_reason(
    real_home: Home, speed_build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(law_bench, "PROBABILISTIC", ("--spec-draft-sampling", "sideways"))
    gate = measure_repair(real_home, speed_build, switch=SWITCH, profile="quick")
    assert (gate.gate, gate.verdict) == ("law", Verdict.UNPROVEN)
    assert "llama-server ended by itself" in gate.reason
