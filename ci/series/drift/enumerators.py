"""The values of an enum, counted out: an enumerator put in the middle changes all that follow."""

import re
from collections.abc import Iterable, Iterator

NUMBER = re.compile(r"([-+]?)\s*(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)[uUlLzZ]*")
MOST_BITS = 64


def counted(written: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Each enumerator with its value.

    Args:
        written: names, and values as they stand there (empty where there is none).

    Yields:
        names and values: a number where it can be known, else words such as `LAST + 2`. Enumerators under
        conditions count as if every condition held.
    """
    known: dict[str, str] = {}
    base, step = "", 0
    for name, value in written:
        if value:
            base, step = known.get(value, value), 0
        number = _number(base) if base else 0
        known[name] = _sum(base, step) if number is None else str(number + step)
        yield name, known[name]
        step += 1


def _sum(base: str, step: int) -> str:
    """What cannot be calculated, in words."""
    if not step:
        return base
    return f"{base} + {step}" if base.isidentifier() else f"({base}) + {step}"


def _number(text: str) -> int | None:
    """The value of a literal or of one shifted by another, as C reads them."""
    first, shift, second = text.partition("<<")
    left = _literal(first.strip())
    if not shift or left is None:
        return left
    right = _literal(second.strip())
    return left << right if right is not None and 0 <= right < MOST_BITS else None


def _literal(text: str) -> int | None:
    found = NUMBER.fullmatch(text)
    if not found:
        return None
    digits = found[2].replace("'", "").lower()
    base = {"0x": 16, "0b": 2}.get(digits[:2], 8 if digits.startswith("0") else 10)
    try:
        value = int(digits, base)
    except ValueError:  # 09 is no number
        return None
    return -value if found[1] == "-" else value
