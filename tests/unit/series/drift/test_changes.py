"""What differs between two versions of some declarations, in words."""

import pytest

from ci.series.drift.changes import changes_between
from tests.helpers.declaring import Sources, changed, declared


def words(before: Sources | str, after: Sources | str) -> list[str]:
    return [reason.words for change in changed(before, after) for reason in change.reasons]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("struct s { int a; };", "struct s { int a; int b; };", ["field b added"]),
        ("struct s { int a; int b; };", "struct s { int b; };", ["field a removed"]),
        ("struct s { int a; };", "struct s { long a; };", ["field a is now `long a`, was `int a`"]),
        ("struct s { int a = 1; };", "struct s { int a = 2; };", ["default of field a is now `2`, was `1`"]),
        ("struct s { int a; };", "struct s { int a = 2; };", ["default of field a is now `2`, was `none`"]),
        ("struct s { int a; int b; };", "struct s { int b; int a; };", ["order of fields changed"]),
        (
            "struct s { int a; };",
            "struct s : t { int a; };",
            ["declaration is now `struct s : t {`, was `struct s {`"],
        ),
        ("enum e { A, B };", "enum e { X, A, B };", ["enumerator A is now 1, was 0", "enumerator B is now 2, was 1"]),
        ("enum e { A, B };", "enum e { A };", ["enumerator B removed"]),
        ("int f(int a);", "int f(int a, int b);", ["parameter b added"]),
        ("int f(int a);", "int f(float a);", ["parameter a is now `float a`, was `int a`"]),
        ("int f(int a = 1);", "int f(int a = 2);", ["default of parameter a is now `2`, was `1`"]),
        ("int f(int a, int b);", "int f(int b, int a);", ["order of parameters changed"]),
        ("int f(int a);", "long f(int a);", ["signature is now `long f(int a)`, was `int f(int a)`"]),
        ("#define A 1\n", "#define A 2\n", ["value is now `#define A 2`, was `#define A 1`"]),
        ("#define A 1\n", "#if X\n#define A 1\n#endif\n", ["moved: under `#if X`, was under no condition"]),
        ("using t = int;", "using t = long;", ["declaration is now `using t = long`, was `using t = int`"]),
        ("const int N = 1;", "const int N = 2;", ["value is now `const int N = 2`, was `const int N = 1`"]),
        ("int f(int a);\nint g();", "int g();", ["removed"]),
        ("const int N = 1;", f"const int N = {'1 + ' * 30}1;", ["value changed"]),
    ],
)
def test_a_change_is_said_in_words(before: str, after: str, said: list[str]) -> None:
    assert words(before, after) == said


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("struct s { int a; };", "// new\nstruct s {\n  int a; // a\n};"),
        ("int f(int a) { return a; }", "int f(int a) { return a + 1; }"),
        ("int f(int a);", "static inline int f(int a);"),
        ("enum e { A };", "enum e { A, B };"),
        ("struct s { int a; void f(); };", "struct s { int a; void f(); void g(); };"),
        ("", "#define A 1\nint f();\nstruct s { int a; };"),
        ("#define A 1\n", "#define B 2\n#define A 1\n"),
    ],
)
def test_what_no_user_can_notice_is_no_change(before: str, after: str) -> None:
    assert words(before, after) == []


def test_a_macro_may_move_to_another_file() -> None:
    assert words({"a.h": "#define A 1\n", "b.h": ""}, {"a.h": "", "b.h": "#define A 1\n"}) == [
        "moved from a.h to b.h"
    ]


def test_a_type_may_move_without_a_change() -> None:
    assert words({"a.h": "struct s { int a; };"}, {"b.h": "struct s { int a; };"}) == []


def test_a_type_that_moves_and_changes_is_one_change() -> None:
    assert words({"a.h": "struct s { int a; };"}, {"b.h": "struct s { int a; int b; };"}) == ["field b added"]


def test_overloads_and_equal_names_are_kept_apart() -> None:
    before = {"a.h": "int f(int a);\nint f(float a);", "b.h": "#define A 1\n"}
    after = {"a.h": "int f(int a);\nint f(float a, int b);", "b.h": "#define A 1\n"}
    assert words(before, after) == ["parameter b added"]


def test_equal_declarations_cancel_out_one_by_one() -> None:
    one = declared("int f();")
    assert changes_between([*one, *one], one)[0].after is None
    assert changes_between([*one, *one], [*one, *one]) == ()
