"""The header of a GGUF file, versions 2 and 3, both byte orders; what follows it is never looked at.

Whatever a file says, reading it takes less than 100 MB and the time to walk over `Limits.header` bytes: a count or a
length is held against the bytes that are there before anything is made of it. What stops llama.cpp (gguf.cpp of
b11434) because nobody could read on is an error here too; what it refuses for other reasons is a note, so that such a
file can still be looked at.
"""

import os
import stat
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Literal

from ci.errors import ModelUnreadable
from ci.models.head import HEAD, fault_of_head
from ci.models.header.items import ARRAY, CODES, STRING, Items, text_of
from ci.models.header.oddities import file_notes, tensor_notes
from ci.models.header.source import Fault, Source
from ci.models.header.values import ArrayValue, Header, Tensor, Value
from ci.models.header.words import plain, some

TYPES = tuple(CODES)
"""Types of values; their numbers are their places."""

VERSIONS = (2, 3)
ALIGNMENT_KEY, ALIGNMENT = "general.alignment", 32
SMALLEST_VALUE, SMALLEST_TENSOR = 14, 24
"""Bytes of an entry whose name has one letter, or none."""

MESSAGE = 400
"""Letters of a message: what a foreign file holds instead of a header is quoted, but not at any length."""

MOST_DIMENSIONS, MOST_ELEMENTS = 4, 2**63 - 1


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a header may be at most: more than twice the largest published ones.

    Attributes:
        header: bytes before tensor data.
        texts: bytes of all names and text values together; arrays of texts apart, which stay packed.
        values: entries of the metadata.
        tensors: entries of the tensor list.
    """

    header: int = 40 << 20
    texts: int = 4 << 20
    values: int = 1 << 15
    tensors: int = 1 << 15


LIMITS = Limits()


def read_header(path: Path, limits: Limits = LIMITS) -> Header:
    """Read the header of one file; of a model in shards see ci.models.header.shards.

    Args:
        path: a GGUF file; what it is called does not matter.
        limits: bounds on memory and time.

    Raises:
        ModelUnreadable: no GGUF file, and what it is; or a header that is cut short, contradicts itself, or is
            larger than the limits. The message names the entry.
    """
    with _opened(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        reader = _Reader(Source(stream, size, limits.header), limits)
        try:
            return reader.header(path, size)
        except Fault as fault:
            raise ModelUnreadable(f"{path}: {plain(f'{reader.place}{fault}', MESSAGE)}") from fault


def _opened(path: Path) -> BinaryIO:
    """The file for reading; never a pipe or device, which would make us wait."""
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError) as missing:
        raise ModelUnreadable(f"{path}: no such file") from missing
    if not regular:
        raise ModelUnreadable(f"{path}: {'a folder' if path.is_dir() else 'a pipe or device'}, not a GGUF file")
    return path.open("rb", buffering=0)


class _Reader:
    """One walk through one header.

    Attributes:
        place: what is being read, as the beginning of a message.
    """

    def __init__(self, source: Source, limits: Limits) -> None:
        self.place = ""
        self._source, self._limits = source, limits
        self._room = limits.texts
        self._foreign: list[str] = []

    def header(self, path: Path, size: int) -> Header:
        """All of it."""
        version, byte_order = self._version(size)
        source = self._source
        n_tensors = self._count("tensors", SMALLEST_TENSOR, self._limits.tensors)
        n_values = self._count("values", SMALLEST_VALUE, self._limits.values)
        metadata = self._metadata(n_values)
        tensors = self._tensors(n_tensors)
        self.place = ""
        alignment = _alignment(metadata)
        header = Header(
            path=path,
            version=version,
            byte_order=byte_order,
            metadata=MappingProxyType(metadata),
            tensors=tensors,
            data_offset=source.at + -source.at % alignment,
            file_size=size,
        )
        notes = (*self._own_notes(), *tensor_notes(tensors, alignment), *file_notes(header, alignment))
        return replace(header, notes=notes)

    def _version(self, size: int) -> tuple[int, Literal["little", "big"]]:
        source = self._source
        fault = fault_of_head(source.raw(min(size, HEAD)))
        if fault:
            raise Fault(fault)
        source.at = 4
        at = source.skip(4)
        word = bytes(source.kept[at : at + 4])
        little, big = int.from_bytes(word, "little"), int.from_bytes(word, "big")
        if little in VERSIONS:
            return little, "little"
        if big in VERSIONS:
            source.order = ">"
            return big, "big"
        raise Fault(f"GGUF version {min(little, big)}; versions 2 and 3 can be read")

    def _count(self, what: str, smallest: int, most: int) -> int:
        count = self._source.number("Q")
        if count * smallest > self._source.left:
            raise Fault(f"it says that it has {count} {what}, and has {self._source.left} bytes for them")
        if count > most:
            raise Fault(f"{count} {what}; no header that we believe has more than {most}")
        return count

    def _metadata(self, count: int) -> dict[str, Value]:
        metadata: dict[str, Value] = {}
        for number in range(1, count + 1):
            self.place = f"key {number} of {count}: "
            key = self._text(f"key {number}")
            if not key:
                raise Fault("an empty key")
            self.place = f"key '{plain(key)}': "
            if key in metadata:
                raise Fault("it stands twice: nobody can say which value counts")
            metadata[key] = self._value(key)
        return metadata

    def _value(self, key: str) -> Value:
        kind = self._type()
        if kind == ARRAY:
            return self._array()
        if kind == STRING:
            return self._text(key)
        if key == ALIGNMENT_KEY and kind != "UINT32":
            raise Fault(f"its type is {kind}, expected UINT32")
        value = self._source.scalar(CODES[kind])
        return value != 0 if kind == "BOOL" else value

    def _type(self) -> str:
        number = self._source.number("I")
        if number >= len(TYPES):
            raise Fault(f"value type {number} is not known")
        return TYPES[number]

    def _array(self) -> ArrayValue:
        source, element = self._source, self._type()
        if element == ARRAY:
            raise Fault("an array of arrays, which llama.cpp does not read either")
        count = source.number("Q")
        width = 8 if element == STRING else array(CODES[element]).itemsize
        if count * width > source.left:
            raise Fault(f"an array that says it has {count} elements, and has {source.left} bytes for them")
        begin = source.skip_strings(count) if element == STRING else source.skip(count * width)
        items = Items(element=element, count=count, kept=source.kept, begin=begin, end=source.at, order=source.order)
        return ArrayValue(element=element, items=items)

    def _tensors(self, count: int) -> tuple[Tensor, ...]:
        tensors: dict[str, Tensor] = {}
        for number in range(1, count + 1):
            self.place = f"tensor {number} of {count}: "
            name = self._text(f"tensor {number}")
            self.place = f"tensor '{plain(name)}': "
            if name in tensors:
                raise Fault("it stands twice")
            tensors[name] = Tensor(
                name=name, shape=self._shape(), number=self._source.number("I"), offset=self._source.number("Q")
            )
        return tuple(tensors.values())

    def _shape(self) -> tuple[int, ...]:
        n_dims = self._source.number("I")
        if n_dims > MOST_DIMENSIONS:
            raise Fault(f"{n_dims} dimensions; llama.cpp knows up to {MOST_DIMENSIONS}")
        shape = tuple(self._source.number("Q") for _ in range(n_dims))
        if max(prod(shape), *shape, 0) > MOST_ELEMENTS:
            raise Fault(f"shape {shape} holds more elements than can be counted")
        return shape

    def _text(self, place: str) -> str:
        raw = self._source.string(self._room)
        self._room -= len(raw)
        text = text_of(raw)
        if text.encode() != raw:
            self._foreign.append(place)
        return text

    def _own_notes(self) -> Iterator[str]:
        if self._source.order == ">":
            yield "big-endian: llama.cpp reads it on machines of that byte order only"
        if self._foreign:
            yield f"not UTF-8, shown with escapes: {some(self._foreign)}"


def _alignment(metadata: dict[str, Value]) -> int:
    value = metadata.get(ALIGNMENT_KEY, ALIGNMENT)
    if not isinstance(value, int) or value < 1 or value & (value - 1):
        raise Fault(f"{ALIGNMENT_KEY} is {value!r}, expected a power of two")
    return value
