"""Values of a measurement: sides, samples, pairs, and what makes them doubtful."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ci.builds.alike import differences
from ci.errors import ReplyProblem
from ci.llama.reply import Reply
from ci.throughput.clocks import ClockName
from ci.throughput.pairing import Turn
from ci.throughput.policy import CLOCK_ALPHA, CLOCK_FLOOR
from ci.throughput.stats import interval


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two things compared: a build and the environment it runs in.

    Attributes:
        name: for people.
        build: its folder.
        digest: of its files.
        label: what its server must report; None accepts any.
        env: variables that it runs with.
        making: how it was built, in words by name; must be equal on both sides.
    """

    name: str
    build: Path
    digest: str
    label: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    making: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One reply that counts: its work and its time.

    Attributes:
        tokens: generated ids.
        ms_per_token: by the server's clock.
        wall_ms_per_token: by ours, without the prompt.
        cpu_ms_per_token: CPU time of the server for the whole request, prompt included, over its tokens.
        elapsed_ms_per_token: by the server's clock as `cpu_ms_per_token`: prompt included, over its tokens.
        rounds: decode rounds.
        draft_n: drafted tokens.
        draft_n_accepted: of them accepted.
    """

    tokens: tuple[int, ...]
    ms_per_token: float
    wall_ms_per_token: float
    cpu_ms_per_token: float
    elapsed_ms_per_token: float
    rounds: int
    draft_n: int
    draft_n_accepted: int

    @property
    def wait_ms_per_token(self) -> float:
        """Time that the server took and did not compute."""
        return self.elapsed_ms_per_token - self.cpu_ms_per_token

    @property
    def tokens_per_round(self) -> float:
        """Mean tokens that one decode round emits."""
        return len(self.tokens) / self.rounds

    @property
    def work(self) -> tuple[tuple[int, ...], int, int]:
        """What must be equal on both sides."""
        return self.tokens, self.draft_n, self.draft_n_accepted


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two samples for one prompt, measured one right after the other."""

    turn: Turn
    a: Sample
    b: Sample

    def log_ratio(self, clock: ClockName) -> float:
        """Log of tokens/s of side b over side a by one of the clocks: positive when b is faster."""
        times = {
            "cpu": (self.a.cpu_ms_per_token, self.b.cpu_ms_per_token),
            "server": (self.a.ms_per_token, self.b.ms_per_token),
            "wall": (self.a.wall_ms_per_token, self.b.wall_ms_per_token),
        }
        return math.log(times[clock][0] / times[clock][1])

    @property
    def extra_wait(self) -> float:
        """How much longer side b waits per token, as a share of the pair's mean elapsed time."""
        mean = (self.a.elapsed_ms_per_token + self.b.elapsed_ms_per_token) / 2
        return (self.b.wait_ms_per_token - self.a.wait_ms_per_token) / mean

    @property
    def round_log_ratio(self) -> float:
        """The part that comes from tokens per round; the rest is time per round."""
        return math.log(self.b.tokens_per_round / self.a.tokens_per_round)


def not_comparable(side_a: Side, side_b: Side) -> str | None:
    """Why two sides cannot be compared, or None: one thing twice, or builds that were made otherwise."""
    if side_a.digest == side_b.digest and dict(side_a.env) == dict(side_b.env):
        return f"{side_a.name} and {side_b.name} are the same build ({side_a.digest[:12]}) run the same way"
    unlike = differences(side_a.making, side_b.making)
    if unlike:
        return f"{side_a.name} and {side_b.name} were not made alike: {'; '.join(unlike)}"
    return None


def sample_of(reply: Reply, *, wall_ms: float, cpu_ms: float) -> Sample:
    """A reply as a sample.

    Args:
        reply: the answer.
        wall_ms: milliseconds that it took by our clock, without its prompt.
        cpu_ms: milliseconds of CPU time that the server used for it.

    Raises:
        ReplyProblem: a clock did not advance.
    """
    timings = reply.timings
    if min(timings.predicted_ms, wall_ms, cpu_ms) <= 0:
        raise ReplyProblem(
            f"{timings.predicted_n} tokens took {timings.predicted_ms} ms (server), {wall_ms:.3f} ms (our clock), "
            f"{cpu_ms:.3f} ms (CPU); each must be above 0"
        )
    return Sample(
        tokens=reply.tokens,
        ms_per_token=timings.ms_per_token,
        wall_ms_per_token=wall_ms / max(timings.predicted_n - 1, 1),
        cpu_ms_per_token=cpu_ms / timings.predicted_n,
        elapsed_ms_per_token=(timings.prompt_ms + timings.predicted_ms) / timings.predicted_n,
        rounds=timings.rounds,
        draft_n=timings.draft_n,
        draft_n_accepted=timings.draft_n_accepted,
    )


def faults_of(
    pairs: Sequence[Pair],
    sides: tuple[Side, Side],
    *,
    build_infos: Sequence[str],
    speculative: bool,
    clock_slack: float,
) -> Iterator[str]:
    """Why complete pairs must not be judged; nothing when they may.

    Args:
        pairs: what was measured.
        sides: the two sides.
        build_infos: what their servers said they are.
        speculative: whether drafts are part of the scenario.
        clock_slack: part of the estimate by which the two clocks may differ.
    """
    if sides[0].digest != sides[1].digest and len(set(build_infos)) < 2:
        yield f"one build served twice: both servers say that they are {', '.join(set(build_infos))!r}"
    for side, samples in zip(sides, zip(*((pair.a, pair.b) for pair in pairs), strict=True), strict=True):
        if speculative and not any(sample.draft_n for sample in samples):
            yield f"{side.name}: draft_n is 0 in all {len(samples)} samples of a speculative scenario"
    yield from _other_work(pairs)
    yield from _clocks_apart(pairs, clock_slack)


def _other_work(pairs: Sequence[Pair]) -> Iterator[str]:
    """Our patches are bitwise, and a request's seed fixes what is drawn, so sampled texts must be equal too."""
    odd = [pair for pair in pairs if pair.a.work != pair.b.work]
    if odd:
        tokens = "token ids" if odd[0].a.tokens != odd[0].b.tokens else "draft counters"
        yield (
            f"{len(odd)} of {len(pairs)} pairs did not do the same work: {tokens} differ "
            f"(first in pair {odd[0].turn.index}); the parity suite judges that"
        )


def _clocks_apart(pairs: Sequence[Pair], slack: float) -> Iterator[str]:
    """Compare the two elapsed times pair by pair; only a difference that is surely too large counts."""
    ours = statistics.median(pair.log_ratio("wall") for pair in pairs)
    apart = interval([pair.log_ratio("server") - pair.log_ratio("wall") for pair in pairs], CLOCK_ALPHA)
    allowed = CLOCK_FLOOR + slack * abs(ours)
    if apart.lower > allowed or apart.upper < -allowed:
        yield f"the servers' clocks give a log ratio that is off by {apart.estimate:+.4f} from ours ({ours:+.4f})"
