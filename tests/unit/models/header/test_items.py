"""Elements of arrays: a slice is the list's, and a look at a few makes only those."""

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.models.header.facts import MOST_LAYERS, facts_of
from ci.models.header.items import Items
from ci.models.header.shards import read_model
from ci.models.header.values import Scalar
from tests.helpers.made_gguf import NUMBERS, Raw, ValueIn, packed, text, write_gguf

PLACES = st.none() | st.integers(-9, 9)
FEW = 1 << 16
"""Bytes for a few elements, however many there are."""


def items(kind: str, content: bytes, count: int) -> Items:
    return Items(element=kind, count=count, kept=bytearray(content), begin=0, end=len(content), order="<")


MADE: dict[str, tuple[Items, list[Scalar]]] = {
    "STRING": (items("STRING", b"".join(map(text, "abcdefg")), 7), list("abcdefg")),
    "INT16": (items("INT16", packed("7h", *range(-3, 4)), 7), list(range(-3, 4))),
    "BOOL": (items("BOOL", bytes([0, 1, 2, 0, 0, 1, 1]), 7), [False, True, True, False, False, True, True]),
}


@pytest.mark.parametrize("kind", MADE)
@given(begin=PLACES, end=PLACES, step=PLACES.filter(lambda step: step != 0))
def test_a_slice_is_what_a_list_gives(kind: str, begin: int | None, end: int | None, step: int | None) -> None:
    found, expected = MADE[kind]
    assert list(found[begin:end:step]) == expected[begin:end:step]


@pytest.mark.parametrize(
    ("kind", "content", "count"),
    [
        ("BOOL", bytes(1 << 20), 1 << 20),
        ("UINT64", bytes(1 << 20), 1 << 17),
        ("STRING", (packed("Q", 2) + b"ab") * (1 << 17), 1 << 17),
    ],
)
def test_a_few_of_many_take_the_memory_of_a_few(kind: str, content: bytes, count: int) -> None:
    many = items(kind, content, count)
    tracemalloc.start()
    try:
        assert len(many[:4]) == 4
        assert tracemalloc.get_traced_memory()[1] < FEW
    finally:
        tracemalloc.stop()


def test_a_million_target_layers_are_not_told(tmp_path: Path) -> None:
    layers = Raw(packed("IIQ", NUMBERS["ARRAY"], NUMBERS["INT8"], 1 << 20) + bytes(1 << 20))
    metadata: dict[str, ValueIn] = {"general.architecture": "dflash", "dflash.target_layers": layers}
    path = write_gguf(tmp_path / "m.gguf", metadata, [])
    dspark = facts_of(read_model(path)).dspark
    assert dspark is not None
    assert dspark.target_layers == (0,) * MOST_LAYERS
