"""Which upstream changes matter to a patch, and which do not."""

import json

import pytest

from ci.series.drift.drifts import text_diff
from tests.helpers.declaring import drifted, patch_adding

ARGS = "struct mmq_args { const char * x; int64_t ncols; };"
ARGS_OPT = "struct mmq_args { const char * x; int64_t ncols; int64_t ncols_opt; };"


def test_a_field_added_to_a_struct_that_the_patch_initialises() -> None:
    (found,) = drifted(
        {"ggml/src/ggml-cuda/mmq.cuh": ARGS},
        {"ggml/src/ggml-cuda/mmq.cuh": ARGS_OPT},
        "const mmq_args args = {src0_d, ne01};",
        "ggml/src/ggml-cuda/mmq.cu",
    )
    assert (found.declaration, found.kind, found.path) == ("mmq_args", "struct", "ggml/src/ggml-cuda/mmq.cuh")
    assert (found.why, found.used) == ("field ncols_opt added", ("mmq_args",))
    assert "+    int64_t ncols_opt;" in text_diff(found.before, found.after).split("\n")
    assert json.loads(json.dumps(found.to_json()))["why"] == "field ncols_opt added"


@pytest.mark.parametrize(
    ("before", "after", "code", "why"),
    [
        ("int f(int a);", "int f(int a, float s = 1);", "x = f(3);", "parameter s added"),
        ("int f(int a = 1);", "int f(int a = 2);", "x = f();", "default of parameter a is now `2`, was `1`"),
        ("int f(int a);", "int f(long a);", "p.callback = f;", "parameter a is now `long a`, was `int a`"),
        ("const int N = 1;", "const int N = 2;", "f(a * N); if (x > N) { }", None),
        ("enum e { A, B };", "enum e { B, A };", "f(a * B, c > B);", "enumerator B is now 0, was 1"),
        ("struct o { struct s { int a; }; };", "struct o { struct s { long a; }; };", "s x;", None),
        ("int f(int a);", "int f(long a);", "run(&f);", "parameter a is now `long a`, was `int a`"),
        ("struct s { int go(int a); };", "struct s { int go(); };", "p->go(3);", "parameter a removed"),
        ("struct s { s(int a); };", "struct s { s(int a, int b); };", "s(3);", "parameter b added"),
        ("namespace n { int f(); }", "namespace n { long f(); }", "n::f();", None),
        ("enum e { A, B, C };", "enum e { A, X, B, C };", "if (k == C) {}", "enumerator C is now 3, was 2"),
        ("enum { A, B };", "enum { X, A, B };", "x = B;", "enumerator B is now 2, was 1"),
        ("enum class e { A, B };", "enum class e { B, A };", "x = e::B;", "enumerator B is now 0, was 1"),
        ("enum e { A, B };", "enum f { C };", "x = B;", "removed"),
        ("#define N 1\n", "#define N 2\n", "int a[N];", "value is now `#define N 2`, was `#define N 1`"),
        ("#define N 1\n", "#ifdef X\n#define N 1\n#endif\n", "#if N\n", None),
        ("struct s { int a = 1; };", "struct s { int a = 2; };", "s x;", "default of field a is now `2`, was `1`"),
        ("struct s { int a; int b; };", "struct s { long a; int b; };", "s * p; p->a = 1;", None),
        ("struct s { int a; };", "", "s * p = q;", "removed"),
        ("using t = int;", "using t = long;", "t x = 1;", None),
        ("const int N = 1;", "const int N = 2;", "x = N;", None),
        ("struct s { static const int N = 1; };", "struct s { static const int N = 2; };", "x = s::N;", None),
        ("struct s { void reset(int a); };", "struct s { void reset(); };", "void f(s * p) { p->reset(1); }", None),
    ],
)
def test_a_change_of_what_the_patch_uses(before: str, after: str, code: str, why: str | None) -> None:
    (found,) = drifted(before, after, code)
    assert why in (None, found.why)


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ("struct s { int a; };", "struct s { int a; /* b */ };", "s x;"),
        ("struct s { int a; };", "struct s { int a; int b; };", "t x;"),
        ("struct s { int n; };", "struct s { long n; };", "int n = 3; n++;"),
        ("struct s { int n; };", "struct s { long n; };", "other.n = 3;"),
        ("struct s { int a; int b; };", "struct s { int a; long b; };", "s * p; p->a = 1;"),
        ("struct s { int a; };", "struct s { int a; int b; };", "void f(const s & x, s * y);"),
        ("struct s { int a; };", "struct s { int a; int b; };", '// s x;\nlog("s x");'),
        ("struct s { int a; };", "struct s { int a; int b; };", "struct s { int a; int c; };"),
        ("int f(int a);", "int f(long a);", "auto f = [&](int a) { return a; }; f(3);"),
        ("int f(int a);", "int f(long a);", "x.f(3); std::f(3);"),
        ("int f(int a);", "int f(long a);", "int f = 3;"),
        ("struct o { struct token { int a; }; };", "struct o { struct token { long a; }; };", "x = token + 1;"),
        ("struct o { using token = int; };", "struct o { using token = long; };", "x = token + 1;"),
        ("struct s { int init(int a); };", "struct s { int init(); };", "x.init(3);"),
        ("struct s { int size(int a); };", "struct s { int size(); };", "v.size();"),
        ("struct s { int go(int a); };", "struct s { int go(); };", "int go = 3;"),
        ("enum e { A, B };", "enum e { A, B, C };", "x = B;"),
        ("enum e { A, B };", "enum e { A, X, B };", "x = A;"),
        ("enum class e { A, B };", "enum class e { B, A };", "x = B;"),
        ("#define N 1\n", "#define N 2\n", "#define N 3\nint a[N];"),
        ("const int n = 1;", "const int n = 2;", "int n = 3; x = n;"),
        ("const int n = 1;", "const int n = 2;", "x = p->n;"),
        ("struct s { static const int n = 1; };", "struct s { static const int n = 2; };", "x = n;"),
    ],
)
def test_other_changes_are_no_drift(before: str, after: str, code: str) -> None:
    assert drifted(before, after, code) == ()


