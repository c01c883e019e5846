"""Wires models, servers and the throughput protocol together, for the suite and for measuring a patch's switch."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from ci.builds.store import Build
from ci.home import Home
from ci.llama.server import LlamaServer
from ci.llama.spec import PROCESSOR, Device, Plan, Scenario, plans_exercising
from ci.models.exact_pair import PAIRS, ensure_pair
from ci.models.fetch import ensure_model
from ci.throughput.pairing import Prompt, id_prompts, text_prompts
from ci.throughput.policy import SWITCHES
from ci.throughput.protocol import Progress, Starter, measure, switch_sides
from ci.throughput.samples import Side
from ci.throughput.verdict import Measured

SEED = 20261130  # of prompts and orders: the same experiment each time, so that a verdict can be looked into


@dataclass(frozen=True, kw_only=True)
class Material:
    """A scenario bound to its files, and prompts for its pairs."""

    scenario: Scenario
    prompts: tuple[Prompt, ...]


def material(home: Home, name: str, plan: Plan, *, pairs: int, device: Device = PROCESSOR) -> Material:
    """Fetch or generate the model of a plan and draw its prompts.

    Raises:
        IndexUnreachable, DigestMismatch, DiskFull: the model cannot be had.
    """
    if plan.pair is None:
        model = ensure_model(home, str(plan.model))
        return Material(scenario=plan.scenario(name, model, None, device), prompts=text_prompts(pairs, seed=SEED))
    pair = ensure_pair(home, PAIRS[plan.pair])
    prompts = id_prompts(pairs, first=pair.spec.first, states=pair.spec.n_state, seed=SEED)
    return Material(scenario=plan.scenario(name, pair.target, pair.draft, device), prompts=prompts)


def starter(home: Home) -> Starter:
    """Starts real servers, with logs under the home."""

    def start(side: Side, scenario: Scenario) -> AbstractContextManager[LlamaServer]:
        logs = home.work / "logs" / "throughput" / side.name
        return LlamaServer.start(side.build, scenario, log_dir=logs, env=side.env, expect_build=side.label)

    return start


def measure_patch(
    home: Home, build: Build, *, patch_id: str, switch: str, profile: str, progress: Progress | None = None
) -> Iterator[Measured]:
    """What a patch is worth: its switch off (a) against on (b) in one binary, in each scenario that runs its code.

    Each scenario answers for itself and passes when the lower bound of its gain, at the level of the policy's one
    look, is above the policy's least gain. A patch has proved its worth when every scenario that exercises it passes:
    one without a gain leaves it UNPROVEN, one that got slower fails it.

    Args:
        home: for models and logs.
        build: the speed build.
        patch_id: the patch's Speed-Id; `exercises` in scenarios.toml names the scenarios.
        switch: its Speed-Switch, an environment variable.
        profile: `quick` or `full`.
        progress: called with pairs done and most pairs.

    Yields:
        One measurement per scenario, in file order.
    """
    policy = SWITCHES[profile]
    off, on = switch_sides(build.path, build.digest, label=build.label, switch=switch)
    for name, plan in plans_exercising(patch_id).items():
        used = material(home, name, plan, pairs=policy.looks[-1].pairs)
        yield measure(
            used.scenario,
            plan,
            off,
            on,
            start=starter(home),
            prompts=used.prompts,
            policy=policy,
            seed=SEED,
            claims=True,
            progress=progress,
        )
