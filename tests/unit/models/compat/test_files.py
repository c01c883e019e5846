"""Files that llama.cpp would not load: refused before anything is said about cards."""

from dataclasses import replace
from pathlib import Path

import pytest

from ci.models.compat.answers import Answer, Fit
from ci.models.compat.files import file_answers
from ci.models.compat.matrix import Subject, common_answers
from ci.models.compat.use import Use
from ci.models.header.shards import read_model
from ci.models.header.values import ModelHeader
from tests.helpers.made_gguf import TensorIn, write_gguf
from tests.helpers.model_headers import draft, target

ARCH = {"general.architecture": "qwen3"}


def only(model: ModelHeader) -> Answer:
    (answer,) = file_answers(model)
    assert answer.fit is Fit.REFUSED
    return answer


def test_a_whole_file_is_no_reason(tmp_path: Path) -> None:
    assert file_answers(read_model(write_gguf(tmp_path / "m.gguf", ARCH, [TensorIn("a", (64,))]))) == ()


def test_a_download_that_stopped_is_refused(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", ARCH, [TensorIn("a", (64,)), TensorIn("b", (64,))])
    path.write_bytes(path.read_bytes()[:-100])
    assert only(read_model(path)).reason == "m.gguf: cut short: 100 bytes of tensor data are missing at the end"


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (TensorIn("b", (64,), offset=4096), "data does not begin where the tensor before it ends"),
        (TensorIn("b", (33,), number=8), "rows that are not a whole number of their type's blocks"),
        (TensorIn("b" * 64, (64,)), "names longer than 63 bytes"),
    ],
)
def test_what_the_loader_refuses_is_refused(tmp_path: Path, odd: TensorIn, words: str) -> None:
    path = write_gguf(tmp_path / "m.gguf", ARCH, [TensorIn("a", (64,)), odd])
    with path.open("ab") as stream:
        stream.truncate(1 << 20)
    assert words in only(read_model(path)).reason


def test_a_name_cannot_make_a_file_refused(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", ARCH, [TensorIn("x, which llama.cpp refuses: y", (64,), number=999)])
    assert file_answers(read_model(path)) == ()


def test_a_big_endian_file_is_refused() -> None:
    (shard,) = target().shards
    assert "big-endian" in only(ModelHeader(shards=(replace(shard, byte_order="big"),))).reason


def test_the_draft_counts_too() -> None:
    (shard,) = draft().shards
    cut = ModelHeader(shards=(replace(shard, file_size=10),))
    answers = common_answers(Subject(name="m", target=target(), draft=cut), Use(), 11434)
    assert [answer.rule for answer in answers if answer.fit is Fit.REFUSED] == ["file"]
