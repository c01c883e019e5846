"""What C, C++ and CUDA files declare."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.series.drift.declarations import read_declarations
from ci.series.drift.declared import LANGUAGES, Kind
from tests.helpers.declaring import declared


def shown(text: str, path: str = "f.h") -> list[tuple[str, str]]:
    """Name and text on one line."""
    return [(one.name, " ".join(one.text.split())) for one in declared(text, path)]


@pytest.mark.parametrize(
    ("source", "name", "text"),
    [
        ("struct s { int a ; char*b ; };", "s", "struct s { int a; char * b; }"),
        ("struct s { int64_t a, *b[3] = {0}; };", "s", "struct s { int64_t a; int64_t * b[3] = { 0 }; }"),
        ("struct s { int m : 3; bool on{true}; };", "s", "struct s { int m : 3; bool on = { true }; }"),
        ("struct s { void (*cb)(int a); };", "s", "struct s { void(* cb)(int a); }"),
        ("struct s { union { int a; float b; }; int c; };", "s", "struct s { int a; float b; int c; }"),
        ("struct s {\n#ifdef X\nint a;\n#endif\nint b; };", "s", "struct s { int a; int b; }"),
        ("struct s : base { static int n; int a; };", "s", "struct s : base { int a; }"),
        ("typedef struct { int a; } s;", "s", "struct { int a; }"),
        ("union u { int a; float b; };", "u", "union u { int a; float b; }"),
        ("enum e { A, B = 5, C };", "e", "enum e { A = 0, B = 5, C = 6, }"),
        ("typedef enum { A, B } e;", "e", "enum { A = 0, B = 1, }"),
        ("enum class e : int { A };", "e", "enum class e : int { A = 0, }"),
        ("enum { A, };", "A", "enum { A = 0 }"),
        ("typedef int (*fn)(int);", "fn", "typedef int(* fn)(int)"),
        ("typedef unsigned id;", "id", "typedef unsigned id"),
        ("using id=int;", "id", "using id = int"),
        ("template<class T> using v = std::vector<T>;", "v", "template <class T> using v = std::vector<T>"),
        ("static constexpr int N=5;", "N", "static constexpr int N = 5"),
        ("int f(int a=3);", "f", "int f(int a = 3)"),
        ("static inline int f(int a) { return a; }", "f", "int f(int a)"),
        ("GGML_API int f(void);", "f", "int f(void)"),
        ("struct t * f(struct c * c);", "f", "struct t * f(struct c * c)"),
        ("auto f(int a) -> float;", "f", "auto f(int a)->float"),
        (
            "bool w::operator==(const w & o) const { return 1; }",
            "w::operator ==",
            "bool w::operator == (const w & o) const",
        ),
        ("namespace n { inline namespace m { int f(); } }", "n::m::f", "int f()"),
        ('extern "C" { int f(int); }', "f", "int f(int)"),
        ("#define A 3", "A", "#define A 3"),
    ],
)
def test_a_declaration_has_a_name_and_one_text(source: str, name: str, text: str) -> None:
    assert shown(source) == [(name, text)]


def test_a_class_declares_its_methods_and_inner_types_under_its_name() -> None:
    source = (
        "class c { public: c(int a = 1); ~c(); struct in { int x; } y; static const int N = 2; void go() const; };"
    )
    names = {one.name: one.kind for one in declared(source)}
    assert names == {
        "c": Kind.STRUCT,
        "c::c": Kind.FUNCTION,
        "c::~c": Kind.FUNCTION,
        "c::in": Kind.STRUCT,
        "c::N": Kind.CONSTANT,
        "c::go": Kind.FUNCTION,
    }


def test_a_type_is_declared_under_each_of_its_names() -> None:
    text = "struct one { int a; }"
    assert shown("typedef struct one { int a; } two, *ptr;") == [("one", text), ("two", text)]
    assert shown("typedef struct one { int a; } one;") == [("one", text)]


def test_cuda_is_understood() -> None:
    head = "template <typename T, int n> static __global__ void k(const T * __restrict__ x, int m = n)"
    assert shown(f"{head} {{ k<<<1, 2>>>(x); }}", "k.cu") == [("k", head.replace("static ", ""))]


def test_parameters_are_told_apart() -> None:
    (function,) = declared("void f(const T & a, int (*cb)(int), float = 2.f, ...);")
    assert [(p.name, p.text, p.default) for p in function.members] == [
        ("a", "const T & a", ""),
        ("cb", "int(* cb)(int)", ""),
        ("#3", "float", "2.f"),
    ]


def test_function_bodies_are_not_looked_into() -> None:
    assert [one.name for one in declared("void f() { const int n = 3; struct s { int a; }; }")] == ["f"]


def test_comments_and_white_space_make_no_difference() -> None:
    plain = "struct s { int a; };\nint f(int a, int b = 2);\nenum e { A };\n#define M(x) x + 1\n"
    airy = "struct s // s\n{\n  /* a */ int\ta ;\n};\nint f(int a,\n      int b/**/=2);\nenum e {\n A, };\n"
    airy += "#define  M(x)  x \\\n + 1 // m\n"
    assert shown(plain) == shown(airy)


@pytest.mark.parametrize("path", ["a.py", "README", "a.md", "a.metal"])
def test_other_languages_declare_nothing(path: str) -> None:
    assert declared("int f();", path) == ()


def test_broken_code_costs_only_itself() -> None:
    broken = "struct s { int a; };\nint ((( {{ ;;\n}}}\nstruct t { int b; };\n#if\n#define M 1\n"
    assert {"s", "M"} <= {one.name for one in declared(broken)}


FRAGMENTS = (
    *(
        "struct ",
        "s ",
        "{ ",
        "} ",
        "int ",
        "a",
        "( ",
        ") ",
        "; ",
        "enum class ",
        "= ",
        ", ",
        "template < ",
        "> ",
        "::",
    ),
    *(
        "namespace ",
        "#if X\n",
        "#endif\n",
        "#define A \\\n",
        "/*",
        "*/",
        '"',
        "'",
        "typedef ",
        "const ",
        "operator",
        "~",
    ),
    *("[", "* ", "& ", "using ", "...", "extern ", "\0", "\n", "é"),
)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join), st.sampled_from(sorted(LANGUAGES)))
def test_no_text_is_too_broken(text: str, ending: str) -> None:
    declared(text, f"f.{ending}")


@given(st.binary(), st.sampled_from(sorted(LANGUAGES)))
def test_any_bytes_are_read(data: bytes, ending: str) -> None:
    read_declarations(f"f.{ending}", data)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join), st.sampled_from(sorted(LANGUAGES)))
def test_what_two_versions_share_is_left_out(text: str, ending: str) -> None:
    assert read_declarations(f"f.{ending}", text.encode(), text.encode()) == ((), ())


def test_only_what_differs_is_read() -> None:
    before = b"namespace n { int f(); int g(); }\n#define A 1\n#define B 1\ntypedef struct { int a; } s;\n"
    after = before.replace(b"g()", b"g(int a)").replace(b"B 1", b"B 2").replace(b"} s;", b"} t;")
    old, new = read_declarations("f.h", before, after)
    assert [one.name for one in old] == ["B", "n::g", "s"]
    assert [one.name for one in new] == ["B", "n::g", "t"]


@pytest.mark.parametrize("piece", ["namespace a {", "struct s {", "(", "#if X\n", "int f(", "template <", "typedef "])
def test_nesting_has_no_limit(piece: str) -> None:
    declared(piece * 20_000)
