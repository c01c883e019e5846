"""What every reader must be told beside the figures: said once here, shown by the notes and by the report."""

from collections.abc import Mapping

from ci.release.manifest import Fixed, PatchEntry

CPU_TARGET = "cpu"
SCENARIOS = (
    "Scenarios named real-… run a real model, and only they predict yours. The others run a generated model with a "
    "large vocabulary and next to no layers: there the work that the commits save is most of the work, so a real "
    "model gains less."
)
CPU_LACKS = (
    "Not in them: the web UI, HTTPS (so no downloads with -hf: fetch the model yourself and "
    "give it with -m), any GPU."
)
STAGE_WORDS = {"skipped": "kept"}
"""A stage that need not run again reads as kept; older manifests say `skipped`."""


def deliberate(fixed: Fixed) -> tuple[PatchEntry, ...]:
    """The commits in the release that promise other than the bits of stock: parity cannot vouch for them."""
    return tuple(
        patch for patch in fixed.patches if patch.state == "applied" and patch.numerics.split(" ")[0] != "bitwise"
    )


def cpu_needs(fixed: Fixed, machine: Mapping[str, str | int | float]) -> str:
    """What the cpu archives need and lack, in words; empty when the release has none.

    Args:
        fixed: names the archives and the compiler, whose C++ library is the oldest one promised.
        machine: of the run; its `libc` is the oldest C library promised.
    """
    if CPU_TARGET not in {archive.target for archive in fixed.archives}:
        return ""
    libc, compiler = machine.get("libc", "not recorded"), fixed.compiler.split(";")[0]
    return (
        "The cpu archives need Linux on x86-64 with AVX2, FMA, F16C and BMI2, and the C and C++ libraries of the "
        f"machine that built them or newer ({libc}; libstdc++ of {compiler}). {CPU_LACKS}"
    )


def stage_word(outcome: str) -> str:
    """How a stage went, as a reader understands it."""
    return STAGE_WORDS.get(outcome, outcome)
