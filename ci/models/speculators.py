"""`speculators.toml`: speculators that are known to exist, and which models have one."""

import datetime as dt
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from ci.config import CONFIG_DIR, Field, Model, load_toml

SPECULATORS_FILE = CONFIG_DIR / "speculators.toml"
GB = 10**9


class Speculator(Model):
    """One speculator; what nobody noted is None."""

    name: str = Field(min_length=1)
    kind: Literal["dspark", "mtp"]
    target: str = Field(min_length=1)
    form: Literal["gguf", "safetensors"]
    pair: str | None = None
    size_gb: float | None = Field(default=None, gt=0)
    source: str = ""
    date: dt.date | None = None

    @property
    def found_at(self) -> str:
        """Where it is published."""
        return self.source or f"https://huggingface.co/{self.name}"

    @property
    def size(self) -> int:
        """Bytes as published; 0 where nobody said."""
        return round((self.size_gb or 0) * GB)


class _File(Model):
    speculator: tuple[Speculator, ...] = Field(min_length=1)


def load_speculators(path: Path = SPECULATORS_FILE) -> tuple[Speculator, ...]:
    """All speculators in file order.

    Raises:
        ConfigProblem: not a valid file; lists all faults.
    """
    return load_toml(_File, path, hint=f"edit {path}").speculator


def speculators_for(
    names: Iterable[str | None], known: Iterable[Speculator], *, kind: str | None = None
) -> tuple[Speculator, ...]:
    """Those of the pair or the model of any of these ids.

    Args:
        names: ids of a pair and of a model; None is no id.
        known: where to look.
        kind: `dspark` or `mtp` only.
    """
    wanted = {name for name in names if name}
    return tuple(one for one in known if one.pair in wanted and kind in (None, one.kind))
