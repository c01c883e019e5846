"""Drift found in real histories, acknowledged, and carried over a rebase of the queue."""

from dataclasses import replace
from pathlib import Path

import pytest

from ci.series.drift.drifting import PatchDrift, describe, find_drift
from ci.series.drift.pending import load_pending, merge_pending, pending_toml
from ci.series.order import Series, load_series
from ci.upstream.tags import BuildTag
from tests.helpers.histories import Entry, Past

HEADER = "ggml/src/ggml-cuda/mmq.cuh"
SOURCE = "ggml/src/ggml-cuda/mmq.cu"
ARGS = b"struct mmq_args {\n    const char * x;\n    int64_t ncols;\n};\n"
WIDER = ARGS.replace(b"int64_t ncols;\n", b"int64_t ncols;\n    int64_t ncols_opt;\n")
WIDEST = WIDER.replace(b"ncols_opt;\n", b"ncols_opt;\n    bool fast;\n")
CODE = b"".join(b"void f%d();\n" % n for n in range(20))
USE = CODE.replace(b"void f9();\n", b"void f9();\nvoid fast() { const mmq_args args = {x, n}; go(args); }\n")
B101, B102, B103 = (BuildTag(number) for number in (101, 102, 103))


@pytest.fixture
def past(tmp_path: Path) -> Past:
    """A patch that builds `mmq_args` by hand; upstream adds a field in b101, and another in b103."""
    past = Past(tmp_path)
    past.build("b100", {HEADER: ARGS, SOURCE: CODE})
    past.patch("fast-mmq", {SOURCE: USE})
    past.build("b101", {HEADER: WIDER, SOURCE: CODE})
    past.build("b102", {HEADER: b"// tidied\n" + WIDER.replace(b"    ", b"  "), SOURCE: CODE + b"void more();\n"})
    past.build("b103", {HEADER: WIDEST, SOURCE: CODE})
    return past


def series_of(past: Past, *acks: str) -> Series:
    """The queue, its patch with these acknowledgements."""
    trailers = "".join(f"Drift-Ack: {ack}\n" for ack in acks).encode()
    raw = past.patches["fast-mmq"]
    saved = {"fast-mmq": raw.replace(b"Retire-When:", trailers + b"Retire-When:", 1)}
    return load_series(replace(past, patches=saved).save(past.root / "patches"))


def found(past: Past, onto: BuildTag, *acks: str) -> PatchDrift:
    (patch,) = find_drift(past.git, series_of(past, *acks), onto)
    return patch


def test_a_field_added_without_a_conflict_is_found(past: Past) -> None:
    patch = found(past, B101)
    (drift,) = patch.drifts
    assert (patch.patch_id, drift.declaration, drift.why) == ("fast-mmq", "mmq_args", "field ncols_opt added")
    assert patch.acknowledged == ()
    said = describe([patch]).split("\n")
    assert said[0] == f"drift under fast-mmq: struct mmq_args ({HEADER}): field ncols_opt added"
    assert "    +    int64_t ncols_opt;" in said


def test_without_a_change_there_is_no_drift(past: Past) -> None:
    base = BuildTag(100)
    assert find_drift(past.git, series_of(past), base) == ()


@pytest.mark.parametrize("build", ["b101", "b102"])
def test_an_acknowledgement_covers_the_change_that_was_looked_at(past: Past, build: str) -> None:
    patch = found(past, B102, f"mmq_args {build}")
    assert patch.drifts == ()
    assert [drift.declaration for drift in patch.acknowledged] == ["mmq_args"]
    assert "acknowledged" in describe([patch])


@pytest.mark.parametrize("ack", ["mmq_args b100", "mmq_args b102", "other b103", "mmq_args b99"])
def test_an_acknowledgement_covers_nothing_else(past: Past, ack: str) -> None:
    assert [drift.declaration for drift in found(past, B103, ack).drifts] == ["mmq_args"]


def test_a_build_that_the_history_lacks_is_taken_by_its_number(past: Past) -> None:
    assert found(past, B103, "mmq_args b200").drifts == ()


def test_links_and_other_languages_are_passed_over(past: Past) -> None:
    past.build("b104", {HEADER: Entry(b"../mmq_args", "120000"), SOURCE: CODE, "a.py": b"mmq_args = 1\n"})
    (drift,) = found(past, BuildTag(104)).drifts
    assert (drift.why, drift.after) == ("removed", "")


def test_a_renamed_file_is_followed(tmp_path: Path) -> None:
    past = Past(tmp_path)
    code = b"#define N 1\nstatic int f(int a) { return a; }\nstatic int g(int a) { return a; }\n" + CODE
    past.build("b100", {"old.c": code})
    past.patch("one", {"old.c": code + b"int x() { return f(N) + g(N); }\n"})
    past.build("b101", {"new.c": code.replace(b"g(int a)", b"g(long a)")})
    (patch,) = find_drift(past.git, load_series(past.save(tmp_path / "patches")), B101)
    assert [(drift.declaration, drift.path, drift.old_path) for drift in patch.drifts] == [("g", "new.c", "old.c")]


