"""The catalogue of speculators."""

from pathlib import Path

import pytest

from ci.errors import ConfigProblem
from ci.models.lock import load_models
from ci.models.speculators import SPECULATORS_FILE, load_speculators, speculators_for


def test_the_known_ones() -> None:
    told = {one.name: (one.kind, one.form, one.size) for one in load_speculators()}
    assert told == {
        "Koopah/Qwen3.6-35B-A3B-NVFP4-DSPARK-v2-GGUF": ("dspark", "gguf", 0),
        "ankk98/dspark-qwen3-8b-block7-Q4_K_M-GGUF": ("dspark", "gguf", 1_530_000_000),
        "ankk98/dspark-gemma4-12b-block7-Q4_0-GGUF": ("dspark", "gguf", 1_900_000_000),
        "deepseek-ai/dspark_qwen3_4b_block7": ("dspark", "safetensors", 0),
        "deepseek-ai/dspark_qwen3_14b_block7": ("dspark", "safetensors", 0),
        "LordNeel/Ornith-1.0-35B-GGUF-llamacpp-tp1": ("mtp", "gguf", 19_600_000_000),
    }


def test_no_date_is_made_up() -> None:
    assert {one.date for one in load_speculators()} == {None}


def test_pairs_are_those_of_the_lock() -> None:
    names = {name for entry in load_models().values() for name in (entry.id, entry.pair)}
    assert {one.pair for one in load_speculators()} <= names


def test_by_pair_or_model_and_kind() -> None:
    known = load_speculators()
    assert [one.target for one in speculators_for(("x", "qwen3-8b"), known)] == ["Qwen3-8B"]
    assert speculators_for(("ornith-1.0-35b-mtp",), known, kind="dspark") == ()
    assert speculators_for((None, ""), known) == ()


def test_an_unknown_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SPECULATORS_FILE.read_text().replace('form = "safetensors"', 'form = "zip"'))
    with pytest.raises(ConfigProblem, match="form"):
        load_speculators(path)
