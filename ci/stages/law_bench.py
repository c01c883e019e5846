"""Wires the hybrid exact pair, servers and the test of its law together, for measuring a repair of exactness.

The hybrid target cannot drop tokens, so the server restores a checkpoint after each partial acceptance; sampled
drafts are then verified by rejection sampling, the one way of verifying whose texts a fault changes in law only.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from ci.builds.store import Build
from ci.errors import ReplyProblem, ServerProblem
from ci.home import Home
from ci.law import Counters
from ci.llama.client import Request
from ci.llama.server import LlamaServer
from ci.llama.spec import Scenario
from ci.models.exact_pair import HYBRID, Pair, ensure_pair
from ci.outcome import GateResult, Verdict
from ci.parity.policy import CTX, SAMPLING, THREADS, Sampling
from ci.parity.sampled import GATE, LawFigures, Sampled, SeedSet, figures_of, judge_repair

PROBABILISTIC = ("--spec-draft-sampling", "probabilistic")

Progress: TypeAlias = Callable[[int, int], None]


def measure_repair(
    home: Home, build: Build, *, switch: str, profile: str, progress: Progress | None = None
) -> GateResult:
    """Judge a repair of exactness: its switch off (the control) against on in one binary, each against the law.

    Args:
        home: for the pair and logs.
        build: the speed build.
        switch: the patch's Speed-Switch, an environment variable.
        profile: `quick` or `full`.
        progress: called with texts done and all texts.

    Returns:
        The gate `law`; UNPROVEN with the fault as its reason when a server fails or answers what must not count.
    """
    sampling = SAMPLING[profile]
    try:
        return judge_repair(sample_sets(home, build, switch=switch, sampling=sampling, progress=progress), sampling)
    except (ReplyProblem, ServerProblem) as doubt:
        return GateResult(gate=GATE, verdict=Verdict.UNPROVEN, reason=doubt.message)


def sample_sets(
    home: Home, build: Build, *, switch: str, sampling: Sampling, progress: Progress | None = None
) -> tuple[SeedSet, ...]:
    """Sample every seed set with the switch off and on: same start states, same seeds.

    Raises:
        ReplyProblem, ServerProblem: an arm gave no texts that count.
    """
    pair = ensure_pair(home, HYBRID)
    texts = len(sampling.seeds) * sampling.requests
    tick = progress or (lambda _done, _all: None)
    off = sample_arm(home, build, pair, {switch: "0"}, sampling, lambda done: tick(done, 2 * texts))
    on = sample_arm(home, build, pair, {switch: "1"}, sampling, lambda done: tick(texts + done, 2 * texts))
    return tuple(SeedSet(seed=seed, off=off[seed], on=on[seed]) for seed in sampling.seeds)


def sample_arm(
    home: Home,
    build: Build,
    pair: Pair,
    env: Mapping[str, str],
    sampling: Sampling,
    progress: Callable[[int], None],
) -> dict[int, LawFigures]:
    """The figures of one arm by first seed: one server answers all seed sets."""
    scenario, logs = hybrid_scenario(pair, sampling), home.work / "logs" / GATE
    figures: dict[int, LawFigures] = {}
    with LlamaServer.start(build.path, scenario, log_dir=logs, env=env, expect_build=build.label) as server:
        for index, seed in enumerate(sampling.seeds):
            texts = []
            for text in sampled_texts(server, pair, sampling, seed=seed):
                texts.append(text)
                progress(index * sampling.requests + len(texts))
            figures[seed] = figures_of(pair.law, texts, temperature=sampling.temperature)
        server.require_as_asked()
    return figures


def hybrid_scenario(pair: Pair, sampling: Sampling) -> Scenario:
    """The hybrid pair with sampled drafts of its first-order draft."""
    return Scenario(
        name="hybrid-sampled",
        model=pair.target,
        draft=pair.simple,
        spec_type="draft-simple",
        n_max=sampling.n_max,
        flags=PROBABILISTIC,
        threads=THREADS,
        ctx=CTX,
    )


def sampled_texts(server: LlamaServer, pair: Pair, sampling: Sampling, *, seed: int) -> Iterator[Sampled]:
    """Texts from every start state in turn, each with a seed of its own.

    Raises:
        ReplyProblem: a text must not count, or is shorter than asked: the hybrid never ends by itself.
    """
    for index in range(sampling.requests):
        start = index % pair.law.n_state
        request = Request(
            prompt=pair.law.tokens_of([start]),
            n_predict=sampling.n_predict,
            temperature=sampling.temperature,
            seed=seed + index,
            full_length=True,
        )
        reply = server.complete(request)
        counters = Counters(drafted=reply.timings.draft_n, accepted=reply.timings.draft_n_accepted)
        yield Sampled(start=start, tokens=reply.tokens, counters=counters)
