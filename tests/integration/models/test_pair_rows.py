"""Every exact pair in the real stock server: law and draft counters beside closed forms, and what breaks them."""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping

import pytest

from ci.builds.store import Build
from ci.home import Home
from ci.models.exact_pair import HYBRID, LARGE, MOE, SECOND_ORDER, SMALL, PairSpec, ensure_pair
from ci.outcome import GateResult, Verdict
from ci.parity.pair_check import judge_pair
from ci.parity.pair_figures import CONTROL, DSPARK, DSPARK_P_MIN, PLAIN, SIMPLE, SIMPLE_SAMPLED, Mode, pair_figures
from ci.stages.pair_bench import Job, check_pairs, draw

pytestmark = [pytest.mark.native, pytest.mark.timeout(1800)]

NEEDED = 51_200
"""Transitions of each pair: a verification that accepts 10 % too much is then found in 98 of 100 cases."""

JOBS = (
    Job(spec=LARGE, mode=PLAIN),
    Job(spec=LARGE, mode=DSPARK, requests=24),
    Job(spec=SMALL, mode=PLAIN, requests=48),
    Job(spec=SMALL, mode=DSPARK, requests=800),
    Job(spec=SMALL, mode=SIMPLE_SAMPLED, requests=800),
    Job(spec=SMALL, mode=CONTROL, requests=200),
    Job(spec=SECOND_ORDER, mode=PLAIN, requests=48),
    Job(spec=SECOND_ORDER, mode=DSPARK, requests=800),
    Job(spec=SECOND_ORDER, mode=SIMPLE_SAMPLED, requests=800),
    Job(spec=MOE, mode=PLAIN, requests=48),
    Job(spec=MOE, mode=DSPARK, requests=800),
    Job(spec=MOE, mode=SIMPLE_SAMPLED, requests=800),
    Job(spec=HYBRID, mode=PLAIN, requests=48),
    Job(spec=HYBRID, mode=DSPARK),
    Job(spec=HYBRID, mode=SIMPLE, requests=48),
)
LAYOUTS = {
    "bonus anchor": dataclasses.replace(SMALL, bonus_anchor=True),
    "short block": dataclasses.replace(SMALL, block=5),
    "shared head": dataclasses.replace(SECOND_ORDER, shared_head=True),
    "no confidence": dataclasses.replace(SMALL, confidence_head=False),
    "other vocabulary": dataclasses.replace(MOE, vocab=4_097),
}
FEW = 48


@pytest.fixture(scope="module")
def rows(real_home: Home, stock_build: Build) -> Mapping[str, GateResult]:
    return {job.name: gate for job, gate in check_pairs(real_home, stock_build, JOBS)}


@pytest.mark.parametrize("job", JOBS, ids=lambda job: f"{job.spec.name}-{job.mode.name}")
def test_a_row_passes(job: Job, rows: Mapping[str, GateResult]) -> None:
    gate = rows[job.name]
    assert gate.verdict is Verdict.PASS, gate.reason
    assert gate.evidence["transitions"] == job.transitions


def test_every_pair_is_tested_at_length(rows: Mapping[str, GateResult]) -> None:
    tested: Counter[str] = Counter()
    for job in JOBS:
        if job.mode in (DSPARK, SIMPLE_SAMPLED) or job == JOBS[0]:
            tested[job.spec.name] += rows[job.name].evidence["transitions"]
    assert set(tested) == {"SMALL", "LARGE", "SECOND_ORDER", "MOE", "HYBRID"}
    assert min(tested.values()) >= NEEDED


@pytest.mark.parametrize("job", [job for job in JOBS if job.mode == DSPARK], ids=lambda job: job.spec.name)
def test_greedy_drafts_are_counted_exactly_and_leave_the_text_alone(job: Job, rows: Mapping[str, GateResult]) -> None:
    seen = rows[job.name].evidence
    assert seen["counters_exact"] == job.requests
    assert seen["texts_as_plain"] == seen["texts_compared"] >= 24


