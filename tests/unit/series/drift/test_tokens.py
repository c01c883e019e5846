"""One spelling of code, and which tokens of a hunk stand on added lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.series.drift.tokens import hunk_tokens, one_spelling


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("std::vector<std::map<int,int>>  x ( 3 ) ;", "std::vector<std::map<int, int>> x(3);"),
        ("const char*x", "const char * x"),
        ("int f(int a=-1, float b = 1e-5f)const", "int f(int a = -1, float b = 1e-5f) const"),
        ("a/* one */+ // two\n b", "a + b"),
        ('R"(a // b)" "x\\" /* y" \'"\'', 'R"(a // b)" "x\\" /* y" \'"\''),
        ("x = (3)", "x = (3)"),
        ("a->b . c", "a->b.c"),
    ],
)
def test_code_has_one_spelling(written: str, spelled: str) -> None:
    assert one_spelling(written) == spelled
    assert one_spelling(spelled) == spelled


def test_words_can_be_left_out() -> None:
    assert one_spelling("static inline int f(int a)", without=frozenset(("static", "inline"))) == "int f(int a)"


def added(lines: list[tuple[str, str]]) -> list[str]:
    return [token.text for token in hunk_tokens(lines) if token.added]


def test_only_added_lines_count() -> None:
    assert added([(" ", "a;"), ("+", "b;"), (" ", "c;"), ("+", "d")]) == ["b", ";", "d"]


def test_a_comment_goes_on_over_lines() -> None:
    assert added([(" ", "/* it"), ("+", "says b"), (" ", "*/"), ("+", "c")]) == ["c"]


def test_a_hunk_may_begin_in_a_comment() -> None:
    assert added([(" ", " * don't"), ("+", " * b */ c"), ("+", "d")]) == ["c", "d"]


def test_names_of_included_files_are_no_names() -> None:
    assert added([("+", "#include <b.h>"), ("+", '#  include "c.h"'), ("+", "d")]) == ["d"]


@given(st.text())
def test_any_text_has_tokens(text: str) -> None:
    one_spelling(text)
    hunk_tokens([("+", line) for line in text.split("\n")])
