"""Symbol versions: numbers, names without a number, and everybody else's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.builds.floor import as_number, floor_of, limits_of


def test_versions_compare_as_numbers() -> None:
    assert as_number("2.9") < as_number("2.34") < as_number("2.38")
    assert as_number("3.4.9") < as_number("3.4.32")


@pytest.mark.parametrize(
    ("name", "family", "number"),
    [
        ("GLIBC_2.2.5", "GLIBC", (2, 2, 5)),
        ("GLIBC_2.38", "GLIBC", (2, 38)),
        ("GLIBCXX_3.4.32", "GLIBCXX", (3, 4, 32)),
        ("CXXABI_1.3", "CXXABI", (1, 3)),
        ("GCC_3.0", "GCC", (3, 0)),
        ("GLIBC_ABI_DT_RELR", "GLIBC", (2, 36)),
        ("GLIBC_PRIVATE", "GLIBC", ()),
        ("CXXABI_TM_1", "CXXABI", ()),
        ("GLIBC_2.x", "GLIBC", ()),
        ("GLIBC_", "GLIBC", ()),
        ("GLIBC_2.38\n", "GLIBC", ()),
    ],
)
def test_families(name: str, family: str, number: tuple[int, ...]) -> None:
    floor = floor_of(name)
    assert floor is not None
    assert (floor.family, floor.number, floor.name) == (family, number, name)


@pytest.mark.parametrize("name", ["libcudart.so.13", "LLAMA_1", "", "XGLIBC_2.38", "glibc_2.38"])
def test_versions_of_other_libraries_are_no_floor(name: str) -> None:
    assert floor_of(name) is None


@given(st.text())
def test_any_text_is_a_floor_or_none(name: str) -> None:
    floor = floor_of(name)
    assert floor is None or floor.name == name


def test_debian_11() -> None:
    assert limits_of("2.31", "3.4.28") == {
        "GLIBC": "2.31",
        "GLIBCXX": "3.4.28",
        "CXXABI": "1.3.12",
        "GCC": "7.0.0",
    }


def test_an_unknown_libstdcxx_has_no_known_company() -> None:
    assert limits_of("", "9.9.9") == {"GLIBCXX": "9.9.9"}
