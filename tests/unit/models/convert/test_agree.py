"""What draft and target say of themselves, and every way in which they do not belong together."""

from pathlib import Path
from typing import Any

import pytest

from ci.errors import CheckpointProblem
from ci.models.convert.agree import MARKOV, DraftShape, TargetShape, draft_shape, refuse_strangers, target_shape
from ci.models.convert.checkpoint import read_draft, read_target
from ci.models.convert.safetensors import Stored
from ci.models.exact_pair import SMALL
from tests.helpers.tiny_checkpoint import draft_config, write_draft, write_target

TENSORS = {
    "markov_head.markov_w1.weight": Stored(dtype="BF16", shape=(96, 32)),
    "markov_head.markov_w2.weight": Stored(dtype="BF16", shape=(96, 32)),
    "fc.weight": Stored(dtype="BF16", shape=(128, 128)),
    "confidence_head.proj.weight": Stored(dtype="BF16", shape=(1, 160)),
}
DRAFT = DraftShape(
    architecture="Qwen3DSparkModel",
    width=128,
    vocabulary=96,
    block_size=8,
    target_layers=(1,),
    rank=32,
    confidence=True,
)
TARGET = TargetShape(architecture="Qwen3ForCausalLM", width=128, vocabulary=96, layers=2)


def shape_of(changes: dict[str, Any] | None = None, tensors: dict[str, Stored] | None = None) -> DraftShape:
    config = {**draft_config(SMALL), **(changes or {})}
    config = {key: value for key, value in config.items() if value is not None}
    return draft_shape(config, TENSORS if tensors is None else tensors, shown="draft")


def test_the_checkpoint_that_we_write_says_what_it_is(tmp_path: Path) -> None:
    draft, target = read_draft(write_draft(tmp_path / "d", SMALL)), read_target(write_target(tmp_path / "t", SMALL))
    assert draft_shape(draft.config, draft.tensors, shown="d") == DRAFT
    assert target_shape(target.config, shown="t") == TARGET
    refuse_strangers(DRAFT, TARGET, shown="both")


def test_all_forms_of_publication_say_the_same() -> None:
    bare = shape_of()
    nested = {"target_layer_ids": None, "mask_token_id": None, "block_size": None}
    flash = {"dflash_config": {"target_layer_ids": [0], "mask_token_id": 95, "block_size": 8}}
    eagle = {"target_layer_ids": None, "aux_hidden_state_layer_ids": [1]}
    layer = {"hidden_size": None, "transformer_layer_config": {"hidden_size": 128}}
    prefixed = {f"model.{name}": stored for name, stored in TENSORS.items()}
    assert bare == shape_of({**nested, **flash}) == shape_of(eagle) == shape_of(layer) == shape_of(tensors=prefixed)


def test_a_draft_without_confidence_head_says_so() -> None:
    assert not shape_of(tensors={name: TENSORS[name] for name in TENSORS if "confidence" not in name}).confidence


@pytest.mark.parametrize("absent", MARKOV)
def test_a_model_without_markov_head_is_no_dspark_draft(absent: str) -> None:
    with pytest.raises(CheckpointProblem, match="no DSpark draft: Qwen3DSparkModel without"):
        shape_of(tensors={name: stored for name, stored in TENSORS.items() if name != absent})


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"block_size": None}, "no whole number of 31 bits for block_size"),
        ({"block_size": "7"}, r"block_size \('7'\)"),
        ({"block_size": 0}, "block_size is 0, expected 1 to 1024"),
        ({"block_size": 1025}, "block_size is 1025, expected 1 to 1024"),
        ({"hidden_size": 10**400}, r"no whole number of 31 bits for hidden_size \(1000000"),
        ({"target_layer_ids": [10**400]}, "no target_layer_ids"),
        ({"mask_token_id": 96}, "mask_token_id is 96, expected one of 96 tokens"),
        ({"target_layer_ids": []}, "no target_layer_ids"),
        ({"target_layer_ids": [0, 1]}, r"fc.weight has shape \[128, 128\], config.json asks for \[128, 256\]"),
        ({"vocab_size": 100}, r"markov_w1.weight has shape \[96, 32\], config.json asks for \[100, 32\]"),
        ({"draft_vocab_size": 48}, r"markov_w2.weight has shape \[96, 32\], config.json asks for \[48, 32\]"),
    ],
)
def test_a_draft_that_contradicts_itself_is_refused(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(CheckpointProblem, match=fault):
        shape_of(changes)


def test_a_draft_with_a_reduced_vocabulary_is_taken() -> None:
    reduced = {**TENSORS, MARKOV[1]: Stored(dtype="BF16", shape=(48, 32))}
    assert shape_of({"draft_vocab_size": 48}, reduced).vocabulary == 96


def test_a_target_says_its_sizes_in_its_text_part_where_it_has_one() -> None:
    nested = {"hidden_size": 128, "vocab_size": 96, "num_hidden_layers": 2}
    config = {"architectures": ["Qwen3ForCausalLM"], "hidden_size": 1, "text_config": nested}
    assert target_shape(config, shown="t") == TARGET
    with pytest.raises(CheckpointProblem, match="no whole number of 31 bits for vocab_size, num_hidden_layers"):
        target_shape({"hidden_size": 128}, shown="t")


def test_every_mismatch_is_named_with_both_values() -> None:
    other = TargetShape(architecture="Qwen3ForCausalLM", width=64, vocabulary=95, layers=1)
    with pytest.raises(CheckpointProblem) as refused:
        refuse_strangers(DRAFT, other, shown="both")
    assert refused.value.message.splitlines() == [
        "both:",
        "    hidden_size: the draft has 128, the target 64",
        "    vocab_size: the draft has 96, the target 95",
        "    target_layer_ids: the draft reads [0], a Qwen3ForCausalLM of 1 layers gives those below 0",
    ]


def test_only_some_targets_give_what_comes_after_their_last_layer() -> None:
    last = TargetShape(architecture="NemotronHForCausalLM", width=128, vocabulary=96, layers=1)
    refuse_strangers(DRAFT, last, shown="both")
