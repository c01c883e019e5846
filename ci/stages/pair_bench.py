"""Wires exact pairs, servers and closed forms together: rows of a table, one for each pair and way of drafting."""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

from ci.builds.store import Build
from ci.errors import Interrupted, ReplyProblem, ServerProblem
from ci.home import Home
from ci.law import Counters
from ci.llama.client import Request
from ci.llama.server import LlamaServer
from ci.llama.spec import Scenario
from ci.models.exact_pair import LARGE, Pair, PairSpec, ensure_pair
from ci.outcome import GateResult, Verdict
from ci.parity.pair_check import judge_pair
from ci.parity.pair_figures import MODES, PLAIN, SIMPLE_SAMPLED, Mode, pair_figures
from ci.parity.policy import CTX, PAIR_N_MAX, THREADS
from ci.parity.sampled import Sampled

AT_ONCE = 2
"""Servers side by side, one thread each: texts do not depend on what else runs, and two cores are always there."""

MORE_THAN_STATES = 8
"""The window of the samplers has room for all states and these: it changes no law, and 151,936 tokens cost much."""

Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Job:
    """The texts of one row.

    Attributes:
        spec: the pair.
        mode: how its texts are drafted.
        temperature: above 0.
        seed: of the first text; each further one has the next.
        requests: texts, from every start state in turn.
        n_predict: tokens of each: every text tests the law near a fresh start too.
    """

    spec: PairSpec
    mode: Mode
    temperature: float = 1.0
    seed: int = 20_000
    requests: int = 1_600
    n_predict: int = 32

    @property
    def name(self) -> str:
        """Of its row."""
        return f"{self.spec.name.lower()}-{self.mode.name}-t{self.temperature:g}-{self.seed}"

    @property
    def transitions(self) -> int:
        """Tokens drawn."""
        return self.requests * self.n_predict

    @property
    def drawn(self) -> tuple[object, ...]:
        """Jobs that agree in this draw the same texts, if drafts change nothing."""
        return self.spec, self.temperature, self.seed, self.n_predict


PROFILES = {
    "quick": ((1.0,), (20_000,)),
    "full": ((0.7, 1.0), (20_000, 50_000)),
}
"""Temperatures and first seeds."""

FEW = {"control": 400, "LARGE": 100}
"""Texts of a broken verification, which shows at once; in quick, of slow drafts in the large vocabulary."""


def all_jobs(specs: Sequence[PairSpec], modes: Sequence[Mode], *, profile: str, variant: str) -> tuple[Job, ...]:
    """The rows of a profile, plain sampling first.

    The hybrid with sampled drafts is left out on stock: there the checkpoint replay meets acceptance draws again,
    upstream's known defect, which the series repairs.
    """
    temperatures, seeds = PROFILES[profile]
    return tuple(
        Job(spec=spec, mode=mode, temperature=temperature, seed=seed, requests=_requests(spec, mode, profile))
        for spec in specs
        for temperature in temperatures
        for seed in seeds
        for mode in MODES.values()
        if mode in modes and not (spec.hybrid and mode == SIMPLE_SAMPLED and variant == "stock")
    )


def _requests(spec: PairSpec, mode: Mode, profile: str) -> int:
    slow = [FEW["LARGE"]] if spec == LARGE and mode != PLAIN and profile == "quick" else []
    return min([Job.requests, *slow, *([FEW["control"]] if mode.control else [])])


# ---- measuring ---------------------------------------------------------------------------------------------------


