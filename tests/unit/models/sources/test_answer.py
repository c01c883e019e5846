"""The rules of a resumed transfer, as values: nothing is joined that does not follow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.models.sources.answer import Answer, Origin, Take, take, validator

HAVE = 400


def answer(status: int, **headers: str) -> Answer:
    return Answer(status=status, headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize(
    ("came", "same", "todo"),
    [
        (answer(200), True, Take.REPLACE),
        (answer(200), False, Take.REPLACE),
        (answer(206, content_range="bytes 400-999/1000"), True, Take.APPEND),
        (answer(206, content_range="bytes 400-999/*"), True, Take.APPEND),
        (answer(206, content_range="bytes 400-999/1000"), False, Take.RESTART),
        (answer(206, content_range="bytes 0-999/1000"), True, Take.RESTART),
        (answer(206, content_range="bytes 401-999/1000"), True, Take.RESTART),
        (answer(206, content_range="bytes 400-999/1000", content_encoding="gzip"), True, Take.RESTART),
        (answer(206), True, Take.RESTART),
        (answer(206, content_range="lines 400-999/1000"), True, Take.RESTART),
        (answer(416, content_range="bytes */400"), True, Take.COMPLETE),
        (answer(416, content_range="bytes */400"), False, Take.RESTART),
        (answer(416, content_range="bytes */1000"), True, Take.RESTART),
        (answer(416), True, Take.RESTART),
        (answer(404), True, Take.FAIL),
        (answer(503), True, Take.FAIL),
    ],
)
def test_an_answer_to_a_request_for_the_rest(came: Answer, same: bool, todo: Take) -> None:
    assert take(came, have=HAVE, same=same) is todo


@given(
    st.sampled_from([200, 206, 416, 500]),
    st.text(max_size=30) | st.builds("bytes {}-{}/{}".format, st.integers(0), st.integers(0), st.integers(0)),
    st.integers(1, 1000),
    st.booleans(),
)
def test_bytes_are_joined_only_where_they_follow(status: int, spoken: str, have: int, same: bool) -> None:
    came = answer(status, content_range=spoken)
    joined = take(came, have=have, same=same) is Take.APPEND
    assert not joined or (same and status == 206 and spoken.startswith(f"bytes {have}-"))


@pytest.mark.parametrize("status", [206, 416, 404])
def test_only_a_whole_answer_will_do_where_all_was_asked_for(status: int) -> None:
    assert take(answer(status, content_range="bytes 0-9/10"), have=0, same=False) is Take.FAIL


def origin(linked: str | None = None, tag: str | None = None, size: int | None = None) -> Origin:
    return Origin(address="http://127.0.0.1/a", linked=linked, tag=tag, size=size)


@pytest.mark.parametrize(
    ("before", "now", "agrees", "contradicts"),
    [
        (origin(tag="a"), origin(tag="a"), True, False),
        (origin(tag="a"), origin(tag="b"), False, True),
        (origin(tag="a"), origin(), False, False),
        (origin(), origin(), False, False),
        (origin("x", "a"), origin("x", "b"), True, False),  # another edge of the CDN has another name for it
        (origin("x", "a"), origin("x"), True, False),
        (origin("x", "a"), origin("y", "a"), False, True),
        (origin("x", "a"), origin(None, "a"), True, False),
        (origin(tag="a", size=5), origin(tag="a", size=6), False, True),
        (origin(tag="a", size=5), origin(tag="a"), True, False),
    ],
)
def test_whether_two_answers_are_of_one_file(before: Origin, now: Origin, agrees: bool, contradicts: bool) -> None:
    assert (before.agrees(now), before.contradicts(now)) == (agrees, contradicts)
    assert (now.agrees(before), now.contradicts(before)) == (agrees, contradicts)


def test_another_address_is_another_file() -> None:
    elsewhere = origin(tag="a").model_copy(update={"address": "http://127.0.0.1/b"})
    assert origin(tag="a").contradicts(elsewhere)


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({"etag": '"a"', "last-modified": "then"}, '"a"'),
        ({"etag": 'W/"a"', "last-modified": "then"}, "then"),
        ({"etag": 'W/"a"'}, None),
        ({}, None),
    ],
)
def test_a_weak_tag_validates_nothing(headers: dict[str, str], found: str | None) -> None:
    assert validator(headers) == found


def test_the_length_of_a_compressed_answer_is_not_that_of_the_file() -> None:
    assert answer(200, content_length="70").total == 70
    assert answer(200, content_length="70", content_encoding="gzip").total is None
    assert answer(200, content_length="many").total is None
