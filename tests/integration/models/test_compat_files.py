"""Small files against cards: every kind of mismatch is refused, and its right form accepted, through the verb."""

import json
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import ModelUnreadable
from ci.home import Home
from ci.models.header.values import ModelHeader, Tensor, Value
from ci.verbs.compat import Request, compat
from tests.helpers.model_headers import WORDS, array, draft, draft_tensors, grafted_moe, target, tensor, written

HERE = Path(__file__).parents[3]
TURING, BLACKWELL = "RTX 2080 Ti", "RTX PRO 6000 Blackwell"
OK, REFUSED, CANNOT_TELL = 0, 4, 5
MISNAMED = "Model-NVFP4-DSPARK-Q8_0.gguf"


def longer(by: int) -> Value:
    return array([*WORDS, *(f"pad{at}" for at in range(by))], "STRING")


def other(at: int) -> Value:
    return array([*WORDS[:at], "other", *WORDS[at + 1 :]], "STRING")


def with_tensor(number: int) -> tuple[Tensor, ...]:
    return (*draft_tensors(), tensor("blk.0.ffn_up.weight", 64, 128, number=number))


def asked(tmp_path: Path, models: list[ModelHeader], *cards: str, fleet: str = "", build: str = "b11434") -> int:
    """Exit code for a target and, where there are two models, its draft; on the old card unless others are named."""
    files = [str(written(tmp_path / f"{at}-{MISNAMED}", made)) for at, made in enumerate(models)]
    request = Request(models=files[:1], drafts=files[1:], cards=cards or (TURING,), fleet=fleet, build=build)
    return compat(Home(root=tmp_path / "home", checkout=HERE), Console(json_output=True), request)


@pytest.mark.parametrize(
    ("models", "code", "words"),
    [
        ((target(), draft()), OK, ""),
        ((target(), draft(ggml__tokens=array([f"x{at}" for at in range(32)], "STRING"))), REFUSED, "'x5'"),
        ((target(), draft(ggml__tokens=other(7))), REFUSED, "token 7 reads differently"),
        ((target(), draft(ggml__tokens=other(4))), OK, ""),
        ((target(ggml__tokens=longer(128)), draft()), OK, ""),
        ((target(ggml__tokens=longer(129)), draft()), REFUSED, "they differ by 129"),
        ((target(), draft(ggml__pre="llama3")), REFUSED, "found llama3, expected qwen2"),
        ((target(), draft(ggml__model="llama")), REFUSED, "found llama, expected gpt2"),
        ((target(), draft(ggml__bos_token_id=3)), REFUSED, "bos token"),
        ((target(), draft(ggml__eos_token_id=3)), REFUSED, "eos token"),
        ((target(), draft(arch__target_layers=array([2]))), REFUSED, "found 2, expected 0 to 1"),
        ((target("mimo2"), draft(arch__target_layers=array([2]))), OK, ""),
        ((target(arch__embedding_length=96), draft()), REFUSED, "found 64, expected 96"),
        ((target(), draft(ggml__tokens=None)), CANNOT_TELL, "the draft brings no vocabulary"),
        ((draft(), target()), REFUSED, "swapped"),
        ((draft(),), REFUSED, "the file is a draft"),
        ((target(), draft(arch__block_size=None)), REFUSED, "dflash.block_size is missing"),
        ((target(), draft(arch__target_layers=None)), REFUSED, "dflash.target_layers is missing"),
        ((target(), draft(ggml__mask_token_id=None)), REFUSED, "mask_token_id is missing"),
        ((target(), draft(with_tensor(40))), REFUSED, "NVFP4 (40) needs the FP4 tensor cores"),
        ((target(), draft(with_tensor(39))), REFUSED, "MXFP4 (39) needs the FP4 tensor cores"),
        ((target(), draft(with_tensor(4))), REFUSED, "type 4 (Q4_2)"),
        ((target(), draft(with_tensor(999))), CANNOT_TELL, "type 999 is unknown"),
        ((target(), draft(with_tensor(42))), OK, ""),
    ],
)
def test_a_mismatch_and_its_right_form(
    models: tuple[ModelHeader, ...], code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(tmp_path, list(models)) == code
    said = capsys.readouterr()
    assert words in said.err
    (cell,) = json.loads(said.out)["cells"]
    assert bool(cell["command"]) is (code == OK)


def test_blackwell_takes_what_turing_does_not(tmp_path: Path) -> None:
    models = [target(), draft(with_tensor(40))]
    assert asked(tmp_path, models, BLACKWELL) == OK
    assert asked(tmp_path, models, BLACKWELL, TURING) == REFUSED


@pytest.mark.parametrize(("build", "code"), [("b10159", REFUSED), ("b10165", CANNOT_TELL), ("b10173", OK)])
def test_the_build_must_know_the_speculation_type(build: str, code: int, tmp_path: Path) -> None:
    assert asked(tmp_path, [target(), draft()], build=build) == code


def test_a_bonus_anchor_clamps_k_by_one_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked(tmp_path, [target(), draft(arch__sample_from_anchor=False)])
    said = capsys.readouterr()
    assert "k = 8 is above the draft's block: llama-server clamps it to 7" in said.err
    assert json.loads(said.out)["cells"][0]["command"][-2:] == ["--spec-draft-n-max", "7"]


def test_a_model_of_19_gb_on_11_gb_keeps_experts_on_the_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(tmp_path, [grafted_moe()]) == OK
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["placement"]["cpu_moe"] == int(cell["command"][cell["command"].index("--n-cpu-moe") + 1]) == 21


def test_a_fleet_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fleet = tmp_path / "fleet.toml"
    fleet.write_text('[[card]]\nname = "Mystery"\nmemory_mib = 8192\n')
    assert asked(tmp_path, [target(), draft()], "mystery", fleet=str(fleet)) == OK
    assert asked(tmp_path, [target(), draft(with_tensor(40))], "mystery", fleet=str(fleet)) == CANNOT_TELL
    assert "nobody says what this card is" in capsys.readouterr().err


def test_what_is_no_model_is_no_answer(tmp_path: Path) -> None:
    page = tmp_path / "m.gguf"
    page.write_text("<!DOCTYPE html>")
    with pytest.raises(ModelUnreadable, match="HTML"):
        compat(Home(root=tmp_path, checkout=HERE), Console(), Request(models=[str(page)]))
