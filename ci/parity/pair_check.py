"""Whether a server that runs an exact pair does what closed forms say: one row for each pair and way of drafting.

A row rests on sampled texts. Their transitions are tested against the law, their last states against the law at that
place; draft counters must be those of the texts where a draft leaves nothing to chance, and have the expected worth
where it does not. The control is a server that accepts drafts at random: its row passes when the test of the law
fails by far, because a test that sees nothing there would see nothing anywhere.
"""

import math

from ci.outcome import GateResult, Verdict
from ci.parity.pair_figures import Mode, PairFigures
from ci.parity.policy import LAW_ALPHA

CONTROL_P, CONTROL_Z = 1e-12, 10.0
"""What "by far" is: verification at random gave p below 1e-300 and z = 55 at 12,800 transitions."""


def judge_pair(gate: str, mode: Mode, figures: PairFigures, *, needed: int) -> GateResult:
    """The verdict of a row.

    Args:
        gate: its name.
        mode: how its texts were drafted.
        figures: what they say.
        needed: transitions; fewer prove nothing.
    """
    verdict, reason = _doubt(mode, figures, needed) or (_control if mode.control else _honest)(figures)
    evidence = {**figures.to_json(), "needed": needed, "level": _level(figures)}
    return GateResult(gate=gate, verdict=verdict, reason=reason, evidence=evidence)


def _doubt(mode: Mode, figures: PairFigures, needed: int) -> tuple[Verdict, str] | None:
    """What must be there before anything is said."""
    if figures.law.foreign:
        return Verdict.FAIL, f"{figures.law.foreign} text(s) with a token that the law forbids"
    if figures.law.transitions < needed:
        return Verdict.UNPROVEN, f"only {figures.law.transitions} of {needed} transitions"
    if mode.spec_type and not figures.law.counters.drafted:
        return Verdict.UNPROVEN, "draft_n is 0: nothing was speculated"
    if math.isnan(figures.law.test.p_value):
        return Verdict.UNPROVEN, "no state was met often enough for a test"
    return None


def _control(figures: PairFigures) -> tuple[Verdict, str]:
    p, z = figures.law.test.p_value, figures.law.z_argmax
    found = f"p = {p:.3g}, z of the draft's favourite = {z:.1f}"
    if p < CONTROL_P and z > CONTROL_Z:
        return Verdict.PASS, f"acceptance at random is seen: {found}"
    return Verdict.FAIL, f"acceptance at random is not seen: {found}"


def _honest(figures: PairFigures) -> tuple[Verdict, str]:
    for count, of, what in (
        (figures.exact, figures.texts, "draft counters that follow from the text"),
        (figures.same, figures.compared, "the text of plain sampling"),
    ):
        if count is not None and count < of:
            return Verdict.FAIL, f"only {count} of {of} have {what}"
    level, worst = _level(figures), min(figures.p_values.items(), key=lambda item: item[1])
    if worst[1] < level:
        return Verdict.FAIL, f"{worst[0]}: p = {worst[1]:.3g}, below {level:.2g}"
    alone = "" if figures.exact is None or figures.compared else "; not compared with plain sampling"
    return Verdict.PASS, f"smallest of {len(figures.p_values)} p-values is {worst[1]:.3g} ({worst[0]}){alone}"


def _level(figures: PairFigures) -> float:
    """The level of one test: all tests of a row together have the policy's (Bonferroni)."""
    return LAW_ALPHA / max(len(figures.p_values), 1)
