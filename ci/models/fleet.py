"""`fleet.toml`: the cards that models are matched to, and which models they serve."""

import shlex
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ci.builds.arch import Capability
from ci.config import CONFIG_DIR, Field, Model, load_toml
from ci.errors import ConfigProblem, UsageProblem
from ci.suggest import did_you_mean

FLEET_FILE = CONFIG_DIR / "fleet.toml"
MOST_MIB = 1 << 24  # 16 TiB


class Card(Model):
    """One kind of card; what nobody said is None or empty, and nothing that needs it is ever OK."""

    name: str = Field(pattern=r"^[^\p{C}\s]([^\p{C}]*[^\p{C}\s])?$", max_length=80)
    memory_mib: int = Field(gt=0, le=MOST_MIB, strict=True)
    capability: str | None = Field(default=None, pattern=r"^[0-9]{1,2}\.[0-9]$")
    driver: str = Field(default="", pattern=r"^([0-9]{3,4}(\.[0-9]+)*)?$")
    serves: tuple[str, ...] | None = None

    @property
    def computes(self) -> Capability | None:
        """Its compute capability."""
        return Capability.parse(self.capability) if self.capability else None


class _File(Model):
    card: tuple[Card, ...]  # that there is one is checked later: a faulty card would count as none


def load_fleet(path: Path = FLEET_FILE) -> tuple[Card, ...]:
    """All cards in file order.

    Raises:
        ConfigProblem: not a valid file, or a name twice, letters in either case; lists all faults.
    """
    cards = load_toml(_File, path, hint=f"copy {FLEET_FILE} and edit it").card
    if not cards:
        raise ConfigProblem(
            f"{path}: no card (expected at least one [[card]])", hint=f"copy {FLEET_FILE} and edit it"
        )
    twice = [name for name, count in Counter(card.name.lower() for card in cards).items() if count > 1]
    if twice:
        raise ConfigProblem(f"{path}: card {', '.join(map(repr, twice))} stands more than once", hint=f"edit {path}")
    return cards


def cards_named(cards: Iterable[Card], names: Iterable[str]) -> tuple[Card, ...]:
    """The cards of those names, letters in either case; all when no name is given.

    Raises:
        UsageProblem: no such card; suggests the closest.
    """
    by_name = {card.name.lower(): card for card in cards}
    wanted = tuple(names) or tuple(by_name)
    for name in wanted:
        if name.lower() not in by_name:
            known = [card.name for card in by_name.values()]
            words = f"no card {name!r} in the fleet ({', '.join(known)}){did_you_mean(name, known)}"
            raise UsageProblem(words, hint=shlex.join(("invoke", "compat", "--card", known[0])))
    return tuple(by_name[name.lower()] for name in wanted)
