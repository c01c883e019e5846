"""Paths as a person types them."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.series.byhand.worktree import shell_word, words


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("src/a.cpp", "src/a.cpp"),
        ("with blank", "'with blank'"),
        ("é", "'é'"),
        ("caf\udce9", "$'caf\\351'"),
        ("a\nb", "$'a\\012b'"),
        ("it's\t\\", "$'it\\047s\\011\\134'"),
    ],
)
def test_a_path_becomes_a_word(path: str, word: str) -> None:
    assert shell_word(path) == word


@given(st.lists(st.text(st.characters(codec="utf-8", categories=["L", "P", "N"]), min_size=1)))
def test_printable_paths_come_back(paths: list[str]) -> None:
    assert shlex.split(words(paths)) == paths


@given(st.binary(min_size=1))
def test_every_path_can_be_printed(raw: bytes) -> None:
    assert shell_word(raw.decode("utf-8", "surrogateescape")).isprintable()
