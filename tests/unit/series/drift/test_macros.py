"""Macros and the conditions that they stand under."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.series.drift.macros import Macro, read_macros, without_decoration


def only(text: str) -> Macro:
    (macro,) = read_macros(text)
    return macro


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("#define A 3 // three\n", "#define A 3"),
        ("#  define A\n", "#define A"),
        ("#define MAX(a,b)  ((a)>(b) ? \\\n  (a) : (b))", "#define MAX(a, b) ((a) > (b) ? (a) : (b))"),
        ("#define A (3)", "#define A (3)"),
        ("/*\n#define B 1\n*/\n#define A /* not\n this */ 2", "#define A 2"),
    ],
)
def test_a_macro_has_a_name_parameters_and_a_value(text: str, shown: str) -> None:
    assert only(text).text == shown


@pytest.mark.parametrize(
    ("text", "guard"),
    [
        ("#ifdef X\n#define A 1\n#endif\n", ("defined(X)",)),
        ("#ifndef X\n#else\n#define A 1\n#endif\n", ("!(!defined(X))",)),
        ("#if X > 2\n#elif Y\n#define A 1\n#endif\n", ("!(X > 2) && Y",)),
        ("#if X\n#if Y\n#endif\n#define A 1\n#endif\n", ("X",)),
        ("#ifndef H\n#define A 1\n#endif\n", ("!defined(H)",)),
        ("#else\n#endif\n#define A 1\n", ()),
    ],
)
def test_a_macro_stands_under_conditions(text: str, guard: tuple[str, ...]) -> None:
    assert only(text).guard == guard


def test_an_include_guard_is_no_condition() -> None:
    guarded = "#ifndef F_H\n#define F_H\n#define A 1\n#endif\n"
    assert [macro.guard for macro in read_macros(guarded)] == [(), ()]


def test_decoration_goes_and_the_prototype_stays() -> None:
    text = b'DEPRECATED(LLAMA_API int f(int a), "use g");\nGGML_API void g(int b);\n'
    assert without_decoration(text) == b" int f(int a);\n void g(int b);\n"


@given(st.lists(st.sampled_from(["#if A", "#elif B", "#else", "#endif", "#define C 1", "x \\", "/*", "*/", '"'])))
def test_broken_conditions_are_read(lines: list[str]) -> None:
    assert len(list(read_macros("\n".join(lines)))) <= lines.count("#define C 1")
