"""Causes of failed builds, told from recorded words of the real tools."""

import pytest

from ci.builds.causes import QUOTED_LINES, Cause, cause_of, quotes_of

UNSUPPORTED = (
    "/opt/cuda/bin/../include/crt/host_config.h:137:2: error: #error -- unsupported GNU version! gcc versions later "
    "than 16 are not supported! The nvcc flag '-allow-unsupported-compiler' can be used to override this version"
)
UNSUPPORTED_CLANG = (
    "#error -- unsupported clang version! clang version must be less than 23 and greater than 3.2 . "
    "The nvcc flag '-allow-unsupported-compiler' can be used to override this version check"
)
FOREIGN_HEADERS = (
    "/usr/include/x86_64-linux-gnu/bits/mathcalls.h(54): error: exception specification is incompatible with that of "
    'previous function "cospi" (declared at line 2753 of /opt/cuda/bin/../include/crt/math_functions.h)'
)
FULL_DISK = "<built-in>: fatal error: when writing output to /var/tmp/ok.cpp4.ii: No space left on device"
PTXAS = [
    "ptxas /var/tmp/tmpxft_00000021_00000000-6_fp4.ptx, line 43; error   : Feature '.kind::mxf4' not supported",
    "ptxas fatal   : Ptx assembly aborted due to errors",
]


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (137, "Killed"),  # cicc, ptxas, cudafe++ or fatbinary: nvcc says nothing of its own
        (1, "g++-10: fatal error: Killed signal terminated program cc1plus"),
        (1, "collect2: fatal error: ld terminated with signal 9 [Killed]"),
        (1, "clang: error: unable to execute command: Killed"),
        (134, "LLVM ERROR: out of memory"),
        (1, "/usr/include/ctype.h(48): catastrophic error: out of memory"),
        (255, "ptxas fatal   : Memory allocation failure"),
        (9, "nvcc error   : 'cicc' died due to signal 9 (Kill signal)"),
    ],
)
def test_whichever_part_of_nvcc_lacks_memory_it_is_memory(code: int, line: str) -> None:
    assert cause_of([line], {code}) is Cause.MEMORY
    assert quotes_of([line, "compilation terminated."], Cause.MEMORY) == (line,)


@pytest.mark.parametrize("line", [FULL_DISK, "ok.s: Fatal error: can't close x.o: No space left on device"])
def test_a_full_disk_is_a_full_disk(line: str) -> None:
    assert cause_of([line], {1}) is Cause.DISK


@pytest.mark.parametrize("line", [UNSUPPORTED, UNSUPPORTED_CLANG, FOREIGN_HEADERS])
def test_what_nvcc_cannot_work_with_is_the_compilers_fault(line: str) -> None:
    assert cause_of([line], {1}) is Cause.COMPILER
    assert quotes_of([line], Cause.COMPILER)


@pytest.mark.parametrize(
    ("said", "quotes"),
    [
        ([UNSUPPORTED], ["unsupported GNU version! gcc versions later than 16 are not supported!"]),
        (
            [
                "  #error --",
                "  unsupported clang version! clang version must be less than",
                "  23 and greater than 3.2 .",
            ],
            ["unsupported clang version! clang version must be less than 23 and greater than 3.2 ."],
        ),
        (
            [
                "Id flags: -ccbin=/usr/bin/g++-17 -v",
                "-D__CUDACC_VER_MAJOR__=12",
                "-D__CUDACC_VER_MINOR__=9",
                UNSUPPORTED,
            ],
            [
                "unsupported GNU version! gcc versions later than 16 are not supported!",
                "nvcc 12.9, its host compiler /usr/bin/g++-17",
            ],
        ),
    ],
)
def test_the_refusal_is_quoted_in_one_piece_without_the_way_to_silence_it(said: list[str], quotes: list[str]) -> None:
    assert list(quotes_of(said, Cause.COMPILER)) == quotes


@pytest.mark.parametrize(
    "line",
    [
        "nvcc fatal   : Unsupported gpu architecture 'compute_130'",
        "nvcc fatal   : Value 'sm_130' is not defined for option 'gpu-code'",
    ],
)
def test_an_architecture_that_the_toolkit_lacks(line: str) -> None:
    assert cause_of([line], {1}) is Cause.ARCH
    assert quotes_of(["some words", line], Cause.ARCH) == (line,)


NEEDED = "/usr/bin/ld: warning: libcuda.so.1, needed by ./liby.so, not found (try using -rpath or -rpath-link)"
DRIVER = "/usr/bin/ld: ./liby.so: undefined reference to `cuMemAddressReserve'"
OWN = "/usr/bin/ld: a.o: undefined reference to `ggml_fast_path'"
RUNTIME = "/usr/bin/ld: a.o: undefined reference to `cudaMallocAsync@libcudart.so.13'"
COLLECT = "collect2: error: ld returned 1 exit status"


@pytest.mark.parametrize(
    "said",
    [
        [NEEDED, DRIVER, COLLECT],
        [DRIVER, COLLECT],
        [NEEDED, COLLECT],
        [OWN, DRIVER, COLLECT],
        ["/usr/bin/ld: cannot find -lcuda", COLLECT],
        ["ld.lld: error: undefined symbol: cuMemCreate"],
        ["    CUDA::cuda_driver"],
    ],
)
def test_what_the_stub_lacks_is_not_the_sources_fault(said: list[str]) -> None:
    assert cause_of(said, {1}) is Cause.STUB
    assert set(quotes_of(said, Cause.STUB)) == set(said)


@pytest.mark.parametrize(
    "said",
    [
        [NEEDED, OWN, COLLECT],
        [OWN, COLLECT],
        [RUNTIME, COLLECT],
        ["/usr/bin/ld: cannot find -lcudart", COLLECT],
        ["a.o: undefined reference to `cublasCreate_v2'", COLLECT],
        PTXAS,
        ["ptxas error   : Entry function '_Z1kPf' uses too much shared data (0x27100 bytes, 0xc000 max)"],
        ['bad.cu(1): error: identifier "missing" is undefined'],
        ["a.cu(7): error: unsupported operation on version 3"],
    ],
)
def test_everything_else_is_the_sources_fault_and_quoted(said: list[str]) -> None:
    assert cause_of(said, {1, 255}) is Cause.SOURCE
    assert list(quotes_of([*said, "and so on"], Cause.SOURCE)) == said


def test_the_kernels_word_outweighs_what_was_printed() -> None:
    assert cause_of([UNSUPPORTED], {1}, killed_for_memory=True) is Cause.MEMORY
    assert cause_of([], {0}, killed_for_memory=True) is Cause.MEMORY


def test_the_words_of_a_crash_are_shown() -> None:
    assert quotes_of(["words", "Segmentation fault", "more"], Cause.SOURCE) == ("Segmentation fault",)


def test_quotes_are_bounded() -> None:
    assert len(quotes_of([f"a.cu({n}): error: no" for n in range(90)], Cause.SOURCE)) == QUOTED_LINES
    assert len(quotes_of([f"line {n}" for n in range(90)], Cause.SOURCE)) == QUOTED_LINES
    assert quotes_of([], Cause.MEMORY) == ()
