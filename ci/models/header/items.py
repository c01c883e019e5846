"""Elements of an array, made from the header's bytes when somebody asks for them."""

import struct
import sys
from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import overload

from ci.models.header.values import Scalar

STRING, ARRAY = "STRING", "ARRAY"
CODES = {"UINT8": "B", "INT8": "b", "UINT16": "H", "INT16": "h", "UINT32": "I", "INT32": "i", "FLOAT32": "f"}
CODES |= {"BOOL": "B", STRING: "", ARRAY: "", "UINT64": "Q", "INT64": "q", "FLOAT64": "d"}
"""Types of values in the order of their numbers, and the letter of struct and array for those of fixed size."""


def text_of(raw: bytes | bytearray) -> str:
    r"""A string of the file; bytes that are not UTF-8 become escapes such as `\xff`."""
    return raw.decode("utf-8", "backslashreplace")


class Items(Sequence[Scalar]):
    """The elements of one array; equal to any sequence of the same elements.

    Attributes:
        element: their type, `STRING` or one of fixed size.
    """

    def __init__(self, *, element: str, count: int, kept: bytearray, begin: int, end: int, order: str) -> None:
        """So many elements at `kept[begin:end]`, in the byte order of struct's sign."""
        self.element, self._count, self._order = element, count, order
        self._kept, self._begin, self._end = kept, begin, end

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Scalar: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Scalar]: ...
    def __getitem__(self, index: int | slice) -> Scalar | Sequence[Scalar]:
        if not isinstance(index, slice):
            return self._made[index]
        begin, end, step = index.indices(self._count)
        return tuple(self._first(end)[begin:end:step] if step > 0 else self._made[index])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Items) and (other.element, other._order) == (self.element, self._order):
            return self._raw == other._raw
        if isinstance(other, Sequence) and not isinstance(other, str | bytes):
            return len(other) == self._count and tuple(self) == tuple(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{self._count} x {self.element}>"

    @property
    def _raw(self) -> bytearray:
        return self._kept[self._begin : self._end]

    @cached_property
    def _made(self) -> Sequence[Scalar]:
        return self._first(self._count)

    def _first(self, count: int) -> Sequence[Scalar]:
        """So many of them at most, such that a look at a few does not make millions."""
        if self.element == STRING:
            return tuple(islice(self._strings(), count))
        numbers = array(CODES[self.element])
        numbers.frombytes(self._kept[self._begin : min(self._begin + count * numbers.itemsize, self._end)])
        if (self._order == ">") != (sys.byteorder == "big"):
            numbers.byteswap()
        return tuple(number != 0 for number in numbers) if self.element == "BOOL" else numbers

    def _strings(self) -> Iterator[str]:
        kept, at = self._kept, self._begin
        length_at = struct.Struct(self._order + "Q").unpack_from
        for _ in range(self._count):
            begin = at + 8
            at = begin + length_at(kept, at)[0]
            yield text_of(kept[begin:at])
