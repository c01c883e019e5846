"""A container's output, asked for piece by piece: every line once, whatever pieces the engine answers with."""

import datetime as dt

STAMP_WIDTH = 30
"""`2026-11-30T22:52:05.123456789Z`: always nine digits, so that stamps compare as text."""


class LogTail:
    """What was seen so far of lines that each begin with their time."""

    def __init__(self) -> None:
        self._last = ""
        self._at_last = 0

    @property
    def since(self) -> float:
        """The moment to ask from, in seconds since 1970, a little before the last line; 0.0 for all."""
        if not self._last:
            return 0.0
        whole, _, fraction = self._last.rstrip("Z").partition(".")
        seconds = dt.datetime.fromisoformat(f"{whole}+00:00").timestamp()
        # a float does not hold nine digits: ask from a microsecond earlier, and drop what was seen
        return seconds + max(0, int(fraction[:6]) - 1) / 1e6

    def feed(self, said: bytes) -> tuple[str, ...]:
        """The lines of an answer that are new, without their times."""
        fresh: list[str] = []
        at_last = 0
        for line in said.decode("utf-8", "replace").split("\n"):
            stamp, text = line[:STAMP_WIDTH], line[STAMP_WIDTH + 1 :]
            if len(stamp) < STAMP_WIDTH or stamp < self._last:
                continue
            if stamp == self._last:
                at_last += 1
                if at_last <= self._at_last:
                    continue
                self._at_last = at_last
            else:
                self._last, self._at_last, at_last = stamp, 1, 1
            fresh.append(text.rstrip("\r"))
        return tuple(fresh)
