"""What a rule answers: OK, REFUSED or CANNOT TELL, with its reason and both values."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ci.models.header.words import plain
from ci.outcome import JsonValue


class Fit(StrEnum):
    """A rule's answer."""

    OK = "OK"
    REFUSED = "REFUSED"
    UNKNOWN = "CANNOT TELL"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One rule's answer about one thing.

    Attributes:
        rule: such as `tensor types` or `vocabulary size`.
        fit: the answer.
        reason: why, in one sentence.
        found: the value that was looked at; of a draft, where two models are compared.
        expected: the value that it was held against; of the target, where two models are compared.
        hint: the next command, where one would bring an answer.
    """

    rule: str
    fit: Fit
    reason: str
    found: str = ""
    expected: str = ""
    hint: str = ""

    def to_json(self) -> dict[str, JsonValue]:
        """Plain JSON form."""
        return {name: str(getattr(self, name)) for name in ("rule", "fit", "reason", "found", "expected", "hint")}

    def __str__(self) -> str:
        """Such as `embedding width: they differ (found 64, expected 96)`; what is OK needs no values."""
        told = {"found": self.found, "expected": self.expected} if self.fit is not Fit.OK else {}
        values = ", ".join(f"{name} {value}" for name, value in told.items() if value)
        return f"{self.rule}: {self.reason}{f' ({values})' if values else ''}"


def combined(answers: Iterable[Answer]) -> Fit:
    """The answer of many: REFUSED beats CANNOT TELL beats OK; nothing asked is CANNOT TELL."""
    seen = {answer.fit for answer in answers}
    if Fit.REFUSED in seen:
        return Fit.REFUSED
    return Fit.OK if seen == {Fit.OK} else Fit.UNKNOWN


def same(rule: str, found: object, expected: object, *, differ: str) -> Answer:
    """Whether a draft's value is its target's; one that is not there on one side leaves it open.

    Args:
        rule: name of the rule.
        found: the draft's value, None where it says nothing.
        expected: the target's, likewise.
        differ: what a difference means.
    """
    if found == expected:
        return Answer(rule=rule, fit=Fit.OK, reason="the same" if found is not None else "neither says any")
    silent = None in (found, expected)
    reason = "only one of the two says it" if silent else differ
    return Answer(
        rule=rule,
        fit=Fit.UNKNOWN if silent else Fit.REFUSED,
        reason=reason,
        found=shown(found),
        expected=shown(expected),
    )


def shown(value: object) -> str:
    """A value for people: `none` where there is none, and never longer than a line."""
    return "none" if value is None else plain(str(value))
