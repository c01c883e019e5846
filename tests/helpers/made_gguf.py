"""GGUF files made byte by byte: what a test wants, valid or not. Tensor data is a hole in the file, however large.

>>> write_gguf(path, {"general.architecture": "qwen3", "qwen3.block_count": 2}, [TensorIn("output.weight", (64, 96))])
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ci.models.header.types import TENSOR_TYPES

CODES = {"UINT8": "B", "INT8": "b", "UINT16": "H", "INT16": "h", "UINT32": "I", "INT32": "i", "FLOAT32": "f"}
CODES |= {"BOOL": "?", "UINT64": "Q", "INT64": "q", "FLOAT64": "d"}
NUMBERS = {name: number for number, name in enumerate((*list(CODES)[:8], "STRING", "ARRAY", *list(CODES)[8:]))}
"""Number of each value type in the format."""

ARRAY, STRING = NUMBERS["ARRAY"], NUMBERS["STRING"]


@dataclass(frozen=True)
class Typed:
    """A value, or with a sequence an array, of a type that Python's own does not tell, such as `UINT16`."""

    kind: str
    value: bool | int | float | str | bytes | Sequence[bool] | Sequence[int] | Sequence[float] | Sequence[str]


@dataclass(frozen=True)
class Raw:
    """Bytes that stand where a value's type and content should be."""

    content: bytes


ValueIn: TypeAlias = bool | int | float | str | Sequence[str] | Sequence[int] | Typed | Raw


@dataclass(frozen=True)
class TensorIn:
    """One entry of the tensor list; an offset of None is the right one."""

    name: str | bytes
    shape: tuple[int, ...] = (32,)
    number: int = 0
    offset: int | None = None
    n_dims: int | None = None

    @property
    def size(self) -> int:
        """Bytes of data; a type that is not known has none."""
        elements = 1
        for length in self.shape:
            elements *= length
        return TENSOR_TYPES[self.number].size_of(elements) if self.number in TENSOR_TYPES else 0


def packed(code: str, *values: bool | int | float, big: bool = False) -> bytes:
    """Numbers in one of the two byte orders."""
    return struct.pack((">" if big else "<") + code, *values)


def text(value: str | bytes, *, big: bool = False) -> bytes:
    """A string with its length before it."""
    content = value.encode() if isinstance(value, str) else value
    return packed("Q", len(content), big=big) + content


def typed(value: ValueIn) -> Typed | Raw:
    """The usual type of a value: UINT32, or INT32 if negative, FLOAT32, BOOL, STRING; arrays by their first."""
    if isinstance(value, Typed | Raw):
        return value
    first = value[0] if isinstance(value, list | tuple) and value else value
    if isinstance(first, bool):
        return Typed("BOOL", value)
    if isinstance(first, str):
        return Typed("STRING", value)
    if isinstance(first, float):
        return Typed("FLOAT32", value)
    whole = isinstance(value, int) and value >= 0
    return Typed("UINT32" if whole else "INT32", value)


def value_bytes(value: ValueIn, *, big: bool = False) -> bytes:
    """A value with its type before it."""
    known = typed(value)
    if isinstance(known, Raw):
        return known.content
    number = NUMBERS[known.kind]
    if isinstance(known.value, str | bytes | int | float):
        return packed("I", number, big=big) + _element(known.kind, known.value, big=big)
    head = packed("I", ARRAY, big=big) + packed("I", number, big=big) + packed("Q", len(known.value), big=big)
    return head + b"".join(_element(known.kind, item, big=big) for item in known.value)


def _element(kind: str, value: bool | int | float | str | bytes, *, big: bool) -> bytes:
    if isinstance(value, str | bytes):
        return text(value, big=big)
    return packed(CODES[kind], value, big=big)


def gguf_bytes(
    metadata: Mapping[str, ValueIn] | Iterable[tuple[str | bytes, ValueIn]] = (),
    tensors: Sequence[TensorIn] = (),
    *,
    version: int = 3,
    big: bool = False,
    alignment: int = 32,
    n_kv: int | None = None,
    n_tensors: int | None = None,
) -> bytes:
    """A header up to where tensor data begins, padded; counts as they are unless said otherwise.

    Args:
        metadata: by key, or pairs: so a key can stand twice.
        tensors: in file order.
        version: of the format.
        big: byte order of everything after the magic.
        alignment: of tensor data; is not written into the metadata by itself.
        n_kv: another count than the true one.
        n_tensors: likewise.
    """
    pairs = list(metadata.items() if isinstance(metadata, Mapping) else metadata)
    counts = (len(tensors) if n_tensors is None else n_tensors, len(pairs) if n_kv is None else n_kv)
    head = b"GGUF" + packed("IQQ", version, *counts, big=big)
    head += b"".join(text(key, big=big) + value_bytes(value, big=big) for key, value in pairs)
    at = 0
    for tensor in tensors:
        offset = at if tensor.offset is None else tensor.offset
        n_dims = len(tensor.shape) if tensor.n_dims is None else tensor.n_dims
        head += text(tensor.name, big=big) + packed("I", n_dims, big=big)
        head += packed(f"{len(tensor.shape)}Q", *tensor.shape, big=big) + packed("IQ", tensor.number, offset, big=big)
        at += padded(tensor.size, alignment)
    return head.ljust(padded(len(head), alignment), b"\0")


def padded(size: int, alignment: int) -> int:
    """The next multiple of the alignment."""
    return -(-size // alignment) * alignment


def write_gguf(
    path: Path,
    metadata: Mapping[str, ValueIn] | Iterable[tuple[str | bytes, ValueIn]] = (),
    tensors: Sequence[TensorIn] = (),
    *,
    version: int = 3,
    big: bool = False,
    alignment: int = 32,
) -> Path:
    """Write a whole file; the tensors' data is zeros that take no room on disk."""
    header = gguf_bytes(metadata, tensors, version=version, big=big, alignment=alignment)
    with path.open("wb") as stream:
        stream.write(header)
        stream.truncate(len(header) + sum(padded(tensor.size, alignment) for tensor in tensors))
    return path
