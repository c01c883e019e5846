import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.gpu.operators import ALWAYS, EVERY, OperatorRun, judge_run, operators_of, parse_run
from ci.outcome import Verdict

GREEN, PLAIN = "\x1b[1;32mOK\x1b[0m", "\x1b[1;31mFAIL\x1b[0m"
HEAD = "Testing 2 devices\n\nBackend 1/2: CUDA0\n  Device description: NVIDIA H200\n\n"
TAIL = "Backend 2/2: CPU\n  Skipping\n2/2 backends passed\n"


def verdict(text: str, *, code: int = 0) -> tuple[Verdict, str]:
    result = judge_run(parse_run(text, operator="GET_ROWS", code=code, device="CUDA0"))
    return result.verdict, result.reason


def test_a_host_only_series_still_tests_what_models_compute_with() -> None:
    assert operators_of(["common/sampling.cpp", "src/llama-graph.cpp"]) == ALWAYS


def test_operators_of_touched_files_come_first_and_once() -> None:
    found = operators_of(["ggml/src/ggml-cuda/fattn-vec.cuh", "ggml/src/ggml-cuda/rope.cu"])
    assert found[:2] == ("FLASH_ATTN_EXT", "ROPE")
    assert len(set(found)) == len(found)
    assert set(ALWAYS) <= set(found)


@pytest.mark.parametrize(
    "file", ["ggml/src/ggml-cuda/ggml-cuda.cu", "ggml/src/ggml-cuda/new.cu", "ggml/src/ggml.c", "ggml/CMakeLists.txt"]
)
def test_a_file_in_no_table_may_have_changed_every_operator(file: str) -> None:
    assert set(operators_of([file])) == {*EVERY, *ALWAYS}


def test_a_family_of_files_goes_by_its_first_word() -> None:
    assert operators_of(["ggml/src/ggml-cuda/mmq-config-ampere.cuh"])[:2] == ("MUL_MAT", "MUL_MAT_ID")
    assert operators_of(["ggml/src/ggml-cuda/set-rows.cu"])[0] == "SET_ROWS"


def test_cases_that_all_agree_pass() -> None:
    body = f"  GET_ROWS(type=f32,n=1): {GREEN}\n  240/240 tests passed\n  Backend CUDA0: {GREEN}\n"
    assert verdict(HEAD + body + TAIL) == (Verdict.PASS, "240 of 240 cases: all agree with the processor")


def test_a_wrong_case_fails_and_is_named() -> None:
    body = f"  GET_ROWS(type=f32,n=1): {PLAIN}\n  239/240 tests passed\n\nFailing tests:\n  GET_ROWS(type=f32,n=1)\n"
    found, reason = verdict(HEAD + body + f"  Backend CUDA0: {PLAIN}\n" + TAIL, code=1)
    assert found is Verdict.FAIL
    assert "GET_ROWS(type=f32,n=1)" in reason


@pytest.mark.parametrize(
    "text",
    [
        HEAD + f"  0/0 tests passed\n  Backend CUDA0: {GREEN}\n" + TAIL,  # what it says of an unknown operator
        f"Testing 1 devices\n\nBackend 1/1: CPU\n  Skipping\n1/1 backends passed\n{GREEN}\n",  # of a missing device
        f"Testing 1 devices\n\nBackend 1/1: CPU\n  240/240 tests passed\n  Backend CPU: {GREEN}\n",  # another device
        f"Backend 1/2: CPU\n  240/240 tests passed\nBackend 2/2: CUDA0\n  Skipping\n{GREEN}\n",
        "",
        "CUDA error: no kernel image is available\n",
    ],
)
def test_no_case_on_the_card_is_no_proof_although_it_says_ok(text: str) -> None:
    assert verdict(text)[0] is Verdict.UNPROVEN


def test_cases_before_a_crash_are_no_proof() -> None:
    assert verdict(HEAD + "  240/240 tests passed\n", code=-6)[0] is Verdict.UNPROVEN


@given(st.text(), st.integers(-64, 255))
def test_a_pass_needs_cases_whatever_is_printed(text: str, code: int) -> None:
    run = parse_run(text, operator="ROPE", code=code, device="CUDA0")
    assert (judge_run(run).verdict is Verdict.PASS) == (
        run.ran > 0 and run.passed >= run.ran and not (code or run.wrong)
    )


def test_counts_are_evidence() -> None:
    run = OperatorRun(operator="SET_ROWS", code=0, passed=3, ran=3, wrong=())
    result = judge_run(run)
    assert result.gate == "operator-set-rows"
    assert result.evidence == {"operator": "SET_ROWS", "n_passed": 3, "n_ran": 3, "exit_code": 0}
