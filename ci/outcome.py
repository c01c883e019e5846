"""How gates and stages answer: verdicts with evidence, and outcomes.

A verdict is PASS, FAIL or UNPROVEN. Missing data is never a pass: combining no verdicts gives UNPROVEN.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from ci.errors import EXIT_FAIL, EXIT_OK, EXIT_UNPROVEN

JsonValue: TypeAlias = Any  # str | int | float | bool | None | list[JsonValue] | dict[str, JsonValue]
JsonMap: TypeAlias = Mapping[str, JsonValue]


class Verdict(StrEnum):
    """A gate's answer."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    FAIL = "FAIL"
    UNPROVEN = "UNPROVEN"


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """One gate's verdict, why, and what it rests on (counts, build ids, figures)."""

    gate: str
    verdict: Verdict
    reason: str
    evidence: JsonMap = field(default_factory=dict)

    def to_json(self) -> dict[str, JsonValue]:
        """Plain JSON form, as stored in records and the release manifest."""
        return {
            "gate": self.gate,
            "verdict": self.verdict.value,
            "reason": self.reason,
            "evidence": dict(self.evidence),
        }

    @classmethod
    def from_json(cls, data: JsonMap) -> "GateResult":
        """Inverse of :meth:`to_json`; raises KeyError or ValueError on foreign data."""
        return cls(
            gate=str(data["gate"]),
            verdict=Verdict(data["verdict"]),
            reason=str(data["reason"]),
            evidence=dict(data["evidence"]),
        )


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of many: FAIL beats UNPROVEN beats PASS; none at all is UNPROVEN."""
    seen = set(verdicts)
    if Verdict.FAIL in seen:
        return Verdict.FAIL
    return Verdict.PASS if seen == {Verdict.PASS} else Verdict.UNPROVEN


def exit_code_of(verdict: Verdict) -> int:
    """The process exit code that stands for a verdict."""
    return {Verdict.PASS: EXIT_OK, Verdict.FAIL: EXIT_FAIL, Verdict.UNPROVEN: EXIT_UNPROVEN}[verdict]
