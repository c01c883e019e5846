"""Folders of checkpoints: what is taken, what is refused by name, and what the converter never gets to see."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ci.errors import CheckpointProblem
from ci.models.convert.checkpoint import link_data, read_draft, read_target
from ci.models.exact_pair import SMALL
from tests.helpers.tiny_checkpoint import write_draft, write_target

Damage = Callable[[Path], object]


def sparse(file: Path, size: int) -> None:
    """A file of zeros that takes no room."""
    file.touch()
    os.truncate(file, size)


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    return write_draft(tmp_path / "draft", SMALL)


@pytest.fixture
def sharded(tmp_path: Path) -> Path:
    return write_draft(tmp_path / "draft", SMALL, shards=3)


def test_one_file_and_three_say_the_same(tmp_path: Path) -> None:
    one = read_draft(write_draft(tmp_path / "one", SMALL))
    three = read_draft(write_draft(tmp_path / "three", SMALL, shards=3))
    assert (len(one.files), len(three.files)) == (1, 3)
    assert one.tensors == three.tensors
    assert one.size == one.files[0].stat().st_size
    assert one.plain_size == three.plain_size < one.size  # its values have 16 bits already
    assert three.size == sum(file.stat().st_size for file in three.files)


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (lambda f: (f / "config.json").unlink(), "no config.json, so no checkpoint"),
        (lambda f: (f / "config.json").write_text("{"), "config.json: not valid JSON"),
        (lambda f: sparse(f / "config.json", 300_000_000), "300000000 bytes, expected at most 4194304"),
        (lambda f: sparse(f / "model.safetensors.index.json", 1 << 26), "67108864 bytes, expected at most 33554432"),
        (lambda f: (f / "model.safetensors").unlink(), r"no model\*.safetensors\n"),
        (lambda f: (f / "model.safetensors").rename(f / "draft.safetensors"), "found only draft.safetensors"),
        (lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"), "found only pytorch_model.bin"),
        (lambda f: (f / "mask_embedding.pt").touch(), "mask_embedding.pt: pickled, so it is not read"),
        (lambda f: os.truncate(f / "model.safetensors", 5000), "model.safetensors: tensor .* cut short"),
        (
            lambda f: os.truncate(f / "model.safetensors", 100),
            "the header says .* the file has 100",
        ),
        (lambda f: (f / "model.safetensors").write_text("version https://git-lfs"), "cut short, or no safetensors"),
        (lambda f: (f / "model.safetensors.index.json").write_text("[]"), "expected a JSON object"),
        (lambda f: (f / "model.safetensors.index.json").write_text("{}"), "index.json: no weight_map"),
    ],
)
def test_a_damaged_draft_is_refused_by_the_name_of_the_file(draft: Path, damage: Damage, fault: str) -> None:
    damage(draft)
    with pytest.raises(CheckpointProblem, match=fault):
        read_draft(draft)


def test_pickled_weights_alone_are_refused_with_the_reason(draft: Path) -> None:
    (draft / "model.safetensors").rename(draft / "pytorch_model.bin")
    with pytest.raises(CheckpointProblem) as refused:
        read_draft(draft)
    assert "would run code" in refused.value.hint


@pytest.mark.parametrize("index", ["stays", "goes"])
def test_a_missing_shard_is_named_with_or_without_the_index(sharded: Path, index: str) -> None:
    (sharded / "model-00002-of-00003.safetensors").unlink()
    if index == "goes":
        (sharded / "model.safetensors.index.json").unlink()
    with pytest.raises(CheckpointProblem, match="1 files of weights are missing: model-00002-of-00003"):
        read_draft(sharded)


@pytest.mark.parametrize("name", ["../model.safetensors", "model.bin"])
def test_an_index_does_not_lead_elsewhere(draft: Path, name: str) -> None:
    (draft / "model.safetensors.index.json").write_text(f'{{"weight_map": {{"a": "{name}"}}}}')
    with pytest.raises(CheckpointProblem, match=f"'{name}' is no safetensors file beside it"):
        read_draft(draft)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.model", "vocab.json"])
def test_a_target_needs_a_tokenizer_and_no_weights(tmp_path: Path, name: str) -> None:
    target = write_target(tmp_path / "target", SMALL)
    (target / "tokenizer.model").unlink()
    with pytest.raises(CheckpointProblem, match="target: no tokenizer"):
        read_target(target)
    (target / name).touch()
    assert read_target(target).files == ()


def test_the_converter_sees_data_only(draft: Path, tmp_path: Path) -> None:
    for name in ("modeling_dspark.py", "training_args.bin", "optimizer.pt", "README.md", "chat_template.jinja"):
        (draft / name).touch()
    (draft / "code.json").mkdir()
    place = link_data(read_draft(draft), tmp_path / "links")
    assert place.name == "draft"
    expected = ["README.md", "chat_template.jinja", "config.json", "model.safetensors"]
    assert sorted(path.name for path in place.iterdir()) == expected
    assert (place / "config.json").read_bytes() == (draft / "config.json").read_bytes()
