import pytest

from ci.gpu.timing import LIMIT_S, STEPS, ends_by


def test_the_last_step_ends_within_the_limit() -> None:
    assert ends_by(STEPS[-1].name) <= LIMIT_S < 9 * 60 + 1


def test_steps_end_one_after_the_other() -> None:
    ends = [ends_by(step.name) for step in STEPS]
    assert ends == sorted(set(ends))
    assert ends[0] == STEPS[0].seconds


def test_an_unknown_step() -> None:
    with pytest.raises(KeyError):
        ends_by("lunch")
