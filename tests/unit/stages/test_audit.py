"""The audit stage's gates: a report becomes a verdict with words and figures."""

import pytest

from ci.builds.audit.values import AuditReport, Finding
from ci.outcome import Verdict
from ci.stages.audit import AUDITOR, gate_of
from tests.conftest import CHECKOUT


def finding(rule: str, verdict: Verdict) -> Finding:
    return Finding(rule=rule, verdict=verdict, found="sm_120", expected="sm_120a", file="libggml-cuda.so")


def report(*findings: Finding) -> AuditReport:
    return AuditReport(
        archive="a.tar.gz", sha256="0" * 64, size=7, subject="sm120-cu13", findings=findings, files={"x": 1}
    )


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.UNPROVEN])
def test_a_rule_that_is_not_satisfied_is_named_with_what_was_found(verdict: Verdict) -> None:
    gate = gate_of("speed", report(finding("glibc", Verdict.PASS), finding("sass", verdict)))
    assert (gate.gate, gate.verdict) == ("audit-speed", verdict)
    assert gate.reason == "sass: libggml-cuda.so sm_120, expected sm_120a"


def test_a_sound_archive_says_how_much_was_looked_at() -> None:
    gate = gate_of("stock", report(finding("glibc", Verdict.PASS), finding("sass", Verdict.PASS)))
    assert gate.verdict is Verdict.PASS
    assert gate.reason == "a.tar.gz: 2 rules over 1 programs and libraries"
    assert gate.evidence == {"sha256": "0" * 64, "size": 7, "rules": 2}


def test_no_findings_prove_nothing() -> None:
    assert gate_of("speed", report()).verdict is Verdict.UNPROVEN


def test_the_auditors_own_sources_are_part_of_its_inputs() -> None:
    for pattern in AUDITOR.sources:
        assert list(CHECKOUT.glob(pattern)), pattern
