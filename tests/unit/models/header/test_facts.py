from pathlib import Path

import pytest

from ci.models.header.facts import DraftFacts, TypeCount, VocabularyFacts, facts_of
from ci.models.header.shards import read_model
from tests.helpers.made_gguf import TensorIn, Typed, ValueIn, write_gguf

DRAFT: dict[str, ValueIn] = {
    "general.architecture": "dflash",
    "general.name": "a draft",
    "dflash.context_length": 4096,
    "dflash.block_count": 5,
    "dflash.embedding_length": 64,
    "dflash.block_size": 7,
    "dflash.target_layers": [1, 9, 17],
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "qwen2",
    "tokenizer.ggml.tokens": ["a", "b", "c"],
    "tokenizer.ggml.bos_token_id": 0,
    "tokenizer.ggml.eos_token_id": 1,
    "tokenizer.ggml.mask_token_id": 2,
}
HEADS = [TensorIn("markov_w1.weight", (32, 3)), TensorIn("conf_proj.weight", (96, 1))]


def test_a_dspark_draft_at_a_glance(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", DRAFT, [*HEADS, TensorIn("output.weight", (64, 3), 40)])
    facts = facts_of(read_model(path))
    assert (facts.arch, facts.name, facts.file_size) == ("dflash", "a draft", path.stat().st_size)
    assert (facts.parameters, facts.context_length, facts.n_layer, facts.n_embd) == (96 + 96 + 192, 4096, 5, 64)
    assert facts.vocabulary == VocabularyFacts(count=3, model="gpt2", pre="qwen2", bos=0, eos=1, mask=2)
    assert facts.types == (
        TypeCount(number=0, name="F32", tensors=2, elements=192, bytes=768),
        TypeCount(number=40, name="NVFP4", tensors=1, elements=192, bytes=108),
    )
    assert facts.dspark == DraftFacts(
        block_size=7, target_layers=(1, 9, 17), markov_rank=32, confidence_head=True, sample_from_anchor=True
    )


def draft_of(tmp_path: Path, changes: dict[str, ValueIn], tensors: list[TensorIn]) -> DraftFacts:
    found = facts_of(read_model(write_gguf(tmp_path / "m.gguf", {**DRAFT, **changes}, tensors))).dspark
    assert found is not None
    return found


def test_a_draft_without_heads_has_none(tmp_path: Path) -> None:
    found = draft_of(tmp_path, {}, [])
    assert (found.markov_rank, found.confidence_head) == (None, False)


@pytest.mark.parametrize("said", [True, False])
def test_a_bonus_anchor_is_told(tmp_path: Path, said: bool) -> None:
    assert draft_of(tmp_path, {"dflash.sample_from_anchor": said}, HEADS).sample_from_anchor is said


def test_the_head_is_what_tensors_say_and_not_what_a_flag_says(tmp_path: Path) -> None:
    assert not draft_of(tmp_path, {"dflash.has_confidence_head": True}, HEADS[:1]).confidence_head


@pytest.mark.parametrize("value", ["many", [True, False], ["1"], Typed("BOOL", True), Typed("FLOAT32", [1.5])])
def test_values_of_a_wrong_type_are_not_said(tmp_path: Path, value: ValueIn) -> None:
    keys = ("dflash.block_size", "dflash.target_layers", "dflash.context_length", "tokenizer.ggml.bos_token_id")
    facts = facts_of(read_model(write_gguf(tmp_path / "m.gguf", {**DRAFT, **dict.fromkeys(keys, value)}, HEADS)))
    assert facts.dspark is not None
    assert (facts.dspark.block_size, facts.dspark.target_layers) == (None, ())
    assert (facts.context_length, facts.vocabulary.bos) == (None, None)


def test_a_model_that_says_nothing(tmp_path: Path) -> None:
    facts = facts_of(read_model(write_gguf(tmp_path / "m.gguf")))
    assert (facts.arch, facts.name, facts.parameters, facts.types, facts.dspark) == ("", "", 0, (), None)
    assert facts.vocabulary == VocabularyFacts(count=None, model="", pre="", bos=None, eos=None, mask=None)


def test_a_vocabulary_size_stands_for_tokens_that_are_not_there(tmp_path: Path) -> None:
    metadata: dict[str, ValueIn] = {"general.architecture": "qwen3", "qwen3.vocab_size": 151_936}
    assert facts_of(read_model(write_gguf(tmp_path / "m.gguf", metadata))).vocabulary.count == 151_936


def test_types_nobody_knows_come_first_and_have_no_size(tmp_path: Path) -> None:
    tensors = [TensorIn("a"), TensorIn("b", (32,), 4), TensorIn("c", (64,), 999), TensorIn("d", (64,), 8)]
    facts = facts_of(read_model(write_gguf(tmp_path / "m.gguf", {}, tensors)))
    assert [(count.number, count.name, count.bytes) for count in facts.types] == [
        (4, "Q4_2 (removed)", None),
        (999, "unknown to this build", None),
        (0, "F32", 128),
        (8, "Q8_0", 68),
    ]
