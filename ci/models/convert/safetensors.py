"""What the header of a safetensors file says: eight bytes with its length, then JSON with one entry a tensor."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from ci.errors import CheckpointProblem
from ci.outcome import JsonMap, JsonValue

PREFIX = 8
"""Bytes before the JSON: its length, little-endian."""
LONGEST = 100_000_000
"""Bytes of the longest header that the format's own library reads."""
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
        CheckpointProblem: no JSON of that form, or values that do not lie where their shapes say; the first fault.
    """
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as bad:
        raise CheckpointProblem(f"{shown}: its header is no JSON ({bad}): cut short, or no safetensors") from bad
    if not isinstance(header, dict):
        raise CheckpointProblem(f"{shown}: its header is a {type(header).__name__}, expected an object")
    entries = {name: entry for name, entry in header.items() if name != METADATA}
    fault = next((f"{name!r}: {fault}" for name in entries for fault in _faults(entries[name], data_size)), None)
    if fault:
        raise CheckpointProblem(f"{shown}: tensor {fault}")
    return {name: Stored(dtype=entry["dtype"], shape=tuple(entry["shape"])) for name, entry in entries.items()}


def _faults(entry: JsonValue, data_size: int) -> Iterator[str]:
    if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str):
        yield "no entry with a dtype"
    elif not _counts(entry.get("shape")):
        yield f"shape {entry.get('shape')!r} is no list of sizes"
    elif not _counts(entry.get("data_offsets")) or len(entry["data_offsets"]) != 2:
        yield f"data_offsets {entry.get('data_offsets')!r} are no two positions"
    else:
        yield from _misplaced(entry, data_size)


def _counts(value: JsonValue) -> bool:
    return isinstance(value, list) and all(type(one) is int and one >= 0 for one in value)


def _misplaced(entry: JsonMap, data_size: int) -> Iterator[str]:
    begin, end = entry["data_offsets"]
    if not begin <= end <= data_size:
        yield f"its values lie at {begin} to {end} of {data_size} bytes: the file is cut short"
    size = SIZES.get(entry["dtype"])
    if size is not None and end - begin != size * prod(entry["shape"]):
        yield f"{entry['dtype']} of shape {entry['shape']} in {end - begin} bytes"
