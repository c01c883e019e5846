import io
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import EXIT_USAGE, ModelUnreadable
from ci.models.header import reading
from ci.models.header.items import CODES
from ci.models.header.reading import read_header
from ci.models.header.source import STEP
from ci.models.header.types import TENSOR_TYPES
from ci.models.header.values import ArrayValue, Header
from tests.helpers.gguf_py import TYPES, everything, read_with_gguf_py, sizes_of_gguf_py
from tests.helpers.made_gguf import TensorIn, Typed, ValueIn, write_gguf

LEAST = {"UINT8": 0, "UINT16": 0, "UINT32": 0, "UINT64": 0}
LEAST |= {"INT8": -(2**7), "INT16": -(2**15), "INT32": -(2**31), "INT64": -(2**63)}
ARCH = {"general.architecture": "qwen3"}


def elements(kind: str) -> st.SearchStrategy[object]:
    if kind == "STRING":
        return st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    if kind == "BOOL":
        return st.booleans()
    if kind.startswith("FLOAT"):
        return st.floats(width=64 if kind == "FLOAT64" else 32)
    bits = int(kind.lstrip("UINT"))
    return st.integers(LEAST[kind], LEAST[kind] + 2**bits - 1)


@st.composite
def values(draw: st.DrawFn) -> ValueIn:
    kind = draw(st.sampled_from(sorted(set(CODES) - {"ARRAY"})))
    one = elements(kind)
    return Typed(kind, draw(one | st.lists(one, max_size=4)))  # type: ignore[arg-type] # the strategy matches the kind


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=15)
COMPARABLE = sorted((set(TENSOR_TYPES) & TYPES) - {9})
"""Types that both know; of Q8_1, which no file holds, gguf-py 0.19 says 40 bytes where ggml has 36."""


@st.composite
def tensors(draw: st.DrawFn) -> TensorIn:
    kind = TENSOR_TYPES[draw(st.sampled_from(COMPARABLE))]
    rest = draw(st.lists(st.integers(0, 3), max_size=3))
    return TensorIn(draw(NAMES), (kind.block * draw(st.integers(0, 2)), *rest), kind.number)


@given(
    metadata=st.dictionaries(NAMES.filter(lambda key: not key.startswith("GGUF.")), values(), max_size=5),
    made=st.lists(tensors(), max_size=4, unique_by=lambda tensor: tensor.name),
    version=st.sampled_from((2, 3)),
    big=st.booleans(),
    alignment=st.sampled_from((8, 32, 64)),
)
def test_every_valid_file_is_read_as_gguf_py_reads_it(
    tmp_path_factory: pytest.TempPathFactory,
    metadata: dict[str, ValueIn],
    made: list[TensorIn],
    version: int,
    big: bool,
    alignment: int,
) -> None:
    path = tmp_path_factory.getbasetemp() / "valid.gguf"
    whole = {**metadata, "general.alignment": Typed("UINT32", alignment)}
    write_gguf(path, whole, made, version=version, big=big, alignment=alignment)
    found = read_header(path)
    assert everything(found) == everything(read_with_gguf_py(path))
    assert [tensor.size for tensor in found.tensors] == sizes_of_gguf_py(path)
    assert [note for note in found.notes if not note.startswith("big-endian")] == []
    assert (found.version, found.byte_order) == (version, "big" if big else "little")


@pytest.mark.parametrize("number", COMPARABLE)
def test_sizes_of_types_are_gguf_pys(tmp_path: Path, number: int) -> None:
    path = write_gguf(tmp_path / "m.gguf", ARCH, [TensorIn("a", (1024, 3), number)])
    assert [tensor.size for tensor in read_header(path).tensors] == sizes_of_gguf_py(path)


def test_a_large_vocabulary_is_kept_packed_until_it_is_asked_for(tmp_path: Path) -> None:
    tokens = [f"token {number}" for number in range(250_000)]
    path = write_gguf(tmp_path / "m.gguf", {**ARCH, "tokenizer.ggml.tokens": tokens})
    value = read_header(path).metadata["tokenizer.ggml.tokens"]
    assert isinstance(value, ArrayValue)
    assert len(value) == 250_000
    assert repr(value) == "ArrayValue(element='STRING', items=<250000 x STRING>)"
    assert "_made" not in vars(value.items)
    assert value.items[-1] == "token 249999"
    assert value.items == tokens
    assert value.items != tokens[1:]


def test_arrays_of_two_files_are_compared_by_their_elements(tmp_path: Path) -> None:
    def items(name: str, values: list[str], *, big: bool = False) -> object:
        value = read_header(write_gguf(tmp_path / name, {"k": values}, big=big)).metadata["k"]
        assert isinstance(value, ArrayValue)
        return value.items

    first = items("a", ["x", "yy"])
    assert first == items("b", ["x", "yy"])
    assert first == items("c", ["x", "yy"], big=True)
    assert first != items("d", ["x", "zz"])
    assert hash(first) == hash(items("c", ["x", "yy"], big=True))
    assert first != "xyy"


