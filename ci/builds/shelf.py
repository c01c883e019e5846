"""What lies in the store and in the engine, and what of it nobody needs any more: a decision, without touching it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

KEEP = 2
"""How many of the newest builds of a target and variant stay, whatever points at them: today's and the one before."""


class Kind(StrEnum):
    """What an item is."""

    BUILD = "build"
    LEFTOVER = "leftover"
    CACHE = "compiler cache"
    TOOLCHAIN = "toolchain image"


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing that takes room.

    Args:
        kind: what it is.
        name: how it is found: a path, the name of a volume, the id of an image.
        about: what a person calls it: `speed b11434-speed.1`.
        target: id of the target, or the lane; empty where there is none.
        size: bytes; None where nobody tells.
        made: seconds since 1970; 0 where nobody tells.
        digest: over its content.
        used: who needs it; empty when nobody does.
        fault: what is wrong with it; empty when it is whole.
    """

    kind: Kind
    name: str
    about: str
    target: str = ""
    size: int | None = None
    made: float = 0.0
    digest: str = ""
    used: str = ""
    fault: str = ""


@dataclass(frozen=True, kw_only=True)
class Doomed:
    """An item to remove, and why."""

    item: Item
    why: str


def prunable(items: Sequence[Item], *, keep: int = KEEP) -> tuple[Doomed, ...]:
    """What may go: damaged builds, old builds that nothing points at, leftovers, caches and images of no toolchain.

    Args:
        items: everything that is there.
        keep: newest whole builds of each target and variant that stay in any case.
    """
    fresh = newest(items, keep)
    reasons = ((item, _why(item, fresh)) for item in items)
    return tuple(Doomed(item=item, why=why) for item, why in reasons if why)


def _why(item: Item, fresh: frozenset[str]) -> str:
    """Why an item may go; empty when it stays."""
    if item.used:
        return ""
    match item.kind:
        case Kind.LEFTOVER:
            return "left by a process that was killed"
        case Kind.BUILD if item.fault:
            return item.fault
        case Kind.BUILD:
            return "" if item.name in fresh else "no record points at it, and it is not among the newest"
        case Kind.CACHE | Kind.TOOLCHAIN:
            return "no lane uses its toolchain"


def newest(items: Sequence[Item], keep: int) -> frozenset[str]:
    """Names of the newest whole builds of each target and variant."""
    seen: Counter[tuple[str, str]] = Counter()
    names = set()
    whole = [item for item in items if item.kind is Kind.BUILD and not item.fault]
    for item in sorted(whole, key=lambda item: (-item.made, item.name)):
        group = (item.target, item.about.partition(" ")[0])
        seen[group] += 1
        if seen[group] <= keep:
            names.add(item.name)
    return frozenset(names)


def total(items: Sequence[Item]) -> int:
    """Bytes of the items whose size is known."""
    return sum(item.size or 0 for item in items)
