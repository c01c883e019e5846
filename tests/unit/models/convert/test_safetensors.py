"""Headers of safetensors files: what is read, what is refused, and that nothing hostile gets further."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import CheckpointProblem
from ci.models.convert.checkpoint import read_tensors
from ci.models.convert.safetensors import LONGEST, SIZES, Stored, header_length, parse_header
from tests.helpers.tiny_checkpoint import bfloat16, write_safetensors

GOOD = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}


def parsed(entry: object, data_size: int = 24) -> dict[str, Stored]:
    return parse_header(json.dumps({"a": entry}).encode(), data_size, shown="x.safetensors")


def test_a_written_file_reads_back(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    write_safetensors(file, {"b": bfloat16(np.ones((2, 3))), "a": bfloat16(np.zeros(5))})
    assert read_tensors(file) == {"b": Stored(dtype="BF16", shape=(2, 3)), "a": Stored(dtype="BF16", shape=(5,))}


def test_metadata_is_no_tensor_and_unknown_types_pass() -> None:
    header = {"__metadata__": {"format": "pt"}, "q": {"dtype": "F4", "shape": [8], "data_offsets": [0, 4]}}
    assert parse_header(json.dumps(header).encode(), 4, shown="x") == {"q": Stored(dtype="F4", shape=(8,))}


@pytest.mark.parametrize(
    ("prefix", "size", "fault"),
    [
        (b"", 0, "is cut short itself, the file has 0"),
        (b"\x01\0\0", 3, "is cut short itself"),
        ((40).to_bytes(8, "little"), 20, "says 40 bytes, the file has 20"),
        (b"PK\x03\x04\x14\0\0\0", 5000, "no safetensors"),
        ((LONGEST + 1).to_bytes(8, "little"), 1 << 40, f"expected at most {LONGEST}"),
    ],
)
def test_a_length_that_cannot_be_is_refused(prefix: bytes, size: int, fault: str) -> None:
    with pytest.raises(CheckpointProblem, match=fault):
        header_length(prefix, size, shown="x.safetensors")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"data_offsets": [0, 25]}, "0 to 25 of 24 bytes: the file is cut short"),
        ({"data_offsets": [4, 24]}, "F32 of shape \\[2, 3\\] in 20 bytes"),
        ({"data_offsets": [24, 0]}, "24 to 0"),
        ({"data_offsets": [0]}, "no two positions"),
        ({"shape": [2, -3]}, "no list of sizes"),
        ({"shape": [True]}, "no list of sizes"),
        ({"dtype": 7}, "no entry with a dtype"),
        ({"dtype": "F4", "shape": [10**400]}, "more than 9223372036854775807 values"),
        ({"dtype": "F4", "shape": [0, 1 << 63]}, "more than 9223372036854775807 values"),
        ({"dtype": "F4", "shape": [1 << 32, 1 << 31]}, "more than 9223372036854775807 values"),
        ({"data_offsets": [0, 10**400]}, "the file is cut short"),
    ],
)
def test_an_entry_that_does_not_fit_is_named(change: dict[str, object], fault: str) -> None:
    with pytest.raises(CheckpointProblem, match=f"tensor 'a': .*{fault}"):
        parsed({**GOOD, **change})


def spanned(*spans: tuple[int, int]) -> bytes:
    entries = {
        str(at): {"dtype": "U8", "shape": [end - begin], "data_offsets": [begin, end]}
        for at, (begin, end) in enumerate(spans)
    }
    return json.dumps(entries).encode()


def test_values_lie_one_behind_the_other_in_any_order_of_names() -> None:
    assert len(parse_header(spanned((4, 24), (0, 4), (4, 4)), 24, shown="x")) == 3
    assert parse_header(spanned(), 0, shown="x") == {}


@pytest.mark.parametrize(
    ("spans", "fault"),
    [
        (((0, 24), (20, 24)), "two tensors share bytes at 20 to 24"),
        (((0, 24), (0, 24)), "two tensors share bytes at 0 to 24"),
        (((4, 24),), "bytes of no tensor at 0 to 4"),
        (((0, 4), (8, 24)), "bytes of no tensor at 4 to 8"),
        (((0, 16),), "bytes of no tensor at 16 to 24"),
        ((), "bytes of no tensor at 0 to 24"),
    ],
)
def test_values_that_share_bytes_or_leave_some_out_are_refused(
    spans: tuple[tuple[int, int], ...], fault: str
) -> None:
    with pytest.raises(CheckpointProblem, match=f"x.safetensors: {fault}, which the format forbids"):
        parse_header(spanned(*spans), 24, shown="x.safetensors")


def test_stray_bytes_behind_the_values_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    write_safetensors(file, {"a": bfloat16(np.zeros(5))})
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(CheckpointProblem, match="bytes of no tensor at 10 to 11"):
        read_tensors(file)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (b'{"a": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}, "a": {}}', "a"),
        (b'{"a": {"dtype": "U8", "shape": [0], "shape": [1], "data_offsets": [0, 0]}}', "shape"),
    ],
)
def test_a_name_that_stands_twice_is_refused(text: bytes, name: str) -> None:
    with pytest.raises(CheckpointProblem, match=f"x: '{name}' stands twice in one object"):
        parse_header(text, 0, shown="x")


@pytest.mark.parametrize(("text", "fault"), [(b"[1]", "is a list"), (b'{"a"', "no JSON"), (b"[" * 9999, "no JSON")])
def test_a_header_of_another_form_is_refused(text: bytes, fault: str) -> None:
    with pytest.raises(CheckpointProblem, match=fault):
        parse_header(text, 0, shown="x.safetensors")


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_tensors_or_refused(text: bytes) -> None:
    try:
        found = parse_header(text, 24, shown="x")
    except CheckpointProblem:
        return
    assert isinstance(found, dict)


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=4)
ENTRIES = st.fixed_dictionaries(
    {}, optional={"dtype": st.sampled_from(sorted(SIZES)) | VALUES, "shape": VALUES, "data_offsets": VALUES}
)


@given(ENTRIES | VALUES)
def test_whatever_stands_in_an_entry_is_a_tensor_within_the_file_or_refused(entry: object) -> None:
    try:
        (found,) = parsed(entry).values()
    except CheckpointProblem:
        return
    assert all(size >= 0 for size in found.shape)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=5), st.integers(1, 40))
def test_every_cut_of_a_file_is_refused(
    tmp_path_factory: pytest.TempPathFactory, shapes: list[tuple[int, int]], cut: int
) -> None:
    file = tmp_path_factory.mktemp("cut") / "model.safetensors"
    weights = {f"t{at}": bfloat16(np.zeros(shape)) for at, shape in enumerate([*shapes, (3, 7)])}
    write_safetensors(file, weights)
    assert set(read_tensors(file)) == set(weights)
    file.write_bytes(file.read_bytes()[:-cut])
    with pytest.raises(CheckpointProblem, match="cut short"):
        read_tensors(file)
