"""Ninja's lines: progress parsed, failures explained."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.builds.causes import QUOTED_LINES, Cause
from ci.builds.ninja import CONFIGURE, Progress, explain, explain_configure, parse_progress

LOGS = Path(__file__).parents[2] / "helpers" / "logs"
COMPILE = "/usr/bin/ccache /usr/bin/c++ -O3 -Werror=format -c a.cpp"


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.text(st.characters(exclude_categories=["Cc", "Zl", "Zp"])))
def test_every_progress_line_is_read_back(done: int, more: int, what: str) -> None:
    assert parse_progress(f"[{done}/{done + more}] {what}") == Progress(done=done, total=done + more, what=what)


@given(st.text())
def test_any_other_line_is_no_progress_and_no_error(line: str) -> None:
    progress = parse_progress(line)
    assert progress is None or line == f"[{progress.done}/{progress.total}] {progress.what}" or line.startswith("[0")


@pytest.mark.parametrize(
    "line", ["", "[1/2]", "[1/2]x", "1/2 x", "[a/2] x", "[-1/2] x", "[3/2] x", " [1/2] x", "[1/9999999999] x"]
)
def test_near_misses_are_no_progress(line: str) -> None:
    assert parse_progress(line) is None


def test_only_the_error_lines_of_the_failed_step_are_quoted() -> None:
    lines = [
        "[1/9] Building CXX object x.o",
        "x.cpp:1:1: warning: error: in a warning of another step",
        "[2/9] Building CXX object a.cpp.o",
        "FAILED: [code=1] a.cpp.o ",
        COMPILE,
        "In file included from b.h:3,",
        "a.cpp:7:3: error: 'x' was not declared in this scope",
        "    7 |   x = 1;",
        "a.cpp:9:3: fatal error: no.h: No such file or directory",
        "[3/9] Building CXX object late.o",
        "late.cpp: error: not part of it",
        "ninja: build stopped: subcommand failed.",
    ]
    failure = explain(lines, code=1)
    assert failure.cause is Cause.SOURCE
    assert failure.step == "a.cpp.o"
    assert failure.quotes == (
        "a.cpp:7:3: error: 'x' was not declared in this scope",
        "a.cpp:9:3: fatal error: no.h: No such file or directory",
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (1, "c++: fatal error: Killed signal terminated program cc1plus"),
        (254, "clang++: error: unable to execute command: Killed"),
        (1, "collect2: fatal error: ld terminated with signal 9 [Killed]"),
        (1, "cc1plus: out of memory allocating 65536 bytes after a total of 1 bytes"),
        (137, "Killed"),
        (137, "some words"),
    ],
)
def test_a_killed_compiler_is_a_matter_of_memory(code: int, said: str) -> None:
    lines = [f"FAILED: [code={code}] fattn.cu.o", COMPILE, said, "ninja: build stopped: subcommand failed."]
    failure = explain(lines, code=1)
    assert (failure.cause, failure.step, failure.quotes) == (Cause.MEMORY, "fattn.cu.o", (said,))


def test_a_compiler_that_dies_without_a_word_below_ccache_was_killed() -> None:
    silent = ["FAILED: [code=255] a.o", COMPILE, "[2/3] Building b.o"]
    assert explain(silent, code=1).cause is Cause.MEMORY
    speaking = ["FAILED: [code=255] a.o", COMPILE, "a.c:1: error: no"]
    assert explain(speaking, code=1).cause is Cause.SOURCE


def test_killed_among_parallel_failures_is_still_found() -> None:
    lines = [
        *("FAILED: [code=1] a.o", COMPILE, "a.c:1: error: interrupted"),
        *("FAILED: [code=137] b.o", COMPILE, "Killed"),
    ]
    assert explain(lines, code=1).cause is Cause.MEMORY


def test_a_word_like_killed_in_the_sources_is_a_source_error() -> None:
    lines = ["FAILED: [code=1] a.o", COMPILE, "a.cpp:1:1: error: 'Killed' was not declared", "signal 90"]
    assert explain(lines, code=1).cause is Cause.SOURCE


def test_a_full_disk_is_told_apart() -> None:
    lines = ["FAILED: [code=1] a.o", COMPILE, "fatal error: error writing to a.s: No space left on device"]
    assert explain(lines, code=1).cause is Cause.DISK


def test_without_an_error_line_the_end_is_quoted() -> None:
    lines = ["FAILED: [code=1] ui.cpp", "cmake -P ui.cmake", *(f"line {n}" for n in range(40)), ""]
    failure = explain(lines, code=1)
    assert failure.quotes == tuple(f"line {n}" for n in range(40 - QUOTED_LINES, 40))


def test_a_failure_of_ninja_itself_is_quoted() -> None:
    failure = explain(["ninja: error: unknown target 'llama-sever', did you mean 'llama-server'?"], code=1)
    assert failure.step == ""
    assert failure.quotes == ("ninja: error: unknown target 'llama-sever', did you mean 'llama-server'?",)


def test_quotes_are_bounded_and_not_repeated() -> None:
    lines = ["FAILED: [code=1] a.o", COMPILE, *(f"a.c:{n // 2}: error: no" for n in range(90))]
    quotes = explain(lines, code=1).quotes
    assert len(quotes) == len(set(quotes)) == QUOTED_LINES


def test_older_ninja_lines_without_a_code_are_understood() -> None:
    failure = explain(["FAILED: a.o", COMPILE, "a.c:1: error: no"], code=1)
    assert (failure.step, failure.quotes) == ("a.o", ("a.c:1: error: no",))


def test_the_first_cmake_error_is_quoted_with_its_sentence() -> None:
    lines = [
        "-- ok",
        "CMake Error at ggml/CMakeLists.txt:5 (message):",
        "",
        "  GGML needs x.",
        "-- Configuring incomplete",
    ]
    failure = explain_configure(lines, code=1)
    assert failure.step == "configure"
    assert failure.quotes[:2] == ("CMake Error at ggml/CMakeLists.txt:5 (message):", "  GGML needs x.")


def test_a_cmake_that_says_nothing_useful_is_quoted_from_the_end() -> None:
    assert explain_configure(["a", "", "b"], code=1).quotes == ("a", "b")


def test_the_container_alone_may_know_that_memory_ran_out() -> None:
    lines = ["[1/3] Building CUDA object fattn.cu.o", "[2/3] Building CUDA object softmax.cu.o"]
    assert explain(lines, code=1, killed_for_memory=True).cause is Cause.MEMORY
    assert explain(lines, code=1, killed_for_memory=False).cause is Cause.SOURCE
    assert (
        explain_configure(["-- Detecting CUDA compiler ABI info"], code=1, killed_for_memory=True).cause
        is Cause.MEMORY
    )


def test_the_step_that_was_killed_is_named_not_the_first_that_failed() -> None:
    lines = [
        *("FAILED: [code=1] a.o", COMPILE, "a.c:1: error: no"),
        *("FAILED: [code=137] fattn.cu.o", COMPILE, "Killed"),
        *("FAILED: [code=137] mmq.cu.o", COMPILE, "Killed"),
    ]
    failure = explain(lines, code=1)
    assert (failure.cause, failure.step) == (Cause.MEMORY, "fattn.cu.o")
    assert failure.quotes == ("a.c:1: error: no", "Killed")


@pytest.mark.parametrize(
    "quoted", ['  throw "No space left on device";', '   17 |   throw "out of memory";', "12345 | Killed"]
)
def test_words_in_a_quoted_source_line_are_not_the_compilers(quoted: str) -> None:
    lines = ["FAILED: [code=1] a.o", COMPILE, "a.cpp:17:3: error: expected ';'", quoted]
    assert explain(lines, code=1).cause is Cause.SOURCE


def log(name: str) -> list[str]:
    """A recorded output of CMake."""
    return (LOGS / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def test_a_host_compiler_that_nvcc_refuses_is_dug_out_with_both_versions() -> None:
    failure = explain_configure(log("unsupported_host_compiler"), code=1)
    assert (failure.cause, failure.step) == (Cause.COMPILER, CONFIGURE)
    assert failure.quotes == (
        "unsupported GNU version! gcc versions later than 16 are not supported!",
        "nvcc 13.5, the C++ compiler GNU 17.1.1",
    )


def test_an_architecture_that_nvcc_does_not_know_is_dug_out() -> None:
    failure = explain_configure(log("unsupported_architecture"), code=1)
    assert failure.cause is Cause.ARCH
    assert "    nvcc fatal   : Unsupported gpu architecture 'compute_130'" in failure.quotes


def test_a_toolkit_without_the_stub_is_no_fault_of_the_sources() -> None:
    failure = explain_configure(log("no_stub"), code=1)
    assert failure.cause is Cause.STUB
    assert "    CUDA::cuda_driver" in failure.quotes
