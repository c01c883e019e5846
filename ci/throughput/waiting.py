"""Waiting: what CPU time cannot see. A build that sleeps where stock worked would look fast by CPU time alone.

Waiting per token is elapsed time by the server's clock minus CPU time, both with the prompt. A pair's *extra wait* is
that of side b minus that of side a, as a share of the pair's mean elapsed time: 0 for equal programs whatever the
machine does to both, 2/3 for a side b that sleeps as long as it works. A difference of times, not of log ratios: a
faster build shares the same fixed idle time over less work, which log ratios would call waiting.

Elapsed times spread by tens of percent on a busy machine, so only an interval that lies wholly above the margin is a
refusal. A wide one leaves the verdict of CPU time and stands in the evidence; a suspicious one asks for more pairs.
"""

from collections.abc import Sequence

from ci.throughput.policy import SUSPICION_ALPHA, WAIT_ALPHA, Policy
from ci.throughput.samples import Pair
from ci.throughput.stats import Interval, interval


def extra_wait(pairs: Sequence[Pair], alpha: float = WAIT_ALPHA) -> Interval:
    """The interval of the extra wait of side b; shares of elapsed time, not log ratios.

    Raises:
        ValueError: no pairs.
    """
    return interval([pair.extra_wait for pair in pairs], alpha)


def waits_more(pairs: Sequence[Pair], policy: Policy) -> str | None:
    """Why the verdict of CPU time must not stand, or None: side b surely waits more, or nobody can know."""
    found = extra_wait(pairs)
    if not found.bounded:
        return f"{found.n} pairs are too few to know at {WAIT_ALPHA:.0%} whether it waits more"
    if found.lower <= policy.margin:
        return None
    return (
        f"it waits more, which CPU time does not see: {found.estimate:+.0%} of its elapsed time per token, "
        f"surely above {found.lower:+.1%}"
    )


def may_wait_more(pairs: Sequence[Pair], policy: Policy) -> bool:
    """Whether it looks like waiting at a looser level, so that an answer should not rest on these pairs alone."""
    return extra_wait(pairs, SUSPICION_ALPHA).lower > policy.margin
