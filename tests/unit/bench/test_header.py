import json
import re
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import EXIT_FAIL, EXIT_OK
from ci.home import Home
from tests.bench import header as bench
from tests.helpers.gguf_py import read_with_gguf_py
from tests.helpers.made_gguf import TensorIn, ValueIn, write_gguf


def metadata(token: str) -> dict[str, ValueIn]:
    return {"tokens": ["a", token], "ids": [1, 2]}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    path = write_gguf(tmp_path / "m.gguf", metadata("b"), [TensorIn("t", (64, 2), 8)])
    monkeypatch.setattr(bench, "ensure_model", lambda home, name, console: {bench.MODEL: path}[name])
    return Home(root=tmp_path / "home", checkout=tmp_path)


def test_the_last_line_is_the_ratio(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.bench(home, Console(), rounds=3, json_file=tmp_path / "samples.json") == EXIT_OK
    assert re.fullmatch(r"header_vs_ggufpy=\d+\.\d", capsys.readouterr().out.splitlines()[-1])
    samples = json.loads((tmp_path / "samples.json").read_text())["seconds"]
    assert {name: len(times) for name, times in samples.items()} == dict.fromkeys(bench.READERS, 3)


def test_readers_that_do_not_agree_are_not_compared(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    other = write_gguf(tmp_path / "other.gguf", metadata("c"), [TensorIn("t", (64, 2), 8)])
    monkeypatch.setattr(bench, "read_with_gguf_py", lambda _: read_with_gguf_py(other))
    assert bench.bench(home, Console(), rounds=1, json_file=None) == EXIT_FAIL
    assert "header_vs_ggufpy" not in capsys.readouterr().out


def test_ours_makes_every_element_too(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bytes] = []

    def text_of(raw: bytes) -> str:
        made.append(bytes(raw))
        return "x"

    monkeypatch.setattr("ci.models.header.items.text_of", text_of)
    bench.read_all(tmp_path / "m.gguf")
    assert {b"a", b"b"} <= set(made)
