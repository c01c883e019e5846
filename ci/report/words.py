"""How values are spelled for people: signed percentages, sizes, durations, and text that is safe to show."""

import math
import unicodedata
from collections.abc import Mapping

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories that can hide or reorder what a reader sees (controls, bidi overrides, surrogates)."""
KEPT = "\n\t"
SIZE_UNITS = ("B", "kB", "MB", "GB", "TB")


def visible(text: str) -> str:
    """The text without characters that a reader cannot see; each becomes U+FFFD. Newlines and tabs stay."""
    return "".join(
        "\ufffd" if unicodedata.category(char) in HIDDEN and char not in KEPT else char
        for char in text.replace("\r\n", "\n")
    )


def one_line(text: str) -> str:
    """Visible text with every run of white space as one blank."""
    return " ".join(visible(text).split())


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning and end around an ellipsis when it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    head = (limit - 1) * 2 // 3
    return f"{text[:head]}\u2026{text[len(text) - (limit - 1 - head) :]}"


def percent(log_ratio: float) -> str:
    """A log ratio of speeds as a signed change: log(1.084) gives `+8.4 %`."""
    return f"{signed(log_ratio)} %"


def signed(log_ratio: float) -> str:
    """A log ratio of speeds as a signed percentage without its unit.

    One decimal; two where one would hide the side of zero that the value is on.
    """
    change = 100 * math.expm1(log_ratio)
    near_zero = change != 0 and round(change, 1) == 0
    return f"{change:+.{2 if near_zero else 1}f}"


def sentence(text: str) -> str:
    """The text as one line that ends with a full stop."""
    line = one_line(text)
    return line if line[-1:] in (".", "!", "?") else f"{line}."


def size(count: int) -> str:
    """Bytes in decimal units, three digits or so: `12.3 MB`."""
    if count < 1000:
        return f"{count} B"
    power = min(int(math.log10(count) / 3 + 1e-9), len(SIZE_UNITS) - 1)
    if count / 1000**power >= 999.95 and power + 1 < len(SIZE_UNITS):
        power += 1
    return f"{count / 1000**power:.1f} {SIZE_UNITS[power]}"


def duration(seconds: float) -> str:
    """Wall time: `0.4 s`, `12 s`, `3 min 05 s`, `1 h 02 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


NUMERICS = {
    "bitwise": "none: the same bits as without it",
    "distribution": "other tokens may be drawn, each with the same probability as without it",
    "tolerance": "within a tolerance",
    "repair": "repairs what upstream computes otherwise",
}
"""What a patch's Speed-Numerics means to someone who only runs the build."""


def numerics(text: str) -> str:
    """A Speed-Numerics in words: `repair x` gives `repairs what upstream computes otherwise: x`."""
    kind, _, detail = text.partition(" ")
    return ": ".join(filter(None, (NUMERICS[kind], detail))) if kind in NUMERICS else text


def switched_off(switch: str) -> str:
    """What to type to switch a patch off: an option as it is, a variable with the value 0."""
    return switch if switch.startswith("-") or "=" in switch else f"{switch}=0"


MACHINE = {
    "cpu": ("Processor", "{}"),
    "cores": ("Processor cores that the work may use", "{}"),
    "memory_gib": ("Memory", "{} GiB"),
    "system": ("System", "{}"),
    "libc": ("C library", "{}"),
    "python": ("Python", "{}"),
}
BRIEF = {"cpu": "{}", "cores": "{} cores", "memory_gib": "{} GiB of memory", "system": "{}"}


def machine_rows(machine: Mapping[str, str | int | float]) -> tuple[tuple[str, str], ...]:
    """A machine's facts, the most telling first; one that is not known here keeps its own name, at the end."""
    known = [(label, form.format(machine[key])) for key, (label, form) in MACHINE.items() if key in machine]
    return (*known, *((key, str(machine[key])) for key in sorted(machine) if key not in MACHINE))


def machine_brief(machine: Mapping[str, str | int | float]) -> str:
    """A machine in half a line: `Example CPU, 2 cores, 24 GiB of memory, Linux 6.1`."""
    return ", ".join(form.format(machine[key]) for key, form in BRIEF.items() if key in machine) or "not recorded"


SPELLING = {
    spell.__name__: spell
    for spell in (
        percent,
        signed,
        size,
        duration,
        one_line,
        sentence,
        numerics,
        switched_off,
        machine_rows,
        machine_brief,
    )
}
"""Filters for templates, by name."""