@pytest.mark.parametrize("spec", [SMALL, SECOND_ORDER, MOE], ids=lambda spec: spec.name)
def test_acceptance_by_position_is_the_closed_form(spec: PairSpec, rows: Mapping[str, GateResult]) -> None:
    job = next(job for job in JOBS if (job.spec, job.mode) == (spec, DSPARK))
    seen = rows[job.name].evidence
    rounds = seen["transitions"] / seen["mean_length"]
    for measured, expected in zip(seen["by_position"], seen["expected_by_position"], strict=True):
        assert abs(measured - expected) < 5 * math.sqrt(expected / rounds)


def test_the_control_fails_by_far(rows: Mapping[str, GateResult]) -> None:
    seen = rows[next(job.name for job in JOBS if job.mode == CONTROL)].evidence
    assert seen["p"] < 1e-100
    assert seen["z_argmax"] > 20


def test_texts_of_a_second_order_target_fail_the_first_order_law(real_home: Home, stock_build: Build) -> None:
    job = Job(spec=SECOND_ORDER, mode=PLAIN, requests=200)
    pair = ensure_pair(real_home, SECOND_ORDER)
    texts = draw(real_home, stock_build, pair, job)
    first = dataclasses.replace(pair.law, history=None, recalls_itself=False)
    verdicts = {}
    for name, law in (("second", pair.law), ("first", first)):
        figures = pair_figures(law, PLAIN, texts, temperature=1.0)
        verdicts[name] = judge_pair(name, PLAIN, figures, needed=job.transitions)
    assert verdicts["second"].verdict is Verdict.PASS, verdicts["second"].reason
    assert verdicts["first"].verdict is Verdict.FAIL
    assert verdicts["first"].evidence["p"] < 1e-100


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_a_draft_is_exact(layout: str, real_home: Home, stock_build: Build) -> None:
    assert_exact(real_home, stock_build, LAYOUTS[layout], DSPARK)


@pytest.mark.parametrize("noise", [0.0, 1.5])
def test_drafts_are_cut_where_the_confidence_says(noise: float, real_home: Home, stock_build: Build) -> None:
    assert_exact(real_home, stock_build, dataclasses.replace(SMALL, confidence_noise=noise), DSPARK_P_MIN)


def assert_exact(home: Home, build: Build, spec: PairSpec, mode: Mode) -> None:
    jobs = [Job(spec=spec, mode=one, requests=FEW) for one in (PLAIN, mode)]
    gates = [gate for _, gate in check_pairs(home, build, jobs)]
    assert [gate.verdict for gate in gates] == [Verdict.PASS, Verdict.PASS], [gate.reason for gate in gates]
    seen = gates[1].evidence
    assert (seen["counters_exact"], seen["texts_as_plain"], seen["texts_compared"]) == (FEW, FEW, FEW)
    assert seen["draft_n_accepted"] > 0


def test_whoever_stops_early_does_not_wait_for_the_rest(real_home: Home, stock_build: Build) -> None:
    jobs = [Job(spec=SMALL, mode=PLAIN, requests=24), *[Job(spec=SMALL, mode=DSPARK, seed=n) for n in range(40)]]
    done: list[int] = []
    rows = check_pairs(real_home, stock_build, jobs, progress=lambda count, _: done.append(count))
    assert next(rows)[1].verdict is Verdict.PASS
    rows.close()
    assert max(done) < 24 + 2 * Job.requests


def test_a_server_that_cannot_start_leaves_its_row_unproven(real_home: Home, stock_build: Build) -> None:
    broken = dataclasses.replace(DSPARK, flags=("--spec-synth-len", "nonsense"))
    rows = list(check_pairs(real_home, stock_build, [Job(spec=SMALL, mode=broken, requests=24)]))
    assert [gate.verdict for _, gate in rows] == [Verdict.UNPROVEN]
    assert "ended by itself" in rows[0][1].reason
