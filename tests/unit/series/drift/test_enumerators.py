"""Values of enumerators, counted out."""

import pytest

from ci.series.drift.enumerators import counted


@pytest.mark.parametrize(
    ("written", "values"),
    [
        (["A", "B"], ["0", "1"]),
        (["A", "B=5", "C"], ["0", "5", "6"]),
        (["A=0x10", "B", "C=0b11", "D=010", "E"], ["16", "17", "3", "8", "9"]),
        (["A=-2", "B", "C"], ["-2", "-1", "0"]),
        (["A=1 << 3", "B=1u<<31"], ["8", "2147483648"]),
        (["A=1 << 99", "B=X", "C"], ["1 << 99", "X", "X + 1"]),
        (["A=X | 1", "B", "C"], ["X | 1", "(X | 1) + 1", "(X | 1) + 2"]),
        (["A=7", "B=A", "C"], ["7", "7", "8"]),
        (["A=09", "B=1'000u"], ["09", "1000"]),
        ([], []),
    ],
)
def test_values_are_counted(written: list[str], values: list[str]) -> None:
    pairs = [(name, value) for name, _, value in (entry.partition("=") for entry in written)]
    assert [value for _, value in counted(pairs)] == values
