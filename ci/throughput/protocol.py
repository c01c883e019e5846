"""Measuring one scenario on two sides: randomised pairs, alternating servers, an answer or the reason for none.

Both servers of a pair are up while the pair is measured and one works at a time. An idle llama-server with one
thread costs nothing (its worker threads sleep), and two that are warm at once see the same moment of the machine,
which restarts in between would not. The servers are restarted every few pairs (`Policy.pairs_per_start`), because the
memory layout of one process can make the same binary look faster or slower for as long as that process lives.

Three clocks run. A scenario of one CPU thread is judged by the CPU time of the server per token: on a machine that
does other things too its pairs spread by a few percent where elapsed time spreads by tens, and on a quiet one they
agree. The server's own clock (`predicted_ms`, first to last token) judges everything else, and catches here what CPU
time cannot see: waiting. Our clock around the request checks the server's.

Tokens per second factor into tokens per round and time per round. Both sides must emit the same tokens with the same
draft counters, sampled texts too (our patches are bitwise and both sides draw with the same seed), so that the whole
difference is time.
"""

import contextlib
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeAlias

from ci.errors import ReplyProblem, ServerProblem, ServerUnlike
from ci.llama.reply import Reply, Request
from ci.llama.spec import Plan, Scenario
from ci.throughput.pairing import Prompt, Turn, schedule
from ci.throughput.policy import Policy
from ci.throughput.samples import Pair, Sample, Side, faults_of, not_comparable, sample_of
from ci.throughput.stats import Interval
from ci.throughput.verdict import Decision, Measured, judge, ratios
from ci.throughput.waiting import may_wait_more, waits_more

WARMUP_TOKENS = 64


class Server(Protocol):
    """What the protocol needs of a running server."""

    @property
    def build_info(self) -> str:
        """The build that it says it is."""

    @property
    def degraded(self) -> tuple[str, ...]:
        """Log lines which say that it runs less than asked."""

    def cpu_s(self) -> float:
        """CPU seconds used so far."""

    def complete(self, request: Request) -> Reply:
        """Answer one request; raises ReplyProblem when the answer must not count."""


Starter: TypeAlias = Callable[[Side, Scenario], AbstractContextManager[Server]]
Clock: TypeAlias = Callable[[], float]
Progress: TypeAlias = Callable[[int, int], None]


def switch_sides(build: Path, digest: str, *, label: str | None, switch: str) -> tuple[Side, Side]:
    """One binary twice: a patch switched off (side a) against the patch on, as it is by default (side b)."""
    off = Side(name=f"{switch}=0", build=build, digest=digest, label=label, env={switch: "0"})
    on = Side(name=f"{switch}=1", build=build, digest=digest, label=label, env={switch: "1"})
    return off, on


def measure(
    scenario: Scenario,
    plan: Plan,
    side_a: Side,
    side_b: Side,
    *,
    start: Starter,
    prompts: Sequence[Prompt],
    policy: Policy,
    seed: int,
    claims: bool | None = None,
    progress: Progress | None = None,
    clock: Clock = time.perf_counter,
) -> Measured:
    """Measure pairs until the policy decides.

    Args:
        scenario: what both servers run.
        plan: request protocol of the scenario.
        side_a: the control (stock, or a patch switched off).
        side_b: what is judged.
        start: starts a server for a side.
        prompts: at least as many as the policy's last look; none twice.
        policy: looks, margin, restarts.
        seed: of the order within pairs.
        claims: whether a gain is promised; the plan's own word when omitted.
        progress: called with pairs done and most pairs.
        clock: seconds, monotonic.

    Returns:
        Pairs and a decision; with refusals (and then nothing decided) when anything makes the figures doubtful.
    """
    run = _Run(scenario, plan, (side_a, side_b), policy, start, clock)
    promised = plan.claims if claims is None else claims
    outcome, refusals = None, [reason for reason in (not_comparable(side_a, side_b),) if reason]
    if not refusals:
        turns = schedule(tuple(prompts)[: policy.looks[-1].pairs], seed=seed)
        try:
            outcome = run.until_decided(turns, claims=promised, progress=progress)
            refusals = run.faults(outcome)
        except (ReplyProblem, ServerProblem) as doubt:
            refusals = [doubt.message]
    decision, interval = outcome if outcome and not refusals else (Decision.UNDECIDED, None)
    return Measured(
        scenario=scenario.name,
        claims=promised,
        sides=(side_a, side_b),
        build_infos=tuple(run.build_infos),
        pairs=tuple(run.pairs),
        clock=plan.clock,
        decision=decision,
        interval=interval,
        refusals=tuple(refusals),
        policy=policy,
    )


