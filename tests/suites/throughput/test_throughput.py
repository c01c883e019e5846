"""Throughput of speed against stock: a gate per scenario, one over all; pytest-benchmark collects, we judge.

pytest-benchmark's own comparison is never used: it takes a number without a unit for seconds, and a result of another
machine for a baseline.
"""

import functools
from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from ci.builds.store import Build
from ci.home import Home
from ci.llama.spec import Device, Plan, plans_for
from ci.machine import fingerprint
from ci.outcome import GateResult, JsonValue
from ci.stages.bench import SEED, material, starter
from ci.throughput.policy import POLICIES
from ci.throughput.protocol import measure
from ci.throughput.samples import Side, not_comparable
from ci.throughput.verdict import Measured, figures_of, gate_of, overall, pairs_of, refused
from tests.suites.evidence import Builds

Record = Callable[[GateResult], None]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "plan" in metafunc.fixturenames:
        plans = plans_for(str(metafunc.config.getoption("--profile")))
        metafunc.parametrize(("name", "plan"), plans.items(), ids=plans)


@pytest.fixture(scope="module")
def gates() -> list[GateResult]:
    """The scenarios' gates so far."""
    return []


@pytest.fixture(scope="module")
def sides(builds: Builds) -> tuple[Side, Side]:
    return side("stock", builds.stock), side("speed", builds.speed)


def side(name: str, build: Build) -> Side:
    return Side(name=name, build=build.path, digest=build.digest, label=build.label, making=build.making)


def measured(home: Home, name: str, plan: Plan, sides: tuple[Side, Side], profile: str, device: Device) -> Measured:
    policy = POLICIES[profile]
    refusal = not_comparable(*sides)
    if refusal:  # before any model is fetched
        return refused(name, plan.claims, sides, policy, plan.clock, refusal)
    used = material(home, name, plan, pairs=policy.looks[-1].pairs, device=device)
    return measure(used.scenario, plan, *sides, start=starter(home), prompts=used.prompts, policy=policy, seed=SEED)


@pytest.mark.timeout(3600)
def test_scenario(
    name: str,
    plan: Plan,
    sides: tuple[Side, Side],
    home: Home,
    profile: str,
    device: Device,
    benchmark: BenchmarkFixture,
    figures: dict[str, JsonValue],
    gates: list[GateResult],
    record: Record,
) -> None:
    """One scenario: pairs until the policy decides; `--benchmark-json` holds every pair with both its samples.

    The one round that pytest-benchmark times itself is the whole measurement, servers' starts included.
    """
    run = functools.partial(measured, home, name, plan.on(device), sides, profile, device)
    collect: Callable[..., Measured] = benchmark.pedantic  # pytest-benchmark has no types
    result = collect(run, rounds=1, iterations=1)
    figures["machine"] = fingerprint()
    figures[name] = figures_of(result)
    benchmark.extra_info.update(scenario=name, machine=fingerprint(), **figures_of(result), pairs=pairs_of(result))
    gates.append(gate_of(result))
    record(gates[-1])


def test_all_scenarios(profile: str, gates: list[GateResult], record: Record) -> None:
    """The gate over all scenarios of the profile; one that was not measured leaves it UNPROVEN."""
    record(overall(gates, list(plans_for(profile))))