def test_a_source_file_is_seen_by_itself_alone() -> None:
    before, after = {"a.cpp": "static int f(int a) {}"}, {"a.cpp": "static int f(long a) {}"}
    assert drifted(before, after, "f(3);", "b.cpp") == ()
    assert len(drifted(before, after, "f(3);", "a.cpp")) == 1


def test_a_backends_header_is_its_own() -> None:
    before, after = {"ggml/src/ggml-sycl/c.hpp": "int f(int a);"}, {"ggml/src/ggml-sycl/c.hpp": "int f(long a);"}
    assert drifted(before, after, "f(3);", "ggml/src/ggml-cuda/f.cu") == ()
    assert len(drifted(before, after, "f(3);", "ggml/src/ggml-sycl/f.cpp")) == 1


def test_a_macro_moved_to_another_header_is_drift() -> None:
    (found,) = drifted({"a.h": "#define FAST 1\n"}, {"b.h": "#define FAST 1\n"}, "#ifdef FAST\n#endif")
    assert (found.path, found.old_path, found.why) == ("b.h", "a.h", "moved from a.h to b.h")


def test_prototype_and_definition_are_one_drift() -> None:
    before = {"f.h": "GGML_API int f(int a);", "f.cpp": "int f(int a) { return a; }"}
    after = {"f.h": "GGML_API int f(long a);", "f.cpp": "int f(long a) { return a; }"}
    (found,) = drifted(before, after, "f(3);", "f.cpp")
    assert (found.path, found.before, found.after) == ("f.h", "int f(int a)", "int f(long a)")


def test_only_the_enumerators_that_are_used_are_told() -> None:
    (found,) = drifted("enum e { A, B, C };", "enum e { X, A, B, C };", "x = A + C;")
    assert found.why == "enumerator A is now 1, was 0; enumerator C is now 3, was 2"
    assert found.used == ("A", "C")


def test_drifts_come_in_one_order() -> None:
    before, after = "struct s { int a; };\nint f();\n#define M 1\n", "struct s { long a; };\nlong f();\n#define M 2\n"
    assert [one.kind.value for one in drifted(before, after, "s x; f(); M;")] == ["function", "macro", "struct"]


def test_the_helper_makes_patches() -> None:
    assert patch_adding("x").id == "one"
