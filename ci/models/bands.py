"""`bands.toml`: published figures, and how a measured one stands beside them."""

import datetime as dt
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ci.config import CONFIG_DIR, Field, Model, load_toml
from ci.errors import ConfigProblem, UsageProblem

BANDS_FILE = CONFIG_DIR / "bands.toml"

Metric = Literal["decode", "speedup", "accepted", "acceptance", "kld"]
METRICS: tuple[Metric, ...] = get_args(Metric)
UNITS: dict[Metric, str] = {
    "decode": "tok/s",
    "speedup": "x",
    "accepted": "tokens a round",
    "acceptance": "%",
    "kld": "nats a token",
}
"""By metric; of every one but `kld` more is better."""

PERCENT = 100


class Band(Model):
    """A published figure: a value or a range, what it holds for, and who said it."""

    model: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    metric: Metric
    low: float = Field(gt=0)
    high: float = Field(gt=0)
    against: float | None = Field(default=None, gt=0)
    context: str = Field(min_length=1)
    source: str = Field(min_length=1)
    date: dt.date | None = None

    def __str__(self) -> str:
        """Such as `506 tok/s against 352`."""
        value = f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"
        compared = f" against {self.against:g}" if self.against else ""
        return f"{value} {UNITS[self.metric]}{compared}"


class _File(Model):
    band: tuple[Band, ...] = Field(min_length=1)


@dataclass(frozen=True, kw_only=True)
class Beside:
    """A measured figure beside a published one.

    Attributes:
        band: the published one.
        measured: in the same unit.
    """

    band: Band
    measured: float

    @property
    def words(self) -> str:
        """Where it lies, such as `0.95 of the published value`: no verdict, for the conditions differ."""
        low, high = self.band.low, self.band.high
        if low <= self.measured <= high:
            return "within what was published"
        edge, side = (low, "below") if self.measured < low else (high, "above")
        return f"{side}: {self.measured / edge:.3g} of the published {edge:g}"


def load_bands(path: Path = BANDS_FILE) -> tuple[Band, ...]:
    """All published figures in file order.

    Raises:
        ConfigProblem: not a valid file, or a range that ends before it begins; lists all faults.
    """
    bands = load_toml(_File, path, hint=f"edit {path}").band
    turned = [
        f"{band.model} {band.metric}: low {band.low:g} > high {band.high:g}" for band in bands if band.low > band.high
    ]
    if turned:
        raise ConfigProblem(f"{path}: {'; '.join(turned)}", hint=f"edit {path}")
    return bands


def bands_for(name: str | None, path: Path = BANDS_FILE) -> tuple[Band, ...]:
    """What was published about a pair or a model; empty where nothing was, or `name` is None."""
    return tuple(band for band in load_bands(path) if band.model == name)


def parse_measured(text: str) -> tuple[Metric, float]:
    """Read `decode=480.5`.

    Raises:
        UsageProblem: no such metric, no number, or a part of one where percent are meant.
    """
    name, _, number = text.partition("=")
    metric = next((known for known in METRICS if known == name.strip()), None)
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if metric is None or not 0 < value < float("inf"):
        raise UsageProblem(
            f"--measured {text!r} is not METRIC=NUMBER with a metric of {', '.join(METRICS)}",
            hint="invoke compat --model qwen3-8b --measured speedup=1.7",
        )
    if UNITS[metric] == "%" and not 1 < value <= PERCENT:
        meant = f"{metric}={value * PERCENT:g}" if value <= 1 else f"{metric}=68"
        raise UsageProblem(
            f"--measured {text!r}: {metric} is in percent (expected more than 1, at most {PERCENT})",
            hint=f"invoke compat --model ID --measured {meant}",
        )
    return metric, value
