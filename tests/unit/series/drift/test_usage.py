"""How the names on a patch's added lines stand there."""

import pytest

from ci.series.drift.usage import identifiers, uses_of
from tests.helpers.declaring import patch_adding, used


def test_names_fields_and_calls_are_told_apart() -> None:
    use = used("x = p->len + q.n + go(LIMIT, s.get(1), vec<int>(2), &cb);")
    assert use.names >= {"x", "p", "q", "go", "LIMIT", "s", "vec", "cb"}
    assert use.fields == {"len", "n", "get"}
    assert use.called == {"go", "vec", "cb"}
    assert use.called_fields == {"get"}


def test_a_name_behind_a_scope_stands_with_it() -> None:
    use = used("auto k = kind::first; std::max(a, b);")
    assert {("kind", "first"), ("std", "max")} <= use.qualified
    assert not {"first", "max"} & use.names


@pytest.mark.parametrize(
    "code",
    [
        "args a = {1};",
        "const args a{1};",
        "struct args a;",
        "return args{1};",
        "f(args(1));",
        "args f();",
        "std::vector<args> v;",
        "std::map<int, args> v;",
        "std::array<args, 3> v;",
        "n = sizeof(args);",
        "n = sizeof(struct args);",
        "go((args){1});",
        "go((struct args){1});",
        "args const a;",
        "n::args a;",
    ],
)
def test_a_type_is_held(code: str) -> None:
    assert "args" in used(code).by_value


@pytest.mark.parametrize(
    "code",
    [
        "const args & a = b;",
        "struct args * a;",
        "args const * a;",
        "static_cast<args *>(e);",
        "struct args;",
        "args::go();",
        "struct args { };",
        "n = args;",
        "n = args + 1;",
        "f(args, 2);",
        "a < args && b > c;",
        "x.args a;",
    ],
)
def test_a_type_is_only_pointed_to_or_it_is_none(code: str) -> None:
    assert "args" not in used(code).by_value


def test_what_the_patch_declares_is_its_own() -> None:
    use = used(
        "int n = 3; const auto & m : list; float f(int p, char * q) { } std::vector<int> v; "
        "struct mine { }; return other(x); a = b * c;\n#define FLAG 1"
    )
    assert {"n", "m", "f", "p", "q", "v", "mine"} <= use.own
    assert not {"other", "c", "x", "a"} & use.own
    assert use.defined == {"mine", "FLAG"}


def test_operands_are_not_declared() -> None:
    assert not used("f(a * N, b & M, c > L); if (x > K) { } y = p < q && r > J;").own & set("NMLKJ")


def test_a_macro_of_the_patch_is_its_own() -> None:
    assert used("#define FLAG 1\nint a = FLAG;").own >= {"FLAG", "a"}


def test_a_local_variable_on_a_context_line_is_no_use_of_another_name() -> None:
    assert "n" in used("x = n;", context="int n = 3;").own


def test_a_function_on_a_context_line_stays_upstreams() -> None:
    use = used("x = f(3);", context="static int f(int a) {")
    assert "f" in use.called
    assert "f" not in use.own


def test_comments_strings_and_keywords_name_nothing() -> None:
    assert used("// gone\nfoo(\"bar %d\", 'c'); /* baz */ return;").names == {"foo"}


def test_only_files_with_code_count() -> None:
    assert uses_of(patch_adding("word", "README.md")) == ()


def test_every_name_is_an_identifier() -> None:
    assert identifiers([used("a::b(c.d);")]) == {"a", "b", "c", "d"}


@pytest.mark.parametrize("piece", ["x < ", "a > b, ", "a<", "f(", "/* ", '"a '])
def test_long_lines_take_no_longer_than_their_length(piece: str) -> None:
    assert len(used(piece * 20_000).names) <= 3