class Counting(io.FileIO):
    seen = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size) or b""
        self.seen += len(data)
        return data


def test_no_tensor_data_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_gguf(tmp_path / "m.gguf", ARCH, [TensorIn("a", (2**20, 2**18), 0)])  # 1 TiB, all of it a hole
    streams: list[Counting] = []

    def opened(path: Path) -> Counting:
        streams.append(Counting(path))
        return streams[-1]

    monkeypatch.setattr(reading, "_opened", opened)
    found = read_header(path)
    assert found.tensors[0].size == 2**40
    assert found.notes == ()
    assert streams[0].seen <= STEP
    assert streams[0].closed


def noted(path: Path) -> str:
    return "\n".join(read_header(path).notes)


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ([TensorIn("a", (64,), 999)], "tensor type 999 (unknown to this build): a"),
        ([TensorIn("a", (32,), 4)], "tensor type 4 (Q4_2, removed from llama.cpp): a"),
        ([TensorIn("a", (33, 2), 2)], "not a whole number of their type's blocks, which llama.cpp refuses: a"),
        ([TensorIn("a" * 64, (32,))], "names longer than 63 bytes, which llama.cpp refuses: aaa"),
        ([TensorIn("a", ())], "no dimensions: read as one number: a"),
        ([TensorIn("a"), TensorIn("b", offset=64)], "does not begin where the tensor before it ends"),
        ([TensorIn("a"), TensorIn("b", offset=0)], "does not begin where the tensor before it ends"),
        ([TensorIn("a", offset=2**63)], f"cut short: {2**63} bytes of tensor data are missing"),
        ([TensorIn(f"t{n}", (32,), 100 + n) for n in range(300)], "292 more tensor types that are unknown"),
        ([TensorIn(f"t{n}", (32,), 999) for n in range(300)], "t0, t1, t2 and 297 more"),
        ([TensorIn(b"a\xff")], "not UTF-8, shown with escapes: tensor 1"),
    ],
)
def test_oddities_are_noted(tmp_path: Path, tensors: list[TensorIn], words: str) -> None:
    assert words in noted(write_gguf(tmp_path / "m.gguf", ARCH, tensors))


@pytest.mark.parametrize(
    ("number", "name", "block", "size"), [(39, "MXFP4", 32, 17), (40, "NVFP4", 64, 36), (41, "Q1_0", 128, 18)]
)
def test_new_types_are_known(tmp_path: Path, number: int, name: str, block: int, size: int) -> None:
    tensors = [TensorIn("a", (256,), 0), TensorIn("b", (block * 2, 3), number)]
    found = read_header(write_gguf(tmp_path / "m.gguf", ARCH, tensors))
    kind = found.tensors[1].kind
    assert kind is not None
    assert (kind.name, found.tensors[1].size) == (name, size * 6)
    assert found.notes == ()


def test_a_name_of_63_bytes_and_offsets_behind_an_unknown_type_are_not_odd(tmp_path: Path) -> None:
    tensors = [TensorIn("a" * 63), TensorIn("b", (32,), 999), TensorIn("c", offset=4096)]
    path = write_gguf(tmp_path / "m.gguf", ARCH, tensors)
    with path.open("r+b") as stream:
        stream.truncate(8192)
    assert noted(path) == "tensor type 999 (unknown to this build): b"


def test_every_cut_is_an_error_or_a_note(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", {**ARCH, "k": ["x", "y"]}, [TensorIn("a", (64,)), TensorIn("b", (64,))])
    whole, found = path.read_bytes(), read_header(path)
    header_end = whole.index(b"b" + b"\1\0\0\0") + 1 + 4 + 8 + 4 + 8
    assert found.notes == ()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        if length < header_end:
            with pytest.raises(ModelUnreadable, match=r"m\.gguf: "):
                read_header(path)
        else:
            assert noted(path) == f"cut short: {len(whole) - length} bytes of tensor data are missing at the end"


def test_what_follows_the_data_is_noted(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", ARCH, [TensorIn("a")])
    with path.open("ab") as stream:
        stream.write(b"<html>the answer 416 of some server</html>")
    assert noted(path) == "42 bytes follow the data of the last tensor"


@pytest.mark.parametrize("what", ["folder", "pipe", "missing", "below a file"])
def test_what_is_no_file_is_named_at_once(tmp_path: Path, what: str) -> None:
    path = tmp_path / "m.gguf"
    words = {
        "folder": "a folder",
        "pipe": "a pipe or device",
        "missing": "no such file",
        "below a file": "no such file",
    }
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "below a file":
        path.touch()
        path = path / "below"
    with pytest.raises(ModelUnreadable, match=words[what]) as caught:
        read_header(path)
    assert caught.value.exit_code == EXIT_USAGE


def test_a_model_without_tensors_is_read(tmp_path: Path) -> None:
    found: Header = read_header(write_gguf(tmp_path / "m.gguf", ARCH))
    assert (found.tensors, found.notes, found.missing) == ((), (), 0)
