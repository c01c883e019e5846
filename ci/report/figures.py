"""Throughput figures as the report reads them: out of the evidence that each scenario's gate carries."""

from dataclasses import dataclass
from typing import Annotated

from ci.config import Field, Model, parse
from ci.outcome import JsonMap
from ci.release.manifest import SuiteEvidence
from ci.report.words import one_line, percent, shortened, signed

NAME_LIMIT = 60
REAL_PREFIX = "real-"
"""How the names of the scenarios with a real model begin."""
CLOCK_WORDS = {"cpu": "CPU time", "server": "the server's clock", "wall": "the client's clock"}
LogRatio = Annotated[float, Field(ge=-20, le=20)]
"""A factor of e^20 between two builds is a broken clock, not a speed."""


class Bounds(Model, extra="ignore"):
    """A log ratio with its interval; a bound is missing when the pairs are too few for its level."""

    estimate: LogRatio
    lower: LogRatio | None
    upper: LogRatio | None
    alpha: Annotated[float, Field(gt=0, lt=0.5)]


class SideFigures(Model, extra="ignore"):
    """One side of a comparison: medians over its pairs."""

    digest: str
    tokens_per_s: float | None
    cpu_ms_per_token: float | None
    tokens_per_round: float | None
    acceptance: float | None

    def rate(self, clock: str) -> float | None:
        """Tokens per second of the clock that the change rests on, so that rates and change tell the same story."""
        if clock != "cpu":
            return self.tokens_per_s
        return 1000 / self.cpu_ms_per_token if self.cpu_ms_per_token else None


class Sides(Model, extra="ignore"):
    """The control (a) and what is judged (b)."""

    a: SideFigures
    b: SideFigures


class PairedFigures(Model, extra="ignore"):
    """The evidence of a throughput gate, as `ci.throughput` writes it."""

    claims: bool
    clock: str
    log_ratio: Bounds | None
    log_ratios: tuple[LogRatio, ...]
    sides: Sides


@dataclass(frozen=True, kw_only=True)
class ScenarioFigure:
    """Throughput of one scenario: tokens per second of the speed build against stock, as log ratios.

    Attributes:
        scenario: its name.
        claims: whether a gain is promised; where not, it is measured to see that nothing got slower.
        clock: what the ratios rest on: `cpu` (CPU time of the server), `server` or `wall`.
        log_ratio: the estimate.
        low: lower bound; None when the pairs are too few for one.
        high: upper bound; None likewise.
        confidence: of the interval, between 0 and 1.
        raw: one log ratio per pair.
        stock_rate: median tokens per second of stock, by that clock.
        speed_rate: of the speed build.
        acceptance: share of the drafted tokens that the speed build accepted; None without drafts.
        tokens_per_round: tokens that a decode round of the speed build emits.
    """

    scenario: str
    claims: bool
    clock: str
    log_ratio: float
    low: float | None
    high: float | None
    confidence: float
    raw: tuple[float, ...]
    stock_rate: float | None
    speed_rate: float | None
    acceptance: float | None
    tokens_per_round: float | None

    @property
    def is_real(self) -> bool:
        """Whether a real model ran; the others are generated, with next to no layers."""
        return self.scenario.startswith(REAL_PREFIX)

    @property
    def pairs(self) -> int:
        """How many pairs were measured."""
        return len(self.raw)

    @property
    def clock_words(self) -> str:
        """What the ratios rest on, in words."""
        return CLOCK_WORDS.get(self.clock, self.clock)

    @property
    def rate_unit(self) -> str:
        """Unit of the rates."""
        return "tok/CPU s" if self.clock == "cpu" else "tok/s"

    @property
    def is_faster(self) -> bool:
        """The whole interval is above no change."""
        return self.low is not None and self.low > 0

    @property
    def is_slower(self) -> bool:
        """The whole interval is below no change."""
        return self.high is not None and self.high < 0

    @property
    def interval(self) -> str:
        """The interval in percent: `+6.1 to +10.9`."""
        if self.low is None or self.high is None:
            return "none: too few pairs"
        return f"{signed(self.low)} to {signed(self.high)}"

    @property
    def level(self) -> str:
        """The interval's confidence: `99.2 %`."""
        return f"{round(100 * self.confidence, 2):g} %"

    @property
    def words(self) -> str:
        """The gain with its interval: `+8.4 % (99.2 % interval +6.1 to +10.9)`."""
        return f"{percent(self.log_ratio)} ({self.level} interval {self.interval})"

    @property
    def short_name(self) -> str:
        """The scenario's name for plots."""
        return shortened(one_line(self.scenario), NAME_LIMIT)


def scenario_figures(evidence: SuiteEvidence | None) -> tuple[ScenarioFigure, ...]:
    """The figures of every gate that compared stock with speed by pairs; none when the suite left none.

    A gate that compared one build with itself (a patch's switch) says nothing about stock and is passed over.

    Raises:
        ConfigProblem: figures are there but not of the form that `ci.throughput` writes; lists every fault.
    """
    gates = evidence.gates if evidence else ()
    read = (_figure(gate.gate, gate.evidence) for gate in gates if "log_ratios" in gate.evidence)
    return tuple(figure for figure in read if figure is not None)


def _figure(scenario: str, evidence: JsonMap) -> ScenarioFigure | None:
    found = parse(PairedFigures, evidence, source=f"throughput figures of {scenario}", hint="run the suite again")
    stock, speed = found.sides.a, found.sides.b
    if found.log_ratio is None or stock.digest == speed.digest:
        return None
    return ScenarioFigure(
        scenario=scenario,
        claims=found.claims,
        clock=found.clock,
        log_ratio=found.log_ratio.estimate,
        low=found.log_ratio.lower,
        high=found.log_ratio.upper,
        confidence=1 - 2 * found.log_ratio.alpha,
        raw=found.log_ratios,
        stock_rate=stock.rate(found.clock),
        speed_rate=speed.rate(found.clock),
        acceptance=speed.acceptance,
        tokens_per_round=speed.tokens_per_round,
    )
