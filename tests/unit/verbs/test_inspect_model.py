import json
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import ModelUnreadable, UsageProblem
from ci.home import Home
from ci.verbs import inspect_model as verb
from ci.verbs.inspect_model import inspect_model
from tests.helpers.made_gguf import TensorIn, Typed, ValueIn, write_gguf
from tests.unit.models.header.test_facts import DRAFT, HEADS

EVIL = "\x1b[2J\x9b31m\u202egood\r\n::set-output name=x::y [bold]"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", checkout=tmp_path)


def said(home: Home, capsys: pytest.CaptureFixture[str], path: Path, *, json_output: bool = False) -> str:
    assert inspect_model(home, Console(json_output=json_output), str(path)) == 0
    return capsys.readouterr().out


def test_a_draft_for_people(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tensors = [*HEADS, TensorIn("output.weight", (64, 3), 40), TensorIn("x", (32,), 999)]
    out = said(home, capsys, write_gguf(tmp_path / "m.gguf", DRAFT, tensors))
    for words in (
        "dflash",
        "DSpark, Markov rank 32; block size 7; target layers 1, 9, 17; with confidence head",
        "3 tokens, tokenizer gpt2 qwen2, bos 0, eos 1, mask 2",
        "4,096 tokens",
        "NVFP4",
        "12.3%",
        "note: tensor type 999 (unknown to this build): x",
    ):
        assert words in out


def test_a_draft_for_machines(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metadata: dict[str, ValueIn] = {**DRAFT, "f": Typed("FLOAT32", [1.0]), "nan": float("nan"), "long": "x" * 500}
    found = json.loads(said(home, capsys, write_gguf(tmp_path / "m.gguf", metadata, HEADS), json_output=True))
    assert found["dspark"] == {
        "block_size": 7,
        "target_layers": [1, 9, 17],
        "markov_rank": 32,
        "confidence_head": True,
        "sample_from_anchor": True,
    }
    assert found["types"] == [{"number": 0, "name": "F32", "tensors": 2, "elements": 192, "bytes": 768}]
    assert found["tensors"][0] == {"name": "markov_w1.weight", "shape": [32, 3], "type": 0, "bytes": 384}
    assert found["metadata"]["tokenizer.ggml.tokens"] == "3 x STRING: a, b, c"
    assert (found["metadata"]["nan"], found["metadata"]["dflash.block_size"]) == ("nan", 7)
    assert len(found["metadata"]["long"]) == verb.LONG


@pytest.mark.parametrize("json_output", [False, True])
def test_a_terminal_obeys_no_file(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str], json_output: bool
) -> None:
    metadata: dict[str, ValueIn] = dict.fromkeys(("general.name", "tokenizer.ggml.model", "k", EVIL), EVIL)
    metadata |= {"general.architecture": EVIL, "tokenizer.ggml.tokens": [EVIL, EVIL], "tokenizer.ggml.pre": EVIL}
    path = write_gguf(tmp_path / "m.gguf", metadata, [TensorIn(EVIL, (32,), 999), TensorIn("t" * 99)])
    out = said(home, capsys, path, json_output=json_output)
    assert "\\\\x1b[2J" in out if json_output else "\\x1b[2J" in out
    assert all(line.isprintable() for line in out.split("\n"))
    assert not any(line.startswith("::") for line in out.split("\n"))


def test_a_terminal_obeys_no_file_name(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = said(home, capsys, write_gguf(tmp_path / "\x1b[2Jm.gguf", DRAFT, [TensorIn("x", (32,), 999)]))
    assert "\x1b" not in out
    assert "note: tensor type 999" in out


def test_a_large_vocabulary_and_many_keys_are_not_printed_whole(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metadata: dict[str, ValueIn] = {f"key{number}": number for number in range(1000)}
    metadata = {"tokenizer.ggml.tokens": [f"token {number}" for number in range(250_000)], **metadata}
    out = said(home, capsys, write_gguf(tmp_path / "m.gguf", metadata))
    assert "250,000 x STRING: token 0, token 1, token 2, token 3, ..." in out
    assert "token 4" not in out
    assert "only the first 200 are shown" in out
    assert "key200" not in out


@pytest.mark.parametrize(("file", "model"), [("", ""), ("a.gguf", "b")])
def test_one_model_is_named(home: Home, file: str, model: str) -> None:
    with pytest.raises(UsageProblem, match="name one model"):
        inspect_model(home, Console(), file, model)


def test_an_id_is_fetched(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_gguf(tmp_path / "m.gguf", DRAFT)
    monkeypatch.setattr(verb, "ensure_model", lambda home, name, console: {"tiny": path}[name])
    assert inspect_model(home, Console(), model="tiny") == 0
    assert "dflash" in capsys.readouterr().out


def test_a_checkpoint_has_to_be_converted_first(home: Home) -> None:
    with pytest.raises(UsageProblem, match="has to be converted first") as caught:
        inspect_model(home, Console(), model="qwen3-4b-dspark")
    assert caught.value.hint == "invoke convert-draft --draft qwen3-4b-dspark --target qwen3-4b-tokenizer"


def test_an_unreadable_file_prints_nothing(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ModelUnreadable, match="no such file"):
        inspect_model(home, Console(), str(tmp_path / "m.gguf"))
    assert capsys.readouterr().out == ""


def test_long_keys_stay_apart(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = ["x" * 300 + end for end in "ab"]
    path = write_gguf(tmp_path / "m.gguf", {**DRAFT, **dict.fromkeys(keys, 1)}, HEADS)
    assert set(keys) <= set(json.loads(said(home, capsys, path, json_output=True))["metadata"])
