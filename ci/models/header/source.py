"""The bytes of a header, taken from a file in small steps, and never more than there are, whatever it says."""

import struct
from typing import BinaryIO, Literal

STEP = 1 << 16
"""Bytes read at a time, so at most that much of what follows the header."""


class Fault(Exception):
    """Why a header cannot be read on; whoever knows the file makes an error of it."""


class Source:
    """A file's beginning, kept as far as it was needed.

    Attributes:
        kept: the bytes so far; it only ever grows, so positions in it stay true.
        at: position of the next byte to take.
        order: struct's sign of the byte order.
    """

    def __init__(self, stream: BinaryIO, size: int, bound: int) -> None:
        """Start at the beginning of a file of so many bytes; a header ends before the bound, whatever it says."""
        self.kept = bytearray()
        self.at = 0
        self.order: Literal["<", ">"] = "<"
        self._stream, self._size, self._bound = stream, size, bound

    @property
    def left(self) -> int:
        """Bytes that the file has from here on."""
        return self._size - self.at

    def skip(self, count: int) -> int:
        """Go over so many bytes, which are kept then; the position where they begin.

        Raises:
            Fault: the file, or the bound, ends before.
        """
        begin, self.at = self.at, self.at + count
        if self.at > len(self.kept):
            self._keep(self.at)
        return begin

    def scalar(self, code: str) -> int | float:
        """The next number, by struct's letter for it."""
        layout = self.order + code
        value: int | float = struct.unpack_from(layout, self.kept, self.skip(struct.calcsize(layout)))[0]
        return value

    def number(self, code: str) -> int:
        """The next whole number, likewise."""
        return int(self.scalar(code))

    def raw(self, count: int) -> bytes:
        """The next bytes."""
        begin = self.skip(count)
        return bytes(self.kept[begin : self.at])

    def string(self, most: int) -> bytes:
        """The next string: its length, then its bytes, of which there are at most so many."""
        length = self.number("Q")
        if length > most:
            raise Fault(f"a text of {length} bytes, where {most} would be the most that we believe")
        return self.raw(length)

    def skip_strings(self, count: int) -> int:
        """Go over so many strings; the position where they begin. This is the loop that decides how long we take."""
        begin = at = self.at
        length_at, kept = struct.Struct(self.order + "Q").unpack_from, self.kept
        for _ in range(count):
            if at + 8 > len(kept):
                self._keep(at + 8)
            at += 8 + length_at(kept, at)[0]
        self.at = begin
        self.skip(at - begin)
        return begin

    def _keep(self, end: int) -> None:
        if end > self._size:
            raise Fault(f"it needs {end} bytes and the file has {self._size}")
        if end > self._bound:
            raise Fault(f"it is longer than {self._bound} bytes, more than any header that we believe")
        while len(self.kept) < end:
            step = self._stream.read(STEP)
            if not step:
                raise Fault("the file became shorter while it was read")
            self.kept += step
