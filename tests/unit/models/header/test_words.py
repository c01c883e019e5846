import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.models.header.words import plain, some


@given(st.text(st.characters(), max_size=300), st.integers(4, 250))
def test_a_terminal_obeys_nothing_of_a_plain_text(text: str, most: int) -> None:
    shown = plain(text, most)
    assert shown.isprintable()
    assert not {unicodedata.category(letter) for letter in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    shown.encode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain Ġtext 語", "plain Ġtext 語"),
        ("\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x9b2J", "\\x9b2J"),
        ("\u202eexe.fugg", "\\u202eexe.fugg"),
        ("x" * 100, "x" * 77 + "..."),
    ],
)
def test_texts_as_they_are_shown(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_the_first_of_many() -> None:
    assert some(["a"]) == "a"
    assert some(["a", "b", "c"]) == "a, b, c"
    assert some(["a", "b", "c", "d\n", "e"]) == "a, b, c and 2 more"
