"""What two texts do not have in common, against a plain way of finding it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ci.series.engine.objects import trimmed

texts = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"aa\n", b"a"]), max_size=6).map(b"".join)


def naive(before: bytes, after: bytes) -> tuple[bytes, bytes]:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return b"".join(old), b"".join(new)


@given(before=texts, after=texts)
@example(before=b"", after=b"")
@example(before=b"a", after=b"a\n")
@example(before=b"b\na", after=b"b\na\n")
@example(before=b"a\nb", after=b"b")
@example(before=b"a\n", after=b"a\na\n")
def test_common_lines_at_either_end_go_and_nothing_else(before: bytes, after: bytes) -> None:
    assert trimmed(before, after) == naive(before, after)


@pytest.mark.parametrize("text", [b"", b"\n", b"a", b"a\n", b"a\nb", b"a\nb\n"])
def test_of_equal_texts_nothing_is_left(text: bytes) -> None:
    assert trimmed(text, text) == (b"", b"")


@given(text=texts, more=texts)
def test_of_a_text_and_a_longer_one_only_what_is_more_is_left(text: bytes, more: bytes) -> None:
    whole = text + b"\n" if text and not text.endswith(b"\n") else text
    assert trimmed(whole, whole + more) == (b"", more)
