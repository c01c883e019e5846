"""audit: an archive as uploaded against what its target promises; anybody's archive, without a promise."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ci.builds.audit.auditing import audit_archive
from ci.builds.audit.values import AuditReport, Finding
from ci.builds.store import Build, find
from ci.builds.target import Lane, Target, find_lane, find_target
from ci.console import Console
from ci.errors import UsageProblem
from ci.files import exclusive
from ci.home import Home
from ci.outcome import Verdict, combine, exit_code_of

HEADINGS = ("rule", "verdict", "file", "found", "expected")
WAIT_S = 900.0
"""Seconds that an audit may wait for another one: both would use one scratch folder."""
WAITING = "another audit runs on this machine: waiting for its end"
SHORT = 110
"""Letters of one cell; the details below the table are whole."""


def audit(home: Home, console: Console, files: Sequence[str], target: str = "", lane: str = "") -> int:
    """Judge archives: a table of rules for each, every FAIL and every gap below it; the exit code is the verdict's.

    Args:
        home: whose store tells which archives are our own.
        console: where to print.
        files: archives.
        target: what they should be; when empty, what each says itself.
        lane: the toolkit of that target; alone: they are that lane's companion archives.

    Raises:
        UsageProblem: no file, or no such target or lane.
        NotAnArchive: a file cannot be taken apart.
        Busy: another audit runs for very long.
    """
    if not files:
        raise UsageProblem("no archive to audit", hint="invoke audit --file FILE")
    asked = find_target(target, lane=lane) if target else None
    companions = find_lane(lane) if lane and not target else None
    with exclusive(home.work / "audit.lock", wait_s=WAIT_S, on_wait=lambda: console.say(WAITING)):
        reports = [_audited(home, console, Path(file), asked, companions) for file in files]
    for report in reports:
        tell(console, report)
    console.document({"audits": [dict(report.to_json()) for report in reports]})
    return exit_code_of(combine(report.verdict for report in reports))


def _audited(
    home: Home, console: Console, archive: Path, target: Target | None, companions: Lane | None
) -> AuditReport:
    with console.task(f"auditing {archive.name}") as task:
        return audit_archive(
            archive,
            target,
            companions=companions,
            scratch=home.work / "audit",
            places=(str(home.root), str(home.checkout)),
            trust=lambda build: is_ours(home, build),
            progress=task.update,
        )


def is_ours(home: Home, build: Build) -> bool:
    """Whether our own store holds the same files: then its programs may be started here."""
    stored = find(home, build.key)
    return stored is not None and stored.digest == build.digest


def tell(console: Console, report: AuditReport) -> None:
    """One row a rule, then the details, then the verdict as the last line."""
    rows = [[_shortened(cell) for cell in _row(finding)] for finding in report.worst]
    console.table(HEADINGS, rows, title=f"{report.archive} ({report.size / 1e6:.1f} MB) against {report.subject}")
    for verdict in (Verdict.FAIL, Verdict.UNPROVEN):
        for alike in _grouped(finding for finding in report.findings if finding.verdict is verdict):
            console.result("\n".join(_details(alike)))
    console.result(f"sha256={report.sha256}")
    console.result(f"audit={report.verdict.value}")


def _row(finding: Finding) -> tuple[str, ...]:
    return finding.rule, finding.verdict.value, finding.file, finding.found, finding.expected


def _shortened(cell: str) -> str:
    return cell if len(cell) <= SHORT else f"{cell[: SHORT - 3]}..."


def _grouped(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Findings that differ only in their file, together."""
    groups: dict[Finding, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(replace(finding, file=""), []).append(finding)
    return list(groups.values())


def _details(alike: Sequence[Finding]) -> Iterator[str]:
    finding = alike[0]
    files = ", ".join(one.file for one in alike if one.file)
    yield f"{finding.verdict.value} {finding.rule}{f': {files}' if files else ''}"
    yield f"    found     {finding.found}"
    yield f"    expected  {finding.expected}"
    if finding.words:
        yield f"    {finding.words}"
