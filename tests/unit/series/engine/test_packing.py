"""A pack stream read back by a plain reader of git's format."""

import hashlib
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.series.engine.packing import KINDS, pack_stream

KIND_OF = {number: kind for kind, number in KINDS.items()}
HEADER = 12
DIGEST = 20


def unpacked(stream: bytes) -> list[tuple[str, bytes]]:
    """The objects of a stream; every count, size and digest in it must be true."""
    body, digest = stream[:-DIGEST], stream[-DIGEST:]
    assert hashlib.sha1(body, usedforsecurity=False).digest() == digest
    assert body[:8] == b"PACK\0\0\0\2"
    (count,) = struct.unpack(">I", body[8:HEADER])
    rest, found = body[HEADER:], []
    for _ in range(count):
        kind, size, rest = entry_header(rest)
        inflate = zlib.decompressobj()
        data = inflate.decompress(rest)
        assert (inflate.eof, len(data)) == (True, size)
        found.append((KIND_OF[kind], data))
        rest = inflate.unused_data
    assert rest == b""
    return found


def entry_header(rest: bytes) -> tuple[int, int, bytes]:
    kind, size, at = rest[0] >> 4 & 7, rest[0] & 15, 0
    while rest[at] & 0x80:
        size |= (rest[at + 1] & 0x7F) << (4 + 7 * at)
        at += 1
    return kind, size, rest[at + 1 :]


@given(objects=st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.binary(max_size=300)), max_size=6))
def test_what_is_packed_comes_out(objects: list[tuple[str, bytes]]) -> None:
    assert unpacked(pack_stream(objects)) == objects


@pytest.mark.parametrize("size", [0, 15, 16, 2047, 2048, (1 << 18) - 1, 1 << 18])
def test_sizes_on_either_side_of_a_byte_of_their_own(size: int) -> None:
    assert unpacked(pack_stream([("blob", b"x" * size)])) == [("blob", b"x" * size)]
