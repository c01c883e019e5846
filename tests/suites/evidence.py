"""What a suite's session finds out, and the two builds that it compares."""

from dataclasses import dataclass, field

import pytest

from ci.builds.store import Build
from ci.outcome import GateResult, JsonValue, Verdict


@dataclass(kw_only=True)
class Evidence:
    """What a session found out so far."""

    stock: Build | None = None
    speed: Build | None = None
    gates: dict[str, list[GateResult]] = field(default_factory=dict)
    figures: dict[str, JsonValue] = field(default_factory=dict)

    def of(self, node_id: str) -> list[GateResult]:
        return self.gates.setdefault(node_id, [])

    def unproven(self, item: pytest.Item, reason: str) -> None:
        self.of(item.nodeid).append(without_verdict(item, reason))

    def verdicts(self, item: pytest.Item) -> list[GateResult]:
        """What a test found out; one that has not ended, or ended without a verdict, is UNPROVEN."""
        return self.of(item.nodeid) or [without_verdict(item, "the test ended without a verdict")]


def without_verdict(item: pytest.Item, reason: str) -> GateResult:
    gate = item.name.removeprefix("test_").replace("_", "-")
    return GateResult(gate=gate, verdict=Verdict.UNPROVEN, reason=reason)


@dataclass(frozen=True, kw_only=True)
class Builds:
    """The two sides of every comparison."""

    stock: Build
    speed: Build
