"""What the verb refuses before it reads anything, and what it says of models that are not here."""

import json
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import UsageProblem
from ci.home import Home
from ci.models.compat.answers import Answer, Fit
from ci.models.compat.matrix import Cell
from ci.models.compat.memory import Placement
from ci.models.fleet import Card
from ci.verbs.compat import Request, cell_words, compat, served, use_of

HERE = Path(__file__).parents[3]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", checkout=HERE)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request(kv="q8"), "did you mean 'q8_0'"),
        (Request(ctx=100), "--ctx 100"),
        (Request(slots=0), "--slots 0"),
        (Request(slots=257), "--slots 257"),
        (Request(drafted=65), "--drafted 65"),
    ],
)
def test_numbers_that_cannot_be(request_: Request, words: str) -> None:
    with pytest.raises(UsageProblem, match=words):
        use_of(request_)


@pytest.mark.parametrize(
    ("request_", "hint"),
    [(Request(ctx=100), "--ctx 512"), (Request(slots=999), "--slots 256"), (Request(drafted=-1), "--drafted 0")],
)
def test_a_limit_names_the_nearest_number_that_can_be(request_: Request, hint: str) -> None:
    with pytest.raises(UsageProblem) as refused:
        use_of(request_)
    assert refused.value.hint == f"invoke compat {hint}"


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request(models=["qwen3-8c"]), "did you mean 'qwen3-8b'"),
        (Request(cards=["RTX 4080"]), "did you mean 'RTX 4090'"),
        (Request(drafts=["d.gguf"]), "1 drafts for 0 models"),
        (Request(measured=["decode=1"]), "one model"),
        (Request(models=["m"], measured=["decode=1", "decode=2"]), "decode is given more than once"),
        (Request(models=["m"], measured=["acceptance=0.9"]), "acceptance is in percent"),
        (Request(build="11434"), "not an upstream build"),
    ],
)
def test_requests_that_cannot_be(home: Home, request_: Request, words: str) -> None:
    with pytest.raises(UsageProblem, match=words):
        compat(home, Console(), request_)


def test_models_that_are_not_here_are_cannot_tell_with_the_next_command(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compat(home, Console(json_output=True), Request()) == 0
    said = capsys.readouterr()
    cells = json.loads(said.out)["cells"]
    assert {cell["fit"] for cell in cells} == {"CANNOT TELL"}
    assert {len(cell["command"]) for cell in cells} == {0}
    assert all(any(answer["hint"] for answer in cell["answers"]) for cell in cells)
    assert "next: invoke fetch-models --model exact-pair-small" in said.err
    assert "next: invoke pin-model --model qwen3-8b-dspark" in said.err


def test_a_published_size_alone_says_what_a_small_card_needs(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    request = Request(models=["ornith-1.0-35b-mtp"], cards=["RTX 2080 Ti"], measured=["decode=28", "accepted=3"])
    assert compat(home, Console(json_output=True), request) == 5
    said = capsys.readouterr()
    assert "its files have 18.25 GiB, more than the card has room for: it needs --n-cpu-moe" in said.err
    assert "nothing published to stand beside accepted 3" in said.err
    beside = [(one["metric"], one["beside"]) for one in json.loads(said.out)["published"] if one["measured"]]
    assert beside == [("decode", "below: 0.949 of the published 29.5")]


def test_the_example_fleets_cards_and_our_builds_for_them(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    compat(home, Console(json_output=True), Request(models=["qwen3-8b"]))
    cards = {card["name"]: card["archive"]["fit"] for card in json.loads(capsys.readouterr().out)["cards"]}
    assert cards == {"RTX 2080 Ti": "OK", "RTX 4090": "REFUSED", "RTX PRO 6000 Blackwell": "CANNOT TELL"}


def test_a_fleet_that_says_what_it_serves_is_shown_that() -> None:
    said = [Card(name="a", memory_mib=1, serves=("m", "n")), Card(name="b", memory_mib=1, serves=("n", "o"))]
    assert served(said) == ("m", "n", "o")
    assert served([*said, Card(name="c", memory_mib=1)]) is None
    assert served([Card(name="c", memory_mib=1, serves=())]) == ()


def test_a_fleet_that_serves_nothing_is_shown_nothing(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = tmp_path / "fleet.toml"
    fleet.write_text('[[card]]\nname = "a"\nmemory_mib = 1024\nserves = []\n')
    assert compat(home, Console(json_output=True), Request(fleet=str(fleet))) == 0
    assert json.loads(capsys.readouterr().out)["cells"] == []


@pytest.mark.parametrize(
    ("cell", "archive", "words"),
    [
        (Fit.OK, Fit.REFUSED, "OK: whole, no build of ours"),
        (Fit.OK, Fit.OK, "OK: whole"),
        (Fit.OK, Fit.UNKNOWN, "OK: whole"),
        (Fit.REFUSED, Fit.REFUSED, "REFUSED: rule"),
    ],
)
def test_a_card_that_no_archive_of_ours_is_for_says_so_in_its_cell(cell: Fit, archive: Fit, words: str) -> None:
    answers = (Answer(rule="rule", fit=cell, reason="made up"),)
    placement = Placement(gpu_layers=2, cpu_moe=0, card=1, host=0, layers=2)
    made = Cell(subject="m", card="c", answers=answers, placement=placement)
    assert cell_words(made, Answer(rule="build for the card", fit=archive, reason="made up")) == words


def test_a_file_that_is_not_there_is_named_with_what_to_type(home: Home) -> None:
    with pytest.raises(UsageProblem, match=r"target\.gguf: no such file") as caught:
        compat(home, Console(), Request(models=("nowhere/target.gguf",)))
    assert caught.value.hint.startswith("invoke compat --model FILE.gguf")