def check_pairs(
    home: Home, build: Build, jobs: Sequence[Job], progress: Progress | None = None
) -> Generator[tuple[Job, GateResult], None, None]:
    """Measure jobs, two at a time, and judge each: rows in the order of the jobs.

    A server that fails, or answers what must not count, leaves its row UNPROVEN with the fault as its reason.

    Args:
        home: for pairs and logs.
        build: of the server.
        jobs: a row each; texts are compared with those of a plain job that draws the same.
        progress: called with texts done and all texts, from several threads in turn.
    """
    pairs = {job.spec: ensure_pair(home, job.spec) for job in jobs}
    meter = _Meter(progress, sum(job.requests for job in jobs))
    plain: dict[tuple[object, ...], Sequence[Sampled]] = {}
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        drawn = pool.map(lambda job: _sampled(home, build, pairs[job.spec], job, meter), jobs)
        for job, texts in zip(jobs, drawn, strict=True):
            if isinstance(texts, GateResult):
                yield job, texts
                continue
            if job.mode == PLAIN:
                plain[job.drawn] = texts
            yield job, _judged(pairs[job.spec], job, texts, plain.get(job.drawn, ()))
    finally:  # whoever stops early does not wait for the rest
        meter.stop()
        pool.shutdown(cancel_futures=True)


def _judged(pair: Pair, job: Job, texts: Sequence[Sampled], plain: Sequence[Sampled]) -> GateResult:
    figures = pair_figures(
        pair.law,
        job.mode,
        texts,
        temperature=job.temperature,
        n_max=longest_draft(job.spec),
        hybrid=job.spec.hybrid,
        plain=plain,
    )
    return judge_pair(job.name, job.mode, figures, needed=job.transitions)


class _Meter:
    """Counts the texts of all servers, and ends their work when nobody wants it any more."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done, self._lock = progress, total, 0, Lock()
        self._stopped = False

    def tick(self) -> None:
        with self._lock:
            if self._stopped:
                raise Interrupted("the rows are not wanted any more")
            self._done += 1
            if self._progress:
                self._progress(self._done, self._total)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True


def _sampled(home: Home, build: Build, pair: Pair, job: Job, meter: _Meter) -> Sequence[Sampled] | GateResult:
    try:
        return draw(home, build, pair, job, meter.tick)
    except (ReplyProblem, ServerProblem) as doubt:
        return GateResult(gate=job.name, verdict=Verdict.UNPROVEN, reason=doubt.message)


def draw(
    home: Home, build: Build, pair: Pair, job: Job, tick: Callable[[], None] = lambda: None
) -> tuple[Sampled, ...]:
    """The texts of a job from a server of its own; `tick` is called after each.

    Raises:
        ReplyProblem, ServerProblem: there are no texts that count.
    """
    logs = home.work / "logs" / "pairs"
    with LlamaServer.start(build.path, scenario_of(pair, job), log_dir=logs, expect_build=build.label) as server:
        texts = tuple(_texts(server, pair, job, tick))
        server.require_as_asked()
    return texts


def longest_draft(spec: PairSpec) -> int:
    """Tokens of the longest draft: that of the gates, or what the DSpark model can."""
    return min(PAIR_N_MAX, spec.longest_draft)


def scenario_of(pair: Pair, job: Job) -> Scenario:
    """What the server of a job runs."""
    mode = job.mode
    if mode.spec_type is None:
        return Scenario(name=job.name, model=pair.target, threads=THREADS, ctx=CTX)
    return Scenario(
        name=job.name,
        model=pair.target,
        draft=pair.draft if mode.spec_type == "draft-dspark" else pair.simple,
        spec_type=mode.spec_type,
        n_max=longest_draft(pair.spec),
        p_min=mode.p_min or None,
        flags=mode.flags,
        threads=THREADS,
        ctx=CTX,
    )


def _texts(server: LlamaServer, pair: Pair, job: Job, tick: Callable[[], None]) -> Iterator[Sampled]:
    for index in range(job.requests):
        start = index % pair.law.n_state
        request = Request(
            prompt=pair.law.tokens_of([start]),
            n_predict=job.n_predict,
            temperature=job.temperature,
            top_k=pair.law.n_state + MORE_THAN_STATES,
            seed=job.seed + index,
            full_length=True,
        )
        reply = server.complete(request)
        counters = Counters(drafted=reply.timings.draft_n, accepted=reply.timings.draft_n_accepted)
        yield Sampled(start=start, tokens=reply.tokens, counters=counters)
        tick()
