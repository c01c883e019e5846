"""Headers made to hurt: each is answered with words, within little memory, whatever it says."""

import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import ModelUnreadable
from ci.models.header.facts import facts_of
from ci.models.header.reading import LIMITS, Limits, read_header
from ci.models.header.shards import read_model
from ci.models.header.source import Fault, Source
from tests.helpers.made_gguf import NUMBERS, Raw, TensorIn, Typed, ValueIn, gguf_bytes, packed

MEMORY = 4 << 20
"""Bytes that reading a small hostile file may take at most."""

HUGE = 2**63
ARRAY, STRING = NUMBERS["ARRAY"], NUMBERS["STRING"]


def array(element: int, count: int, content: bytes = b"") -> Raw:
    return Raw(packed("IIQ", ARRAY, element, count) + content)


def nested(depth: int) -> Raw:
    return array(ARRAY, 1, packed("IQ", ARRAY, 1) * depth)


def counts(n_tensors: int, n_kv: int) -> bytes:
    return gguf_bytes(n_tensors=n_tensors, n_kv=n_kv)


HOSTILE = {
    "a key of 2^48 letters": (
        b"GGUF" + packed("IQQQ", 3, 0, 1, 2**48) + bytes(11),
        "key 1 of 1: a text of 281474976710656 bytes, where 4194304 would be",
    ),
    "a count that is cut in half": (gguf_bytes({"k": Raw(packed("II", ARRAY, 4) + b"\xff\xff")})[:43], "it needs 49"),
    "an array of 2^63 numbers": (gguf_bytes({"k": array(4, HUGE)}), f"key 'k': an array that says it has {HUGE}"),
    "an array of 2^63 strings": (gguf_bytes({"k": array(STRING, HUGE)}), f"key 'k': an array .* {HUGE} elements"),
    "an array of 2^61 numbers of 8 bytes": (gguf_bytes({"k": array(10, 2**61)}), f"it has {2**61} elements"),
    "2^63 keys": (counts(0, HUGE), f"it says that it has {HUGE} values"),
    "2^63 tensors": (counts(HUGE, 0), f"it says that it has {HUGE} tensors"),
    "2^64-1 of both": (counts(2**64 - 1, 2**64 - 1), f"{2**64 - 1} tensors"),
    "an array of arrays": (gguf_bytes({"k": nested(1)}), "key 'k': an array of arrays"),
    "arrays 10,000 deep": (gguf_bytes({"k": nested(10_000)}), "key 'k': an array of arrays"),
    "an empty array of arrays": (gguf_bytes({"k": array(ARRAY, 0)}), "key 'k': an array of arrays"),
    "elements of type 13": (gguf_bytes({"k": array(13, 1)}), "key 'k': value type 13 is not known"),
    "a value of type 13": (gguf_bytes({"k": Raw(packed("I", 13))}), "key 'k': value type 13 is not known"),
    "a value of type 2^32-1": (gguf_bytes({"k": Raw(packed("I", 2**32 - 1))}), "value type 4294967295"),
    "a string of 2^64-1 letters": (
        gguf_bytes({"k": Raw(packed("IQ", STRING, 2**64 - 1))}),
        "key 'k': a text of 18446744073709551615",
    ),
    "a string in an array of 2^64-1 letters": (
        gguf_bytes({"k": array(STRING, 2, packed("QQ", 2**64 - 1, 0))}),
        "key 'k': it needs",
    ),
    "the last string of an array is 2^50 letters": (
        gguf_bytes({"k": array(STRING, 1, packed("Q", 2**50))}),
        "key 'k': it needs",
    ),
    "9 dimensions": (gguf_bytes({}, [TensorIn("t", (1,) * 9)]), "tensor 't': 9 dimensions"),
    "2^32-1 dimensions": (gguf_bytes({}, [TensorIn("t", (1,), n_dims=2**32 - 1)]), "4294967295 dimensions"),
    "dimensions whose product wraps": (gguf_bytes({}, [TensorIn("t", (2**32, 2**32), 999)]), "'t': shape"),
    "a product of zero that hides a length": (gguf_bytes({}, [TensorIn("t", (0, 2**63), 999)]), "'t': shape"),
    "an empty key": (gguf_bytes([("", 1)]), "key 1 of 1: an empty key"),
    "a key twice": (gguf_bytes([("k", 1), ("k", 2)]), "key 'k': it stands twice"),
    "a tensor twice": (gguf_bytes({}, [TensorIn("t"), TensorIn("t")]), "tensor 't': it stands twice"),
    "an alignment of 0": (gguf_bytes({"general.alignment": 0}), "general.alignment is 0, expected a power of two"),
    "an alignment of 24": (gguf_bytes({"general.alignment": 24}), "general.alignment is 24"),
    "an alignment in words": (gguf_bytes({"general.alignment": "32"}), "general.alignment is '32'"),
    "an alignment of another type": (
        gguf_bytes({"general.alignment": Typed("UINT64", 32)}),
        "'general.alignment': its type is UINT64, expected UINT32",
    ),
    "an alignment that is a list": (gguf_bytes({"general.alignment": [32]}), "general.alignment is ArrayValue"),
    "version 0": (gguf_bytes(version=0), "GGUF version 0; versions 2 and 3 can be read"),
    "version 1": (gguf_bytes(version=1), "GGUF version 1; versions 2 and 3 can be read"),
    "version 4": (gguf_bytes(version=4), "GGUF version 4; versions 2 and 3 can be read"),
    "version 4, big-endian": (gguf_bytes(version=4, big=True), "GGUF version 4; versions 2 and 3 can be read"),
    "a huge key in a big-endian file": (
        b"GGUF" + packed("IQQQ", 3, 0, 1, 2**48, big=True) + bytes(9),
        "a text of 2814",
    ),
    "a text longer than the file": (gguf_bytes({"k": Raw(packed("IQ", STRING, 1000))}), "key 'k': it needs"),
    "an escape sequence in a key": (gguf_bytes([("\x1b[2J", 1), ("\x1b[2J", 2)]), r"key '\\x1b\[2J': it stands"),
    "nothing": (b"", "an empty file"),
    "three letters": (b"GGU", "3 bytes: an interrupted download"),
    "the magic alone": (b"GGUF", "cut short after its first four bytes"),
    "half a version": (b"GGUF\3\0", "it needs 8 bytes and the file has 6"),
    "an old file": (b"tjgg\3\0\0\0", "an old ggml file"),
    "a page": (b"\n\n<!DOCTYPE html><html>", "an HTML page"),
    "a pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 98362432\n",
        r"a Git LFS pointer \(a{64}, 98362432 bytes\)",
    ),
    "an answer": (b'{"error": "not found"}', 'a JSON answer: {"error": "not found"}'),
    "an answer with an escape sequence": (b"{\x1b[31m", r"a JSON answer: {\\x1b\[31m"),
}


