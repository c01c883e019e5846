"""The verb: the catalogue, and who has none."""

import json
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import ConfigProblem
from ci.verbs.speculators import speculators


def fleet(tmp_path: Path, serves: str) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(f'[[card]]\nname = "A"\nmemory_mib = 1024\nserves = [{serves}]\n')
    return str(path)


def test_a_fleets_models_with_and_without(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert speculators(Console(json_output=True), fleet(tmp_path, '"qwen3-8b", "ornith-1.0-35b-mtp"')) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert document["models"]["qwen3-8b"] == ["ankk98/dspark-qwen3-8b-block7-Q4_K_M-GGUF"]
    assert document["without_dspark"] == ["ornith-1.0-35b-mtp"]
    assert "without a DSpark speculator: ornith-1.0-35b-mtp" in said.err
    assert {one["name"] for one in document["speculators"]} >= {"deepseek-ai/dspark_qwen3_14b_block7"}


def test_without_a_fleet_the_example_serves_every_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert speculators(Console()) == 0
    said = capsys.readouterr().out
    assert "without a DSpark speculator: smollm2-135m-q4_1" in said
    assert "qwen3-8b " in said
    assert "qwen3-4b-tokenizer" not in said  # a checkpoint serves nothing


def test_a_fleet_without_models_has_none_without(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert speculators(Console(), fleet(tmp_path, "")) == 0
    assert "without a DSpark speculator: none of them" in capsys.readouterr().out


def test_an_unknown_model_of_the_fleet_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblem, match=r"mine\.toml: serves 'qwen3-8c'.*did you mean 'qwen3-8b'"):
        speculators(Console(), fleet(tmp_path, '"qwen3-8c"'))
