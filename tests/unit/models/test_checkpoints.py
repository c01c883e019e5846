"""Which files of a repository make a checkpoint."""

import pytest

from ci.models.checkpoints import fault_of, wanted

SHARDED = tuple(f"model-0000{at}-of-00002.safetensors" for at in (1, 2))
PUBLISHED = (
    ".gitattributes",
    "LICENSE",
    "README.md",
    "chat_template.jinja",
    "config.json",
    "merges.txt",
    "modeling_dspark.py",
    "optimizer.pt",
    "original/params.json",
    "original/model.safetensors",
    "pytorch_model.bin",
    "consolidated.safetensors",
    "model.safetensors.index.json",
    "tokenizer.json",
    *SHARDED,
    "a b.json",
)
TEXTS = ("config.json", "README.md", "chat_template.jinja", "merges.txt", "tokenizer.json")


def test_a_draft_is_data_with_its_weights_and_the_config_first() -> None:
    found = wanted(PUBLISHED, weights=True)
    assert set(found) == {*TEXTS, "model.safetensors.index.json", *SHARDED}
    assert found[0] == "config.json"
    assert wanted(tuple(reversed(PUBLISHED)), weights=True) == found


def test_of_a_target_config_and_tokenizer_are_taken() -> None:
    assert wanted(PUBLISHED, weights=False) == TEXTS


@pytest.mark.parametrize(
    ("without", "added", "weights", "fault"),
    [
        ((), (), True, None),
        ((), (), False, None),
        (("config.json",), (), True, "no config.json"),
        (SHARDED[:1], (), True, f"1 files of weights are missing: {SHARDED[0]}"),
        (SHARDED, (), True, "found only consolidated.safetensors, optimizer.pt, original/model.safetensors, pytorch"),
        (("tokenizer.json",), (), False, "no tokenizer: none of tokenizer.json, tokenizer.model, vocab.json"),
        (("tokenizer.json",), (), True, None),
        ((), ("mask_embedding.pt",), True, "mask_embedding.pt: pickled, so it is not read"),
        ((), ("mask_embedding.pt",), False, None),
    ],
)
def test_what_is_missing_is_named(
    without: tuple[str, ...], added: tuple[str, ...], weights: bool, fault: str | None
) -> None:
    found = fault_of([*(name for name in PUBLISHED if name not in without), *added], weights=weights)
    assert found is None if fault is None else found is not None and fault in found
