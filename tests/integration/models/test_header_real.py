"""Our header reader against gguf-py on real models, and against llama.cpp's own loader on good and bad files."""

import random
from pathlib import Path
from typing import Any

import pytest

from ci.builds.store import Build
from ci.errors import ModelUnreadable
from ci.home import Home
from ci.models.exact_pair import HYBRID, LARGE, SMALL, PairSpec, ensure_pair
from ci.models.fetch import ensure_model
from ci.models.header.facts import facts_of
from ci.models.header.reading import read_header
from ci.models.header.shards import read_model
from ci.models.header.types import REMOVED, TENSOR_TYPES
from ci.models.header.values import Header
from tests.helpers.ggml_loader import loaded
from tests.helpers.gguf_py import everything, read_with_gguf_py, sizes_of_gguf_py
from tests.helpers.made_gguf import TensorIn, write_gguf
from tests.unit.models.header.test_hostile import HOSTILE, VALID

MODEL = "smollm2-135m-q4_1"
REFUSED = ("which llama.cpp refuses", "unknown to this build", "removed from llama.cpp", "big-endian")
"""Words of notes about what stops llama.cpp's loader, but not us."""

ARCH = {"general.architecture": "qwen3"}


def test_a_real_model_is_read_as_gguf_py_reads_it(real_home: Home) -> None:
    path = ensure_model(real_home, MODEL)
    found = read_header(path)
    assert everything(found) == everything(read_with_gguf_py(path))  # it takes two seconds: once is enough
    assert (found.missing, found.notes) == (0, ())


def test_facts_of_a_real_model(real_home: Home) -> None:
    facts = facts_of(read_model(ensure_model(real_home, MODEL)))
    assert (facts.arch, facts.parameters, facts.context_length) == ("llama", 134_515_008, 8192)
    assert (facts.n_layer, facts.n_embd, facts.dspark) == (30, 576, None)
    assert (facts.vocabulary.count, facts.vocabulary.model, facts.vocabulary.pre) == (49_152, "gpt2", "smollm")
    assert [(count.name, count.tensors) for count in facts.types] == [("Q4_1", 210), ("Q8_0", 1), ("F32", 61)]


@pytest.mark.parametrize("spec", [SMALL, HYBRID], ids=lambda spec: spec.name)
def test_exact_pairs_are_read_as_gguf_py_reads_them(real_home: Home, spec: PairSpec) -> None:
    pair = ensure_pair(real_home, spec)
    for path in (pair.target, pair.draft, pair.simple):
        found = read_header(path)
        assert everything(found) == everything(read_with_gguf_py(path))
        assert [tensor.size for tensor in found.tensors] == sizes_of_gguf_py(path)
        assert found.notes == ()


def test_a_large_vocabulary_of_our_own(real_home: Home) -> None:
    draft = facts_of(read_model(ensure_pair(real_home, LARGE).draft))
    assert draft.vocabulary.count == LARGE.vocab
    assert draft.dspark is not None
    assert (draft.dspark.block_size, draft.dspark.markov_rank) == (LARGE.block, LARGE.rank)
    assert draft.dspark.confidence_head
    assert draft.dspark.sample_from_anchor


def damaged(folder: Path, *, count: int) -> list[Path]:
    """A small draft with a few bytes changed, in so many ways; the same ones each time."""
    chance, paths = random.Random(1), []  # noqa: S311 - examples, no secrets
    for number in range(count):
        content = bytearray(VALID.ljust(len(VALID) + 512, b"\0"))
        for _ in range(chance.randint(1, 3)):
            content[chance.randrange(4, len(VALID))] = chance.choice((0, 1, 2, 8, 33, 64, 255))
        paths.append(folder / f"damaged{number}.gguf")
        paths[-1].write_bytes(content)
    return paths


def odd(folder: Path) -> list[Path]:
    """One file for each tensor type, known or not, and for each oddity of the tensor list."""
    numbers = (*TENSOR_TYPES, *REMOVED, 43, 999, 2**32 - 1)
    lists = [[TensorIn("a", (32, 2)), TensorIn("b", (256, 3), number)] for number in numbers]
    lists += [[TensorIn("a", (33, 2), 2)], [TensorIn("a" * 63)], [TensorIn("a" * 64)], [TensorIn("")]]
    lists += [[TensorIn("a", ())], [TensorIn("a", (), 2)], [TensorIn("a", (0, 4), 12), TensorIn("b")]]
    lists += [[TensorIn("a"), TensorIn("b", offset=0)], [TensorIn("a"), TensorIn("b", offset=256)], []]
    lists += [[TensorIn("a", (1, 1, 1, 1))], [TensorIn("a", (1,) * 5)], [TensorIn("a", (2**40, 2**40))]]
    made = [
        write_gguf(folder / f"odd{at}.gguf", ARCH, tensors) for at, tensors in enumerate(lists) if not _wraps(tensors)
    ]
    return [*made, write_gguf(folder / "big.gguf", ARCH, big=True), write_gguf(folder / "two.gguf", ARCH, version=2)]


def _wraps(tensors: list[TensorIn]) -> bool:
    return any(tensor.size > 2**50 for tensor in tensors)


def hostile(folder: Path) -> list[Path]:
    paths = [folder / f"hostile{number}.gguf" for number in range(len(HOSTILE))]
    for path, (content, _) in zip(paths, HOSTILE.values(), strict=True):
        path.write_bytes(content)
    return paths


def ours(path: Path) -> Header | None:
    """Our header of a file that llama.cpp should load; None where we refuse it, or say that llama.cpp does."""
    try:
        found = read_header(path)
    except ModelUnreadable:
        return None
    return None if any(words in note for note in found.notes for words in REFUSED) else found


def as_loaded(header: Header | None) -> dict[str, Any] | None:
    if header is None:
        return None
    return {
        "version": header.version,
        "data_offset": header.data_offset if header.tensors else None,
        "keys": [_until_zero(key) for key in header.metadata],
        "tensors": [
            [_until_zero(tensor.name), tensor.number, tensor.offset, tensor.size] for tensor in header.tensors
        ],
    }


def _until_zero(text: str) -> str:
    """A name as C's functions hand it out."""
    return text.split("\0", maxsplit=1)[0]


@pytest.mark.native
def test_llama_cpp_loads_what_we_say_it_loads_and_nothing_else(
    stock_build: Build, real_home: Home, tmp_path: Path
) -> None:
    paths = [ensure_model(real_home, MODEL), *odd(tmp_path), *hostile(tmp_path), *damaged(tmp_path, count=400)]
    theirs = loaded(stock_build.path / "libggml-base.so.0", paths)
    for found in theirs:
        if found and not found["tensors"]:
            found["data_offset"] = None  # without tensors it does not round up, and nobody asks
    expected = [as_loaded(ours(path)) for path in paths]
    unlike = [
        (path.name, path.read_bytes(), mine, other)
        for path, mine, other in zip(paths, expected, theirs, strict=True)
        if mine != other
    ]
    assert unlike == []
    assert 50 < sum(other is not None for other in theirs) < len(theirs) - 150  # neither side of it is empty
