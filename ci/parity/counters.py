"""Draft counters against a replay: on an exact pair a greedy draft leaves no freedom, so integers must agree."""

from collections.abc import Sequence
from dataclasses import dataclass

from ci.law import Counters
from ci.outcome import GateResult, Verdict

SHOWN = 8  # mismatches quoted as evidence


@dataclass(frozen=True, kw_only=True)
class Counted:
    """One request's counters: what the server reported and what the replay of its output gives."""

    prompt: str
    reported: Counters
    replayed: Counters


def judge_counters(gate: str, rows: Sequence[Counted], *, n_expected: int) -> GateResult:
    """FAIL on any difference; UNPROVEN without drafts or with fewer requests than expected."""
    wrong = [row for row in rows if row.reported != row.replayed]
    drafted = sum(row.reported.drafted for row in rows)
    verdict, reason = Verdict.PASS, f"{len(rows)} requests, {drafted} drafted tokens, all as replayed"
    if wrong:
        verdict, reason = (
            Verdict.FAIL,
            f"{len(wrong)} of {len(rows)} requests differ from the replay: {_words(wrong[0])}",
        )
    elif drafted == 0:
        verdict, reason = Verdict.UNPROVEN, "draft_n is 0: nothing was speculated"
    elif len(rows) < n_expected:
        verdict, reason = Verdict.UNPROVEN, f"{len(rows)} of {n_expected} requests were answered"
    return GateResult(
        gate=gate,
        verdict=verdict,
        reason=reason,
        evidence={
            "n_compared": len(rows),
            "n_expected": n_expected,
            "draft_n": drafted,
            "draft_n_accepted": sum(row.reported.accepted for row in rows),
            "differences": [_words(row) for row in wrong[:SHOWN]],
        },
    )


def _words(row: Counted) -> str:
    seen, law = row.reported, row.replayed
    return (
        f"{row.prompt}: {seen.accepted} of {seen.drafted} accepted, the replay gives {law.accepted} of {law.drafted}"
    )
