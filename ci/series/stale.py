"""Files that are not what an export would write, each with the beginning of its difference."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

SHOWN = 12
"""Lines of difference that are shown of a file."""


@dataclass(frozen=True, kw_only=True)
class Stale:
    """A patch file that differs: its name, and a unified diff from what stands there to what an export writes."""

    name: str
    diff: str

    def brief(self) -> str:
        """Name and the first lines of the difference, indented."""
        lines = self.diff.splitlines()
        more = [f"(and {len(lines) - SHOWN} more lines)"] if len(lines) > SHOWN else []
        return "".join(f"\n    {line}" for line in (self.name, *(f"  {line}" for line in (*lines[:SHOWN], *more))))


def stale_files(present: Mapping[str, bytes], exported: Mapping[str, bytes]) -> tuple[Stale, ...]:
    """Compare files by name; those of `exported` count."""
    return tuple(
        Stale(name=name, diff="\n".join(_difference(present.get(name, b""), raw)))
        for name, raw in exported.items()
        if present.get(name) != raw
    )


def _difference(old: bytes, new: bytes) -> Iterator[str]:
    """A unified diff without its two header lines; bytes that are no UTF-8 and carriage returns are escaped."""
    here, there = ([_shown(line) for line in raw.split(b"\n")] for raw in (old, new))
    found = difflib.unified_diff(here, there, n=1, lineterm="")
    yield from list(found)[2:]


def _shown(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace").replace("\r", "\\r")
