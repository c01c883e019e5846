"""Which operators a series may have changed, and what `test-backend-ops` says of them.

Its exit code 0 and its last line `OK` prove little: it says both when it knows no such operator (`0/0 tests passed`)
and when there is no such device (`Skipping`). What counts is the number of cases that ran on the device.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from ci.outcome import GateResult, Verdict

PROGRAM = "test-backend-ops"

ALWAYS = ("GET_ROWS", "SET_ROWS", "RMS_NORM", "ROPE", "ARGMAX", "SOFT_MAX", "MUL_MAT")
"""What every model here computes with: a build whose kernels are wrong is found even if no patch touched them."""

OPERATORS: dict[str, tuple[str, ...]] = {
    "add-id": ("ADD_ID",),
    "argmax": ("ARGMAX",),
    "argsort": ("ARGSORT",),
    "binbcast": ("ADD", "SUB", "MUL", "DIV", "REPEAT"),
    "clamp": ("CLAMP",),
    "concat": ("CONCAT",),
    "cpy": ("CPY", "CONT", "DUP"),
    "cpy-utils": ("CPY", "CONT", "DUP", "SET_ROWS"),
    "cumsum": ("CUMSUM",),
    "dequantize": ("GET_ROWS", "MUL_MAT"),
    "fattn": ("FLASH_ATTN_EXT",),
    "gated_delta_net": ("GATED_DELTA_NET",),
    "getrows": ("GET_ROWS",),
    "mmf": ("MUL_MAT", "MUL_MAT_ID"),
    "mmid": ("MUL_MAT_ID",),
    "mmq": ("MUL_MAT", "MUL_MAT_ID"),
    "mmvf": ("MUL_MAT", "MUL_MAT_ID"),
    "mmvq": ("MUL_MAT", "MUL_MAT_ID"),
    "norm": ("NORM", "RMS_NORM", "GROUP_NORM", "L2_NORM"),
    "quantize": ("MUL_MAT", "MUL_MAT_ID"),
    "rope": ("ROPE",),
    "scale": ("SCALE",),
    "set-rows": ("SET_ROWS",),
    "softmax": ("SOFT_MAX",),
    "ssm-conv": ("SSM_CONV",),
    "ssm-scan": ("SSM_SCAN",),
    "sum": ("SUM",),
    "sumrows": ("SUM_ROWS", "MEAN"),
    "top-k": ("TOP_K",),
    "topk-moe": ("SOFT_MAX", "ARGSORT", "TOP_K"),
    "unary": ("SILU", "GELU", "RELU", "SIGMOID", "SWIGLU", "GEGLU"),
    "vecdotq": ("MUL_MAT", "MUL_MAT_ID"),
}
"""Operators by file of ggml's CUDA backend; of a family such as `mmq-config-ampere`, by its first word."""

EVERY = tuple(sorted({op for ops in OPERATORS.values() for op in ops}))

_BACKEND = re.compile(r"^Backend \d+/\d+: (?P<name>\S+)$")
_SUMMARY = re.compile(r"^  (?P<passed>\d+)/(?P<ran>\d+) tests passed$", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def operators_of(files: Iterable[str]) -> tuple[str, ...]:
    """The operators to test for a series that touches these files of llama.cpp: those it may have changed come first.

    A file of ggml that stands in no table may have changed any of them. Files outside ggml change none.
    """
    touched = {op for file in files for op in _of_file(PurePosixPath(file))}
    return (*sorted(touched), *(op for op in ALWAYS if op not in touched))


def _of_file(file: PurePosixPath) -> tuple[str, ...]:
    if file.parts[:1] != ("ggml",):
        return ()
    if file.parent.parts[:3] == ("ggml", "src", "ggml-cuda"):
        return OPERATORS.get(file.stem) or OPERATORS.get(file.stem.partition("-")[0], EVERY)
    return EVERY


@dataclass(frozen=True, kw_only=True)
class OperatorRun:
    """What one run of the program on one operator said.

    Args:
        operator: such as `MUL_MAT`.
        code: its exit code.
        passed: cases that agree with the processor.
        ran: cases that ran on the device.
        wrong: some of the cases that do not.
    """

    operator: str
    code: int
    passed: int
    ran: int
    wrong: tuple[str, ...]


def parse_run(text: str, *, operator: str, code: int, device: str) -> OperatorRun:
    """Read what the program printed; cases count only below the heading of the device that was asked for."""
    about, inside = [], False
    for line in _COLOUR.sub("", text).splitlines():
        heading = _BACKEND.match(line)
        inside = heading["name"] == device if heading else inside
        if inside:
            about.append(line)
    summary = _SUMMARY.search("\n".join(about))
    wrong = tuple(line.strip() for line in about if line.endswith("FAIL") and not line.startswith("  Backend "))
    return OperatorRun(
        operator=operator,
        code=code,
        passed=int(summary["passed"]) if summary else 0,
        ran=int(summary["ran"]) if summary else 0,
        wrong=wrong[:5],
    )


def judge_run(run: OperatorRun) -> GateResult:
    """PASS when cases ran and all agree; no case is no proof."""
    if run.wrong or run.passed != run.ran:
        verdict, why = Verdict.FAIL, "; ".join(run.wrong)
    elif run.ran == 0 or run.code != 0:
        verdict, why = Verdict.UNPROVEN, f"exit code {run.code}"
    else:
        verdict, why = Verdict.PASS, "all agree with the processor"
    return GateResult(
        gate=gate_of(run.operator),
        verdict=verdict,
        reason=f"{run.passed} of {run.ran} cases: {why}",
        evidence={"operator": run.operator, "n_passed": run.passed, "n_ran": run.ran, "exit_code": run.code},
    )


def gate_of(operator: str) -> str:
    """Name of an operator's gate."""
    return f"operator-{operator.lower().replace('_', '-')}"
