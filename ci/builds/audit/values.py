"""What the audit looks at, and what it answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ci.builds.elf_facts import ElfFacts
from ci.builds.target import Lane, Target
from ci.outcome import JsonMap, Verdict, combine

Kind = Literal["file", "link", "folder"]


@dataclass(frozen=True, kw_only=True)
class Member:
    """One entry of an archive.

    Args:
        name: below the archive's top folder, e.g. `llama-server`.
        kind: a link is symbolic or hard.
        mode: permission bits as the archive has them.
        size: bytes.
        to: where a link leads, as the archive has it; a hard link's from the top folder.
    """

    name: str
    kind: Kind = "file"
    mode: int = 0o644
    size: int = 0
    to: str = ""


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What an archive's own `build.json` says of it.

    Args:
        label: what its programs call themselves, e.g. `b11434-speed.1`.
        target: e.g. `sm75`.
        lane: e.g. `cu13`; empty for a target without.
        minimum_driver: first major version of the driver that it asks for; empty where it states none.
        archive: the file name of the archive that a build of this description is packed into.
        fault: in which way the files are not the ones that it lists; empty when they are.
    """

    label: str
    target: str
    lane: str
    minimum_driver: str = ""
    archive: str = ""
    fault: str = ""


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """An archive, read.

    Args:
        archive: its file name.
        members: entries by name.
        refused: entries that nobody should unpack: name, and why.
        tops: names of its top folders.
        elves: programs and libraries that could be read, by name.
        unreadable: those that could not: name, and why.
        texts: licence files, by name.
        stated: None without a `build.json`; a damaged one has a fault.
        version: what `llama-server --version` said, or None when nobody asked.
        version_untold: why nobody asked, or why it said nothing.
        target: what to compare with; None for a stranger's archive.
        companions: the lane whose companion archive this should be; None for any other archive.
    """

    archive: str
    members: Mapping[str, Member]
    refused: tuple[tuple[str, str], ...] = ()
    tops: tuple[str, ...] = ("top",)
    elves: Mapping[str, ElfFacts]
    unreadable: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    stated: Stated | None = None
    version: str | None = None
    version_untold: str = "nobody asked it"
    target: Target | None = None
    companions: Lane | None = None


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One answer of one rule.

    Args:
        rule: its name, e.g. `sass`.
        verdict: PASS stands for the whole archive; a FAIL names its file.
        found: what is there.
        expected: what should be.
        file: which file; empty when it is the archive as a whole.
        words: why, where the figures alone do not say it.
    """

    rule: str
    verdict: Verdict
    found: str
    expected: str
    file: str = ""
    words: str = ""

    def to_json(self) -> JsonMap:
        """Plain JSON form."""
        return {
            "rule": self.rule,
            "verdict": self.verdict.value,
            "file": self.file,
            "found": self.found,
            "expected": self.expected,
            "words": self.words,
        }


Rule = Callable[[Bundle], tuple[Finding, ...]]


@dataclass(frozen=True, kw_only=True)
class AuditReport:
    """All findings about one archive.

    Args:
        archive: file name.
        sha256: hex digest of its bytes.
        size: bytes.
        subject: what it was compared with: a target's id, a lane's companions, or nobody's promise.
        findings: in the order of the rules; every rule has at least one.
        files: programs and libraries, with what a reader wants to know of each.
    """

    archive: str
    sha256: str
    size: int
    subject: str
    findings: tuple[Finding, ...]
    files: JsonMap

    @property
    def verdict(self) -> Verdict:
        """FAIL beats UNPROVEN beats PASS; no finding at all is UNPROVEN."""
        return combine(finding.verdict for finding in self.findings)

    @property
    def worst(self) -> tuple[Finding, ...]:
        """One finding a rule, in the order of the rules: its worst, the first of equals."""
        rank = (Verdict.FAIL, Verdict.UNPROVEN, Verdict.PASS)
        by_rule: dict[str, list[Finding]] = {}
        for finding in self.findings:
            by_rule.setdefault(finding.rule, []).append(finding)
        return tuple(min(same, key=lambda finding: rank.index(finding.verdict)) for same in by_rule.values())

    def to_json(self) -> JsonMap:
        """Plain JSON form."""
        return {
            "archive": self.archive,
            "sha256": self.sha256,
            "size": self.size,
            "subject": self.subject,
            "verdict": self.verdict.value,
            "findings": [dict(finding.to_json()) for finding in self.findings],
            "files": dict(self.files),
        }
