"""A file is the draft of a checkpoint when its header says all of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from ci.models.convert.agree import DraftShape
from ci.models.convert.product import faults_of
from ci.models.header.values import ArrayValue, Header, ModelHeader, Tensor, Value

DRAFT = DraftShape(
    architecture="Qwen3DSparkModel",
    width=128,
    vocabulary=2,
    block_size=7,
    target_layers=(2, 9),
    rank=32,
    confidence=True,
)
METADATA: dict[str, Value] = {
    "general.architecture": "dflash",
    "dflash.block_size": 7,
    "dflash.target_layers": ArrayValue(element="INT32", items=[2, 9]),
    "dflash.embedding_length": 128,
    "dflash.has_confidence_head": True,
    "tokenizer.ggml.tokens": ArrayValue(element="STRING", items=["a", "b"]),
}
TENSORS = ("markov_w1.weight", "markov_w2.weight", "conf_proj.weight")


def header(metadata: dict[str, Value], tensors: tuple[str, ...] = TENSORS) -> ModelHeader:
    entries = tuple(Tensor(name=name, shape=(32, 2), number=30, offset=0) for name in tensors)
    shard = Header(
        path=Path("x.gguf"),
        version=3,
        byte_order="little",
        metadata=metadata,
        tensors=entries,
        data_offset=0,
        file_size=0,
    )
    return ModelHeader(shards=(shard,))


def test_the_draft_itself_has_no_fault() -> None:
    assert list(faults_of(header(METADATA), DRAFT)) == []


def test_a_draft_without_confidence_head_needs_no_tensor_of_it() -> None:
    found = header({**METADATA, "dflash.has_confidence_head": False}, TENSORS[:2])
    assert list(faults_of(found, replace(DRAFT, confidence=False))) == []


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("general.architecture", "qwen3", "general.architecture is 'qwen3', expected 'dflash'"),
        ("dflash.block_size", 16, "dflash.block_size is 16, the checkpoint has 7"),
        ("dflash.block_size", True, "dflash.block_size is None, the checkpoint has 7"),
        ("dflash.target_layers", 2, r"dflash.target_layers is (), the checkpoint has (2, 9)"),
        ("dflash.embedding_length", 64, "dflash.embedding_length is 64, the checkpoint has 128"),
        ("dflash.has_confidence_head", False, "dflash.has_confidence_head is False, the checkpoint has True"),
        ("tokenizer.ggml.tokens", "a", "tokenizer.ggml.tokens is 0, the checkpoint has 2"),
    ],
)
def test_every_other_fact_is_a_fault(key: str, value: Value, fault: str) -> None:
    assert list(faults_of(header({**METADATA, key: value}), DRAFT)) == [fault]
    without = {name: METADATA[name] for name in METADATA if name != key}
    assert len(list(faults_of(header(without), DRAFT))) == 1


@pytest.mark.parametrize("name", TENSORS)
def test_a_missing_head_is_a_fault(name: str) -> None:
    tensors = tuple(one for one in TENSORS if one != name)
    assert list(faults_of(header(METADATA, tensors), DRAFT)) == [f"no tensor {name}"]
