import pytest

from ci.suggest import did_you_mean


@pytest.mark.parametrize(
    ("word", "guess"),
    [
        ("nmae", ", did you mean 'name'?"),
        ("speed-id", ", did you mean 'Speed-Id'?"),
        ("SPEEDID", ", did you mean 'Speed-Id'?"),
        ("quite else", ""),
        ("", ""),
    ],
)
def test_the_closest_word_is_named_whatever_its_case_or_none(word: str, guess: str) -> None:
    assert did_you_mean(word, ("name", "Speed-Id", "b")) == guess
