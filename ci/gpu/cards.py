"""Cards as `nvidia-smi` tells of them, and whether a build is for one."""

from dataclasses import dataclass

from ci.builds.arch import ArchPlan, Capability, Cover, covers
from ci.errors import CardUnread, UsageProblem

FIELDS = ("name", "compute_cap", "driver_version", "memory.total")
OLD_FIELDS = ("name", "driver_version", "memory.total")
"""Drivers of before 2022 refuse a query that names `compute_cap`."""

STATE = ("pstate", "clocks.sm", "clocks.max.sm", "clocks.max.mem", "power.limit", "ecc.mode.current")
"""What the figures of a card depend on beside its kind."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """One card.

    Args:
        name: such as `NVIDIA H200`.
        capability: its compute capability; None where the driver is too old to tell.
        driver: version of the driver, such as `580.159.03`.
        memory_mib: its memory, MiB.
    """

    name: str
    capability: Capability | None
    driver: str
    memory_mib: int


def query(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments of `nvidia-smi` that ask for these fields, a line a card."""
    return (f"--query-gpu={','.join(fields)}", "--format=csv,noheader")


def parse_cards(text: str, fields: tuple[str, ...] = FIELDS) -> tuple[Card, ...]:
    """The cards in what `nvidia-smi` printed; none when it printed nothing.

    Args:
        text: its output.
        fields: FIELDS or OLD_FIELDS, whichever was asked for.

    Raises:
        CardUnread: a line is no such answer; quotes it.
    """
    return tuple(_card(line, fields) for line in text.splitlines() if line.strip())


def _card(line: str, fields: tuple[str, ...]) -> Card:
    found = dict(zip(fields, line.rsplit(", ", len(fields) - 1), strict=False))  # a name may hold commas
    amount, _, unit = found.get("memory.total", "").partition(" ")
    driver = found.get("driver_version", "")
    if unit.strip() != "MiB" or not amount.isdecimal() or not driver.partition(".")[0].isdecimal():
        raise CardUnread(f"nvidia-smi says {line!r:.120}; expected {', '.join(fields)}")
    try:
        capability = Capability.parse(found["compute_cap"]) if "compute_cap" in found else None
    except UsageProblem as odd:
        raise CardUnread(f"nvidia-smi says {line!r:.120}: {odd.message}") from odd
    return Card(name=found["name"], capability=capability, driver=driver, memory_mib=int(amount))


def parse_state(text: str) -> dict[str, str]:
    """The first card's state by field; a field that it does not tell is missing."""
    values = text.splitlines()[0].split(", ") if text.strip() else []
    known = zip(STATE, values, strict=False)
    return {name: value.strip() for name, value in known if value.strip() and not value.strip().startswith("[")}


def unfit(cards: tuple[Card, ...], plan: ArchPlan, minimum_driver: str) -> str:
    """Why a build cannot be checked on these cards; empty when it can.

    Args:
        cards: all that the machine has.
        plan: device code that the build carries.
        minimum_driver: first major version of the driver that runs it; empty: any.
    """
    if len(cards) != 1:
        return f"{len(cards)} cards, expected exactly one" if cards else "no card"
    card = cards[0]
    if minimum_driver and int(card.driver.partition(".")[0]) < int(minimum_driver):
        return f"{card.name}: driver {card.driver} is older than {minimum_driver}, which this build needs"
    if card.capability is None:
        return f"{card.name}: driver {card.driver} does not tell its compute capability"
    if covers(plan, card.capability) is not Cover.NATIVE:
        carried = ", ".join(plan.sass) or "none"
        return f"{card.name}: no machine code for compute capability {card.capability}; the build carries: {carried}"
    return ""
