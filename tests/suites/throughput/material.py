"""What a scenario is measured with: model files and prompts."""

from dataclasses import dataclass

from ci.home import Home
from ci.llama.spec import Plan, Scenario
from ci.models.exact_pair import PAIRS, ensure_pair
from ci.models.fetch import ensure_model
from ci.throughput.pairing import Prompt, id_prompts, text_prompts

SEED = 20261130  # of prompts and orders: the same experiment each time, so that a verdict can be looked into


@dataclass(frozen=True, kw_only=True)
class Material:
    """A scenario bound to its files, and prompts for its pairs."""

    scenario: Scenario
    prompts: tuple[Prompt, ...]


def material(home: Home, name: str, plan: Plan, *, pairs: int) -> Material:
    """Fetch or generate the model of a plan and draw its prompts."""
    if plan.pair is None:
        model = ensure_model(home, str(plan.model))
        return Material(scenario=plan.scenario(name, model, None), prompts=text_prompts(pairs, seed=SEED))
    pair = ensure_pair(home, PAIRS[plan.pair])
    states = {"first": pair.spec.first, "states": pair.spec.n_state}
    prompts = id_prompts(pairs, **states, seed=SEED)
    return Material(scenario=plan.scenario(name, pair.target, pair.draft), prompts=prompts)
