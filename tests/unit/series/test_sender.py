"""Authors as `git mailinfo` reads them; each expectation is what git 2.39 answers."""

import pytest

from ci.series.sender import sender


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("A Person <a@example.org>", "A Person <a@example.org>"),
        ("B <b@example.org>", "B <b@example.org>"),
        (r'"Dr. \"Quote\", Jr." <q@example.org>', 'Dr. "Quote", Jr. <q@example.org>'),
        ('"a.b (c)" <abc@example.org>', "a.b (c) <abc@example.org>"),
        ("j@example.org (John Doe)", "John Doe <j@example.org>"),
        ("John Doe <jd>", "John Doe <jd>"),
        ("<a@example.org>", "a@example.org <a@example.org>"),
        (f"{'x' * 60} <a@example.org>", f"{'x' * 60} <a@example.org>"),
        (f"{'x' * 61} <a@example.org>", "a@example.org <a@example.org>"),
        (f"{'é' * 31} <a@example.org>", "a@example.org <a@example.org>"),
        ("John <q@z> Doe <jd@x>", "q@z <q@z>"),
        ("nobody", "nobody"),
        ("", ""),
    ],
)
def test_the_sender_is_the_one_that_git_writes_down(value: str, expected: str) -> None:
    assert sender(value) == expected
