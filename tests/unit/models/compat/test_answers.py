"""Three answers, and how many of them make one."""

import pytest

from ci.models.compat.answers import Answer, Fit, combined, same


def answer(fit: Fit) -> Answer:
    return Answer(rule="r", fit=fit, reason="because")


@pytest.mark.parametrize(
    ("fits", "expected"),
    [
        ((), Fit.UNKNOWN),
        ((Fit.OK,), Fit.OK),
        ((Fit.OK, Fit.UNKNOWN), Fit.UNKNOWN),
        ((Fit.UNKNOWN, Fit.REFUSED, Fit.OK), Fit.REFUSED),
    ],
)
def test_the_worst_answer_counts_and_none_is_no_ok(fits: tuple[Fit, ...], expected: Fit) -> None:
    assert combined(map(answer, fits)) is expected


@pytest.mark.parametrize(
    ("found", "expected", "fit"),
    [(1, 1, Fit.OK), (None, None, Fit.OK), (1, 2, Fit.REFUSED), (None, 2, Fit.UNKNOWN), (1, None, Fit.UNKNOWN)],
)
def test_same_tells_a_difference_from_silence(found: int | None, expected: int | None, fit: Fit) -> None:
    assert same("r", found, expected, differ="they differ").fit is fit


def test_a_difference_shows_both_values() -> None:
    assert str(same("width", 64, None, differ="d")) == "width: only one of the two says it (found 64, expected none)"
