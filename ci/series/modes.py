"""Modes that upstream changed under a patch: git keeps upstream's, and a person should know of it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ci.outcome import JsonValue
from ci.series.hunks import FileDiff, parse_diff, shown

_OLD_MODE = re.compile(rb"(?:old mode|deleted file mode|index [0-9a-f]+\.\.[0-9a-f]+) (1[0-7]{5})")


@dataclass(frozen=True, kw_only=True)
class OtherMode:
    """A file of a patch that had the mode `was` where the patch was made, and has `now` where it stands."""

    path: str
    was: str
    now: str

    @property
    def words(self) -> str:
        """One line for a person."""
        return f"{shown(self.path)}: upstream changed its mode from {self.was} to {self.now}, which stays"

    def to_json(self) -> dict[str, JsonValue]:
        """Plain JSON form."""
        return {"path": shown(self.path), "was": self.was, "now": self.now}


def other_modes(before: bytes, after: bytes) -> tuple[OtherMode, ...]:
    """The files whose mode is another one in front of the patch.

    Args:
        before: its diff where it was made.
        after: its diff where it stands now.
    """
    was = dict(_modes(before))
    return tuple(
        OtherMode(path=path, was=was[path], now=now) for path, now in _modes(after) if was.get(path, now) != now
    )


def _modes(diff: bytes) -> Iterator[tuple[str, str]]:
    for file in parse_diff(diff):
        mode = _old_mode(file)
        if file.old and mode:
            yield file.old, mode


def _old_mode(file: FileDiff) -> str | None:
    found = (_OLD_MODE.fullmatch(line) for line in file.head)
    return next((match[1].decode("ascii") for match in found if match), None)
