"""The arms of the suite: four on the real model, started at once; those on exact pairs when asked for, each once."""

from concurrent.futures import Future
from dataclasses import dataclass, field

from ci.builds.store import Build
from ci.home import Home
from ci.llama.spec import Device, Scenario
from ci.models.exact_pair import PAIRS, Pair, ensure_pair
from ci.parity.policy import (
    CTX,
    PAIR_N_MAX,
    PAIR_P_MIN,
    SAMPLED_SEED,
    SAMPLED_TEMPERATURE,
    SAMPLED_TOP_K,
    THREADS,
    Profile,
)
from tests.suites.evidence import Builds
from tests.suites.parity.arms import GREEDY, Arm, Bench, Draw

P_MIN_SUFFIX = "-p-min"
SAMPLED_SUFFIX = "-sampled"
SAMPLED = Draw(temperature=SAMPLED_TEMPERATURE, top_k=SAMPLED_TOP_K, seed=SAMPLED_SEED)


def p_min_of(mode: str) -> float:
    """Confidence threshold of a mode: `draft-dspark-p-min` has one, the others draft to the end."""
    return PAIR_P_MIN if mode.endswith(P_MIN_SUFFIX) else 0.0


@dataclass(frozen=True, kw_only=True)
class RealModel:
    """The arms on the real model: futures, so that one failing arm leaves the verdicts of the others."""

    plain: Scenario
    ngram: Scenario
    stock: "Future[Arm]"
    speed: "Future[Arm]"
    again: "Future[Arm]"
    drafted: "Future[Arm]"


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Arms on exact pairs by (side, pair, mode), each run once."""

    home: Home
    builds: Builds
    amounts: Profile
    bench: Bench
    device: Device
    done: dict[tuple[str, str, str], "Future[Arm]"] = field(default_factory=dict)

    def pair(self, name: str) -> Pair:
        return ensure_pair(self.home, PAIRS[name])

    def starts(self, name: str) -> range:
        return range(self.amounts.large_starts if name == "LARGE" else self.amounts.pair_starts)

    def n_predict(self, name: str) -> int:
        return self.amounts.large_predict if name == "LARGE" else self.amounts.pair_predict

    def arm(self, side: str, name: str, mode: str) -> Arm:
        key = (side, name, mode)
        if key not in self.done:
            build: Build = getattr(self.builds, side)
            law = self.pair(name).law
            prompts = {f"state-{i}": law.tokens_of([i]) for i in self.starts(name)}
            draw = SAMPLED if mode.endswith(SAMPLED_SUFFIX) else GREEDY
            scenario = self.scenario(name, mode.removesuffix(SAMPLED_SUFFIX))
            self.done[key] = self.bench.submit(build, scenario, prompts, self.n_predict(name), draw)
        return self.done[key].result()

    def scenario(self, name: str, mode: str) -> Scenario:
        pair = self.pair(name)
        shown = f"{name.lower()}-{mode}"
        if mode == "plain":
            return Scenario(name=shown, model=pair.target, threads=THREADS, ctx=CTX, device=self.device)
        draft = pair.simple if mode == "draft-simple" else pair.draft
        return Scenario(
            name=shown,
            model=pair.target,
            threads=THREADS,
            ctx=CTX,
            draft=draft,
            spec_type=mode.removesuffix(P_MIN_SUFFIX),
            n_max=PAIR_N_MAX,
            p_min=p_min_of(mode) or None,
            device=self.device,
        )
