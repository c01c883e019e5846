"""The fleet's file: the example, and a user's own."""

from pathlib import Path

import pytest

from ci.errors import ConfigProblem, UsageProblem
from ci.models.fleet import cards_named, load_fleet

ONE = '[[card]]\nname = "A"\nmemory_mib = 1024\n'


def fleet(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "fleet.toml"
    path.write_text(text)
    return path


def test_the_example_fleet() -> None:
    cards = {card.name: (card.capability, card.memory_mib, card.driver) for card in load_fleet()}
    assert cards == {
        "RTX 2080 Ti": ("7.5", 11264, "535"),
        "RTX 4090": ("8.9", 24576, ""),
        "RTX PRO 6000 Blackwell": ("12.0", 97887, ""),
    }


def test_what_nobody_says_is_unknown(tmp_path: Path) -> None:
    (card,) = load_fleet(fleet(tmp_path, ONE))
    assert (card.computes, card.driver, card.serves) == (None, "", None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ONE + ONE,
        ONE + ONE.replace("A", "a"),
        ONE.replace("A", " "),
        ONE.replace("A", "\\u001b[31mA"),
        ONE.replace("A", "a\\nb"),
        ONE.replace("A", "A" * 100),
        ONE.replace("1024", "1" + "0" * 400),
        ONE.replace("1024", "1" + "0" * 5000),
        "x = " + "[" * 100_000,
        ONE.replace("1024", "0"),
        ONE + 'capability = "sm_75"\n',
        ONE + 'driver = "latest"\n',
        ONE + "memory_gib = 11\n",
        ONE.replace("1024", "true"),
        ONE.replace("1024", '"1024"'),
        "card = []\n",
    ],
)
def test_a_fleet_that_cannot_be_is_refused(tmp_path: Path, text: str) -> None:
    path = fleet(tmp_path, text)
    with pytest.raises(ConfigProblem, match=str(path)):
        load_fleet(path)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblem, match="no such file"):
        load_fleet(tmp_path / "none.toml")


def test_a_folder_is_no_fleet(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblem, match="a folder, not a TOML file"):
        load_fleet(tmp_path)


@pytest.mark.parametrize("name", ["A", "RTX PRO 6000", "[bold]é 卡[/bold]"])
def test_a_name_may_have_any_letters(tmp_path: Path, name: str) -> None:
    assert load_fleet(fleet(tmp_path, ONE.replace('"A"', f'"{name}"')))[0].name == name


def test_cards_by_name() -> None:
    cards = load_fleet()
    assert cards_named(cards, ()) == cards
    assert [card.name for card in cards_named(cards, ("rtx 4090",))] == ["RTX 4090"]
    with pytest.raises(UsageProblem, match="did you mean 'RTX 4090'"):
        cards_named(cards, ("RTX 4080",))


def test_a_fault_inside_a_card_is_listed_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblem, match=r"1 fault\(s\)\n    card\.0\.memory_mib: [^\n]*\n  next: "):
        load_fleet(fleet(tmp_path, ONE.replace("1024", "0")))