def refused(path: Path, limits: Limits = LIMITS) -> str:
    tracemalloc.start()
    try:
        with pytest.raises(ModelUnreadable) as caught:
            read_header(path, limits)
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
    return caught.value.message


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_headers_are_refused_in_words(tmp_path: Path, name: str) -> None:
    content, words = HOSTILE[name]
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    message = refused(path)
    assert message.startswith(f"{path}: ")
    assert message.isprintable()
    assert len(message) < 1000
    with pytest.raises(ModelUnreadable, match=words):
        read_header(path)


def hole(path: Path, header: bytes, size: int) -> Path:
    with path.open("wb") as stream:
        stream.write(header)
        stream.truncate(size)
    return path


SMALL = Limits(header=1 << 20, texts=1024, values=10, tensors=10)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (gguf_bytes({"k": array(0, 2**39)}), "longer than 1048576 bytes"),
        (gguf_bytes({"k": array(STRING, 2**30)}), "longer than 1048576 bytes"),
        (gguf_bytes({"k": Raw(packed("IQ", STRING, 2**38))}), "a text of 274877906944 bytes"),
        (gguf_bytes([(b"k" * 600, 1), (b"l" * 600, 1)]), "a text of 600 bytes, where 424 would be the most"),
        (b"GGUF" + packed("IQQ", 3, 0, 11), "11 values; no header that we believe has more than 10"),
        (b"GGUF" + packed("IQQ", 3, 11, 0), "11 tensors; no header that we believe has more than 10"),
    ],
    ids=["numbers", "strings", "text", "key", "values", "tensors"],
)
def test_a_terabyte_of_holes_is_not_walked_over(tmp_path: Path, header: bytes, words: str) -> None:
    assert words in refused(hole(tmp_path / "m.gguf", header, 2**40), SMALL)


def test_the_limits_leave_room_for_twice_the_largest_vocabulary() -> None:
    assert LIMITS.header > 2 * (262_144 + 515_000) * (8 + 10)


def test_a_file_that_shrinks_while_it_is_read_is_an_error() -> None:
    with pytest.raises(Fault, match="the file became shorter while it was read"):
        Source(io.BytesIO(b"GGUF"), size=100, bound=1000).skip(50)


METADATA: dict[str, ValueIn] = {
    "general.architecture": "dflash",
    "dflash.block_size": 8,
    "dflash.target_layers": [1, 5, 9],
    "tokenizer.ggml.tokens": ["a", "b"],
    "f": Typed("FLOAT64", 1.5),
    "b": True,
    "split.count": Typed("UINT16", 1),
}
VALID = gguf_bytes(METADATA, [TensorIn("markov_w1.weight", (32, 4), 8), TensorIn("output.weight", (64, 2), 40)])


def read_or_refuse(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        found = read_model(path)
    except ModelUnreadable as refusal:
        assert refusal.message.isprintable()  # noqa: PT017 - most examples are refused, none must be
        return
    facts_of(found)
    assert all(note.isprintable() for note in found.notes)


@given(
    st.lists(st.tuples(st.integers(4, len(VALID) - 1), st.binary(min_size=1, max_size=8)), min_size=1, max_size=4),
    st.integers(0, len(VALID)),
)
def test_any_damage_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[int, bytes]], length: int
) -> None:
    content = bytearray(VALID)
    for at, change in edits:
        content[at : at + len(change)] = change
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    read_or_refuse(path, bytes(content))
    read_or_refuse(path, bytes(content[:length]))


@given(st.binary(max_size=200), st.sampled_from((packed("I", 3), packed("I", 3, big=True), b"")))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, version: bytes
) -> None:
    read_or_refuse(tmp_path_factory.getbasetemp() / "any.gguf", b"GGUF" + version + content)
