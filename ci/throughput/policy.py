"""The numbers of the throughput gate that someone may argue about, each with its reason."""

import math
import re
from dataclasses import dataclass

from ci.errors import ConfigProblem
from ci.throughput.clocks import RATES, ClockName

SHARE = re.compile(r"(\d+(?:\.\d+)?) ?%")


def parse_share(text: str) -> float:
    """A share such as `3 %` as a fraction between 0 and 1, both excluded.

    Raises:
        ConfigProblem: no number with a percent sign, or out of range. A number without a unit is never guessed at:
            elsewhere `5` has meant five seconds, and a gate that compares with five seconds never fires.
    """
    found = SHARE.fullmatch(text.strip())
    share = float(found[1]) / 100 if found else math.nan
    if not 0 < share < 1:
        raise ConfigProblem(f"share {text!r}: expected a number with a unit between 0 % and 100 %, such as '3 %'")
    return share


CLOCK_FLOOR = 0.03  # log ratio: HTTP and prompt handling on a busy machine
CLOCK_ALPHA = 0.01  # one-sided, for the server's clock against ours; 8 pairs reach it

WAIT_ALPHA = 0.01
"""One-sided level at which a side surely waits more than the other; a constant, because the looks' own levels are
spent on speed. 7 pairs reach it (1/2^7), so that every first look does."""

SUSPICION_ALPHA = 0.1
"""Looser level at which waiting is suspected, so that a look does not end a scenario. One honest scenario in ten
measures more pairs for it. Simulated with elapsed times that spread by 40 % a pair, quick profile: a build that
sleeps as long as it works is caught in 99 % or more, an equal build refused in 1.5 % or fewer."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """One moment at which the gate may decide: after so many pairs, at such a one-sided error level."""

    pairs: int
    alpha: float


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Numbers of one profile.

    Attributes:
        margin: loss of tokens/s, by the clock that is judged, that we call a regression (lower tokens/s is worse).
        looks: when to decide. The error levels are spent, not reused: their sum bounds the chance that any interval
            of the sequence misses the truth on one side (Bonferroni), however the looks depend on each other.
        pairs_per_start: pairs measured before both servers are started afresh, so that the memory layout of one
            process does not pass for the speed of a build.
        warmup: requests per side and start that do not count (cold caches, first graph).
        clock_slack: part of an estimate by which the server's clock and ours may differ.
        min_gain: gain of tokens/s that the lower bound must exceed to be called faster.
    """

    margin: float
    looks: tuple[Look, ...]
    pairs_per_start: int
    warmup: int
    clock_slack: float = 0.25
    min_gain: float = 0.0

    @property
    def log_margin(self) -> float:
        """The margin as a log ratio: -ln(1 - margin), 0.0305 for 3 %."""
        return -math.log1p(-self.margin)

    @property
    def log_min_gain(self) -> float:
        """The least gain as a log ratio: ln(1 + min_gain)."""
        return math.log1p(self.min_gain)

    def rule(self, clock: ClockName, *, judged: str, control: str) -> str:
        """The rule in words, as printed beside every verdict.

        Args:
            clock: what is judged by.
            judged: name of side b.
            control: name of side a.
        """
        looks = ", ".join(f"{look.pairs} pairs at {look.alpha:.1%}" for look in self.looks)
        return (
            f"{RATES[clock]} of {judged} against {control} (lower is worse): PASS when the lower bound of the gain "
            f"is above -{self.margin:.0%} (above {self.min_gain:.0%} where a gain is claimed), FAIL when the upper "
            f"bound is below 0 and the estimate below -{self.margin / 2:.1%}, confirmed by a later look; "
            f"looks: {looks}, one-sided{self.waiting_rule if clock == 'cpu' else ''}"
        )

    @property
    def waiting_rule(self) -> str:
        """The part about what CPU time cannot see."""
        return (
            f"; refused when it surely waits more: elapsed minus CPU time per token above the control's by more than "
            f"{self.margin:.0%} of the pair's mean elapsed time, at {WAIT_ALPHA:.0%} one-sided; suspected at "
            f"{SUSPICION_ALPHA:.0%}: more pairs; an interval that is merely wide leaves the verdict of CPU time"
        )


POLICIES = {
    # 8 pairs are the fewest whose signed-rank interval reaches 0.4 % one-sided (1/2^8); together 1 % per scenario.
    # Most scenarios end at the first look; 32 and 64 pairs are for small gains on a machine with other work to do.
    "quick": Policy(
        margin=parse_share("3 %"),
        looks=(
            Look(pairs=8, alpha=0.004),
            Look(pairs=16, alpha=0.002),
            Look(pairs=32, alpha=0.002),
            Look(pairs=64, alpha=0.002),
        ),
        pairs_per_start=4,
        warmup=1,
    ),
    # a pair spread of 3 % needs about 27 pairs for a 3 % margin at 0.1 %; together 0.5 % per scenario
    "full": Policy(
        margin=parse_share("3 %"),
        looks=(Look(pairs=16, alpha=0.002), Look(pairs=32, alpha=0.0015), Look(pairs=64, alpha=0.0015)),
        pairs_per_start=4,
        warmup=1,
    ),
}

MIN_GAIN = parse_share("2 %")  # a patch is worth carrying when the lower 95 % bound of its gain is above this


def switch_policy(pairs: int) -> Policy:
    """One look and no early stop, so that the gain is published as it was measured; 2.5 % on each side."""
    look = Look(pairs=pairs, alpha=0.025)
    return Policy(margin=parse_share("3 %"), looks=(look,), pairs_per_start=5, warmup=1, min_gain=MIN_GAIN)


SWITCHES = {"quick": switch_policy(10), "full": switch_policy(20)}  # one binary, switch off against on
