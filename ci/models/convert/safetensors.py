"""What the header of a safetensors file says: eight bytes with its length, then JSON with one entry a tensor."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from reprlib import repr as brief

from ci.errors import CheckpointProblem
from ci.outcome import JsonMap, JsonValue

PREFIX = 8
"""Bytes before the JSON: its length, little-endian."""
LONGEST = 32 << 20
"""Bytes of the longest header that is read: some 200,000 tensors; the format's own library reads 100 MB."""
MOST = (1 << 63) - 1
"""The largest size, and number of values, that the programs behind us can count."""
SHOWN = 200
"""Characters of a name in a message."""
METADATA = "__metadata__"
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1}
SIZES |= {"I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1}
"""Bytes of a value by type; types that share bytes among values are not listed, and their sizes not checked."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """One tensor of a checkpoint.

    Attributes:
        dtype: in the format's own words, such as `BF16`.
        shape: rows first, as torch has it.
    """

    dtype: str
    shape: tuple[int, ...]


def header_length(prefix: bytes, file_size: int, *, shown: str) -> int:
    """Bytes of the JSON header.

    Args:
        prefix: the first eight bytes of the file, or fewer where it has no more.
        file_size: bytes of the whole file.
        shown: the file, for messages.

    Raises:
        CheckpointProblem: the file is cut short, or is something else.
    """
    length = int.from_bytes(prefix, "little")
    if len(prefix) < PREFIX or length > file_size - PREFIX:
        said = f"says {length} bytes" if len(prefix) == PREFIX else "is cut short itself"
        raise CheckpointProblem(f"{shown}: the header {said}, the file has {file_size}: cut short, or no safetensors")
    if length > LONGEST:
        raise CheckpointProblem(f"{shown}: a header of {length} bytes, expected at most {LONGEST}")
    return length


def parse_header(text: bytes, data_size: int, *, shown: str) -> dict[str, Stored]:
    """Tensors by name.

    Args:
        text: the JSON header.
        data_size: bytes of the file behind it.
        shown: the file, for messages.

    Raises:
        CheckpointProblem: no JSON of that form, a name that stands twice, values that do not lie where their shapes
            say, that share bytes, or bytes that belong to no tensor; the first fault.
    """
    try:
        header = json.loads(text, object_pairs_hook=_unique)
    except CheckpointProblem as twice:
        raise CheckpointProblem(f"{shown}: {twice.message}") from twice
    except (ValueError, RecursionError) as bad:
        raise CheckpointProblem(f"{shown}: its header is no JSON ({bad}): cut short, or no safetensors") from bad
    if not isinstance(header, dict):
        raise CheckpointProblem(f"{shown}: its header is a {type(header).__name__}, expected an object")
    entries = {name: entry for name, entry in header.items() if name != METADATA}
    faults = (f"{name[:SHOWN]!r}: {fault}" for name in entries for fault in _faults(entries[name], data_size))
    if fault := next(faults, None):
        raise CheckpointProblem(f"{shown}: tensor {fault}")
    if stray := _stray([entry["data_offsets"] for entry in entries.values()], data_size):
        raise CheckpointProblem(f"{shown}: {stray}, which the format forbids")
    return {name: Stored(dtype=entry["dtype"], shape=tuple(entry["shape"])) for name, entry in entries.items()}


def _unique(pairs: Sequence[tuple[str, JsonValue]]) -> JsonMap:
    """An object whose names differ: of two that do not, one program takes the first and another the last."""
    found: dict[str, JsonValue] = {}
    for name, value in pairs:
        if name in found:
            raise CheckpointProblem(f"{name[:SHOWN]!r} stands twice in one object, which the format forbids")
        found[name] = value
    return found


def _stray(spans: Sequence[Sequence[int]], data_size: int) -> str | None:
    """Where the values do not lie one behind the other from the first byte to the last; None when they do."""
    reached = 0
    for begin, end in sorted(map(tuple, spans)):
        if begin != reached:
            what = "two tensors share bytes" if begin < reached else "bytes of no tensor"
            return f"{what} at {min(begin, reached)} to {max(begin, reached)}"
        reached = end
    return None if reached == data_size else f"bytes of no tensor at {reached} to {data_size}"


def _faults(entry: JsonValue, data_size: int) -> Iterator[str]:
    if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str):
        yield "no entry with a dtype"
    elif not _counts(entry.get("shape")):
        yield f"shape {brief(entry.get('shape'))} is no list of sizes"
    elif _values(entry["shape"]) is None:
        yield f"shape {brief(entry['shape'])} has more than {MOST} values"
    elif not _counts(entry.get("data_offsets")) or len(entry["data_offsets"]) != 2:
        yield f"data_offsets {brief(entry.get('data_offsets'))} are no two positions"
    else:
        yield from _misplaced(entry, data_size)


def _counts(value: JsonValue) -> bool:
    return isinstance(value, list) and all(type(one) is int and one >= 0 for one in value)


def _values(shape: Sequence[int]) -> int | None:
    """How many values; None beyond `MOST`, without multiplying any further."""
    count = 1
    for size in shape:
        count *= size
        if max(count, size) > MOST:
            return None
    return count


def _misplaced(entry: JsonMap, data_size: int) -> Iterator[str]:
    begin, end = entry["data_offsets"]
    if not begin <= end <= data_size:
        yield f"its values lie at {brief(begin)} to {brief(end)} of {data_size} bytes: the file is cut short"
    size = SIZES.get(entry["dtype"])
    if size is not None and end - begin != size * (_values(entry["shape"]) or 0):
        yield f"{entry['dtype']} of shape {brief(entry['shape'])} in {end - begin} bytes"