@pytest.mark.parametrize(
    ("path", "before", "after", "line", "why"),
    [
        ("a.h", "int go(int a);\n", "int go(int a, bool b = 0);\n", "go(3);", "parameter b added"),
        ("a.h", "enum e { A, B };\n", "enum e { A, NEW, B };\n", "int x = B;", "enumerator B is now 2, was 1"),
        (
            "a.h",
            "int go(int a = 1);\n",
            "int go(int a = 2);\n",
            "go();",
            "default of parameter a is now `2`, was `1`",
        ),
        ("a.c", "#define N 1\n", "#define N 2\n", "int x = N;", "value is now `#define N 2`, was `#define N 1`"),
        (
            "a.cuh",
            "struct s { int a = 1; };\n",
            "struct s { int a; };\n",
            "s x;",
            "default of field a is now `none`, was `1`",
        ),
    ],
)
def test_each_kind_of_change_is_found(
    tmp_path: Path, path: str, before: str, after: str, line: str, why: str
) -> None:
    past = Past(tmp_path)
    user = path if path == "a.c" else "use.cu"
    tail = b"// a\n// b\n// c\n// d\n"
    past.build("b100", {"use.cu": tail, path: before.encode() + tail})
    past.patch("one", {user: (before.encode() if user == path else b"") + tail + line.encode() + b"\n"})
    past.build("b101", {"use.cu": tail, path: after.encode() + tail})
    (patch,) = find_drift(past.git, load_series(past.save(tmp_path / "patches")), B101)
    assert [drift.why for drift in patch.drifts] == [why]


def test_a_long_diff_is_cut_visibly(tmp_path: Path) -> None:
    past = Past(tmp_path)
    names = [f"E{n}" for n in range(100)]
    past.build("b100", {"a.h": f"enum e {{ {', '.join(names)} }};\n".encode(), "use.c": b"int x;\n"})
    past.patch("one", {"use.c": b"int x = E99;\n"})
    past.build("b101", {"a.h": f"enum e {{ NEW, {', '.join(names)} }};\n".encode(), "use.c": b"int x;\n"})
    found = find_drift(past.git, load_series(past.save(tmp_path / "patches")), B101)
    lines = describe(found).split("\n")
    assert lines[0] == "drift under one: enum e (a.h): enumerator E99 is now 100, was 99"
    assert lines[-1].endswith("lines more")
    assert len(lines) < 40


def test_a_macro_moves_to_another_header(tmp_path: Path) -> None:
    past = Past(tmp_path)
    past.build("b100", {"a.h": b"#define FAST 1\n", "use.c": b"int x;\n"})
    past.patch("one", {"use.c": b"int x;\n#if FAST\n#endif\n"})
    past.build("b101", {"b.h": b"#define FAST 1\n", "use.c": b"int x;\n"})
    (patch,) = find_drift(past.git, load_series(past.save(tmp_path / "patches")), B101)
    assert [drift.why for drift in patch.drifts] == ["moved from a.h to b.h"]


def test_drift_outlives_the_move_of_the_queue(past: Past) -> None:
    series = series_of(past)
    patches = past.root / "patches"
    pending = merge_pending(load_pending(patches), find_drift(past.git, series, B102), series, B102)
    (patches / "drift.toml").write_bytes(pending_toml(pending))
    moved = replace(series, base=replace(series.base, tag=B102, tree=past.git.tree_of("b102") or ""))
    again = merge_pending(load_pending(patches), find_drift(past.git, moved, B103), moved, B103)
    (entry,) = again
    assert (str(entry.since), str(entry.until)) == ("b100", "b103")
    assert (entry.drift.before, entry.drift.why) == (
        "struct mmq_args {\n    const char * x;\n    int64_t ncols;\n}",
        "field ncols_opt added; field fast added",
    )
    acknowledged = series_of(past, "mmq_args b103")
    assert merge_pending(again, find_drift(past.git, acknowledged, B103), acknowledged, B103) == ()


def test_what_comes_back_is_pending_no_more(past: Past) -> None:
    past.build("b104", {HEADER: ARGS, SOURCE: CODE})
    series = series_of(past)
    pending = merge_pending((), find_drift(past.git, series, B101), series, B101)
    moved = replace(series, base=replace(series.base, tag=B101, tree=past.git.tree_of("b101") or ""))
    back = find_drift(past.git, moved, BuildTag(104))
    assert back[0].drifts[0].why == "field ncols_opt removed"
    assert merge_pending(pending, back, moved, BuildTag(104)) == ()