class _Run:
    """The state of one scenario while it is measured."""

    def __init__(
        self,
        scenario: Scenario,
        plan: Plan,
        sides: tuple[Side, Side],
        policy: Policy,
        start: Starter,
        clock: Clock,
    ) -> None:
        self.scenario, self.plan, self.sides, self.policy = scenario, plan, sides, policy
        self.start, self.clock = start, clock
        self.pairs: list[Pair] = []
        self.build_infos: list[str] = []

    def until_decided(
        self, turns: Sequence[Turn], *, claims: bool, progress: Progress | None
    ) -> tuple[Decision, Interval] | None:
        step, outcome = self.policy.pairs_per_start, None
        for begin in range(0, len(turns), step):
            with contextlib.ExitStack() as stack:
                servers = [stack.enter_context(self.start(side, self.scenario)) for side in self.sides]
                self._warm(servers, turns[begin])
                for turn in turns[begin : begin + step]:
                    self.pairs.append(self._pair(servers, turn))
                    if progress:
                        progress(len(self.pairs), len(turns))
                self._check(servers)
            outcome = judge(ratios(self.pairs, self.plan.clock), self.policy, claims=claims)
            if outcome and not self._suspicious(outcome):
                break
        return outcome

    def _suspicious(self, outcome: tuple[Decision, Interval]) -> bool:
        """Whether CPU time may hide waiting, so that further pairs are measured if there are any."""
        return self._blind(outcome) and may_wait_more(self.pairs, self.policy)

    def _blind(self, outcome: tuple[Decision, Interval] | None) -> bool:
        """Whether a decision rests on CPU time and is no loss, so that waiting would make it false."""
        return self.plan.clock == "cpu" and outcome is not None and outcome[0] is not Decision.SLOWER

    def _warm(self, servers: Sequence[Server], turn: Turn) -> None:
        self.build_infos = [server.build_info for server in servers]
        for server in servers:
            for i in range(self.policy.warmup):
                server.complete(self._warmup(turn, i))

    def _warmup(self, turn: Turn, i: int) -> Request:
        n_predict = min(WARMUP_TOKENS, self.plan.n_predict)
        request = self._request(turn)
        return replace(request, prompt=turn.prompt[::-1], seed=1 + i, n_predict=n_predict, full_length=False)

    def _request(self, turn: Turn) -> Request:
        plan = self.plan
        return Request(
            prompt=turn.prompt,
            n_predict=plan.n_predict,
            temperature=plan.temperature,
            top_k=plan.top_k,
            seed=turn.seed,
            full_length=True,
        )

    def _pair(self, servers: Sequence[Server], turn: Turn) -> Pair:
        request = self._request(turn)
        samples = {name: self._sample(servers["ab".index(name)], request) for name in turn.order}
        return Pair(turn=turn, a=samples["a"], b=samples["b"])

    def _sample(self, server: Server, request: Request) -> Sample:
        cpu, begin = server.cpu_s(), self.clock()
        reply = server.complete(request)
        wall_ms = 1000 * (self.clock() - begin) - reply.timings.prompt_ms
        return sample_of(reply, wall_ms=wall_ms, cpu_ms=1000 * (server.cpu_s() - cpu))

    def _check(self, servers: Sequence[Server]) -> None:
        for side, server in zip(self.sides, servers, strict=True):
            if server.degraded:
                raise ServerUnlike(f"{side.name}: the server changed the work: {server.degraded[0]}")

    def faults(self, outcome: tuple[Decision, Interval] | None) -> list[str]:
        found = faults_of(
            self.pairs,
            self.sides,
            build_infos=self.build_infos,
            speculative=self.scenario.speculative,
            clock_slack=self.policy.clock_slack,
        )
        waits = waits_more(self.pairs, self.policy) if self._blind(outcome) else None
        return [*found, *([waits] if waits else [])]
