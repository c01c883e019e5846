"""Ranges as they are typed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import UsageProblem
from ci.upstream.fork import Span, parse_span

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_/+#@-]{0,20}(\.[a-z0-9]{1,5})?", fullmatch=True).filter(
    lambda name: "@{" not in name
)


@given(NAMES, NAMES)
def test_both_ends_are_names(start: str, end: str) -> None:
    assert parse_span(f"{start}..{end}") == Span(start=start, end=end)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "main",
            "..",
            "a..",
            "..b",
            "a...b",
            "a..b..c",
            "a..b~1",
            "a^..b",
            "a..b@{1}",
            "a:b..c",
            "-x..b",
            "a..-b",
        ),
        *("a..b c", "a..b\n", "a..*", "a..b\x07", "a..[b]", "a\\b..c"),
    ],
)
def test_other_shapes_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        parse_span(text)
    assert caught.value.exit_code == 2
    assert caught.value.hint
