"""convert-draft before it begins: what is refused, what would be made, and what a person reads."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import EXIT_OK, CheckpointProblem, DiskFull, UsageProblem
from ci.home import Home
from ci.models.convert.converting import Made, Product
from ci.models.exact_pair import SMALL
from ci.models.header.values import Header, ModelHeader, Tensor
from ci.verbs import convert_draft as verb
from ci.verbs.convert_draft import Request, convert_draft, plan, products_of, show
from tests.helpers.made_build import made_build
from tests.helpers.tiny_checkpoint import write_draft, write_target


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", checkout=tmp_path / "checkout")


@pytest.fixture
def asked(tmp_path: Path) -> Request:
    draft, target = write_draft(tmp_path / "tiny_block8", SMALL), write_target(tmp_path / "target", SMALL)
    return Request(draft=str(draft), target=str(target), quantise=("q8_0", "Q4_K_M", "Q8_0"), dry_run=True)


def test_a_dry_run_says_what_it_would_take_and_changes_nothing(
    home: Home, asked: Request, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert convert_draft(home, Console(json_output=True), asked) == EXIT_OK
    said = capsys.readouterr()
    drafts = tmp_path / "checkout" / "out" / "drafts"
    document = json.loads(said.out)
    assert document["would_make"] == [str(drafts / f"tiny_block8-{kind}.gguf") for kind in ("Q8_0", "Q4_K_M")]
    assert document["environment"]["ready"] is False
    assert "Qwen3DSparkModel, block 8, Markov rank 32, with a confidence head" in said.err
    assert "MB to download" in said.err
    assert sorted(tmp_path.rglob("*")) == before


def quantizer(known: str, *, answers: bool = True) -> dict[str, bytes]:
    says = f"echo '   7  or  {known}    :  a type'" if answers else ":"
    return {"llama-quantize": f"#!/bin/sh\n{says}\nexit 1\n".encode()}


def dry(home: Home, asked: Request, capsys: pytest.CaptureFixture[str]) -> tuple[str, bool]:
    assert convert_draft(home, Console(json_output=True), asked) == EXIT_OK
    said = capsys.readouterr()
    return said.err, json.loads(said.out)["types_checked"]


def test_a_dry_run_without_a_build_says_that_types_are_not_checked(
    home: Home, asked: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    said, checked = dry(home, asked, capsys)
    assert ("not checked: no build is here yet" in said, checked) == (True, False)
    assert dry(home, replace(asked, quantise=()), capsys)[1]


def test_a_dry_run_asks_a_stored_quantizer(home: Home, asked: Request, capsys: pytest.CaptureFixture[str]) -> None:
    made_build(home.root, files=quantizer("Q8_0"))
    said, checked = dry(home, replace(asked, quantise=("q8_0",)), capsys)
    assert checked
    assert "Q8_0: known to the llama-quantize of b7-speed.1" in said
    with pytest.raises(UsageProblem, match="llama-quantize knows no type 'Q99'"):
        convert_draft(home, Console(), replace(asked, quantise=("Q99",)))


def test_a_stored_quantizer_without_an_answer_checks_nothing(
    home: Home, asked: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    made_build(home.root, files=quantizer("Q8_0", answers=False))
    said, checked = dry(home, asked, capsys)
    assert ("not checked: no stored llama-quantize answers" in said, checked) == (True, False)


@pytest.mark.parametrize(
    ("draft", "fault", "hint"),
    [
        ("owner/name-1.0", "no such folder", "hf download owner/name-1.0 --local-dir name-1.0"),
        ("/nofolder-here/draft", "no such folder", "ls /  #"),
        ("./draft", "no such folder", "ls {cwd}  #"),
        ("../draft", "no such folder", "ls {above}  #"),
        ("my-drafd", "no such folder, and not in models.toml, did you mean 'my-draft'?", "name a folder, or a check"),
        (
            "qwen3-4b-dspar",
            "no such folder, and not in models.toml, did you mean 'qwen3-4b-dspark'?",
            "name a folder",
        ),
        ("file.txt", "a file, no folder", "--draft ."),
    ],
)
def test_a_name_of_nothing_is_answered_by_what_it_looks_like(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, draft: str, fault: str, hint: str
) -> None:
    (tmp_path / "here" / "my-draft").mkdir(parents=True)
    (tmp_path / "here" / "file.txt").touch()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(UsageProblem) as refused:
        convert_draft(home, Console(), Request(draft=draft))
    assert refused.value.message == f"--draft {draft}: {fault}"
    assert refused.value.hint.startswith(hint.format(cwd=tmp_path / "here", above=tmp_path))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"draft": ""}, "--draft is required"),
        ({"target": ""}, "--target is required"),
        ({"draft": "no/such/folder"}, "--draft no/such/folder: no such folder"),
        ({"out": "a.gguf"}, "--out a.gguf is one file, 2 types were asked for"),
        ({"out": "a.bin", "quantise": ()}, "--out a.bin does not end in .gguf"),
    ],
)
def test_options_that_cannot_be_are_refused(
    home: Home, asked: Request, changes: dict[str, object], fault: str
) -> None:
    with pytest.raises(UsageProblem) as refused:
        convert_draft(home, Console(), Request(**{**vars(asked), **changes}))
    assert refused.value.message == fault


def test_a_file_that_is_there_is_not_written_over(home: Home, tmp_path: Path) -> None:
    (tmp_path / "mine.gguf").touch()
    with pytest.raises(UsageProblem, match="is there already"):
        products_of(home, "tiny", Request(out=str(tmp_path / "mine.gguf")))
    found = products_of(home, "tiny", Request(out=str(tmp_path / "other.gguf"), quantise=("q8_0",)))
    assert found == (Product(path=tmp_path / "other.gguf", kind="Q8_0"),)


def test_without_a_type_the_product_has_16_bits(home: Home) -> None:
    assert products_of(home, "tiny", Request()) == (Product(path=home.out / "drafts" / "tiny.gguf"),)


def test_a_target_that_the_draft_was_not_made_for_is_refused(home: Home, asked: Request, tmp_path: Path) -> None:
    write_target(tmp_path / "target", SMALL, hidden_size=64)
    with pytest.raises(CheckpointProblem, match="hidden_size: the draft has 128, the target 64"):
        plan(home, Console(), asked)


def test_no_room_is_found_beforehand(home: Home, asked: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "required_bytes", lambda draft, products: 1 << 60)
    with pytest.raises(DiskFull, match="the conversion needs"):
        plan(home, Console(), asked)


def test_the_answer_shows_types_and_what_did_not_fit(
    home: Home, asked: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    tensors = tuple(Tensor(name=str(number), shape=(32,), number=number, offset=0) for number in (8, 8, 0, 77))
    shard = Header(
        path=Path("/x/a-Q8_0.gguf"),
        version=3,
        byte_order="little",
        metadata={},
        tensors=tensors,
        data_offset=0,
        file_size=2_500_000,
    )
    product = Product(path=Path("/x/a-Q8_0.gguf"), kind="Q8_0")
    made = Made(product=product, header=ModelHeader(shards=(shard,)), notes=("1 tensor(s) became F16",))
    show(Console(json_output=True), plan(home, Console(), asked), [made])
    said = capsys.readouterr()
    (document,) = json.loads(said.out)["files"]
    assert document["types"] == {"F32": 1, "Q8_0": 2, "type 77": 1}
    assert document["notes"] == ["1 tensor(s) became F16"]
    assert "a-Q8_0.gguf: 1 tensor(s) became F16" in said.err
    assert "2.5" in said.err
