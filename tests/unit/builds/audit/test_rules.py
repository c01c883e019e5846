"""All rules together: each answers, and gaps in the reading take a PASS away."""

from dataclasses import replace

from ci.builds.audit.rules import describe, judge
from ci.builds.audit.values import AuditReport, Bundle, Finding, Member
from ci.builds.elf_facts import ElfFacts
from ci.outcome import Verdict
from tests.helpers.bundles import LANE, sound, strange, with_elf

EVERY = {
    "build-paths",
    "build.json",
    "driver",
    "glibc",
    "hardening",
    "libstdc++",
    "licences",
    "links",
    "machine",
    "members",
    "modes",
    "needed",
    "parts",
    "ptx",
    "readable",
    "runpath",
    "sass",
    "stripped",
    "version",
}
OF_FILES = {"build.json", "licences", "links", "members", "modes", "parts", "version"}


def report(bundle: Bundle) -> AuditReport:
    return AuditReport(
        archive=bundle.archive, sha256="ab" * 32, size=9, subject="x", findings=judge(bundle), files=describe(bundle)
    )


def passing(bundle: Bundle) -> set[str]:
    return {finding.rule for finding in judge(bundle) if finding.verdict is Verdict.PASS}


def test_a_sound_archive_passes_every_rule() -> None:
    assert report(sound()).verdict is Verdict.PASS
    assert passing(sound()) == EVERY


def test_a_file_that_cannot_be_read_proves_nothing_of_the_others() -> None:
    bundle = sound(unreadable={"libx.so": "cut"})
    assert passing(bundle) == OF_FILES
    assert report(bundle).verdict is Verdict.FAIL
    assert {finding.rule for finding in judge(bundle)} == EVERY


def test_an_archive_without_programs_passes_no_rule_about_them() -> None:
    assert passing(sound(elves={})) <= OF_FILES


def test_a_fault_stays_a_fault_where_others_could_not_be_read() -> None:
    bundle = replace(with_elf("libllama.so.0", relro="none"), unreadable={"libx.so": "cut"})
    assert any(f.rule == "hardening" and f.verdict is Verdict.FAIL for f in judge(bundle))


def test_a_stranger_passes_only_what_needs_no_promise() -> None:
    bundle = strange(sound())
    assert report(bundle).verdict is Verdict.UNPROVEN
    promised = {"build.json", "glibc", "libstdc++", "machine", "needed", "parts", "ptx", "sass", "version"}
    assert passing(bundle) == EVERY - promised
    assert {finding.rule for finding in judge(bundle)} == EVERY


def test_companions_have_rules_of_their_own() -> None:
    elves = {name: ElfFacts(relro="partial", rpath="$ORIGIN") for name in LANE.companions}
    texts = {"LICENSE": "NVIDIA License Agreement"}
    members = {name: Member(name=name) for name in (*elves, *texts, "libcuda.so.1")}
    bundle = sound(elves=elves, members=members, texts=texts, companions=LANE, target=None, stated=None)
    assert (
        report(replace(bundle, members={k: v for k, v in members.items() if k != "libcuda.so.1"})).verdict
        is Verdict.PASS
    )
    broken = replace(bundle, elves={**elves, "libcuda.so.1": ElfFacts()})
    assert {f.rule for f in judge(broken) if f.verdict is Verdict.FAIL} == {"parts", "driver"}


def test_a_report_names_the_worst_of_each_rule_once() -> None:
    def finding(rule: str, verdict: Verdict, file: str) -> Finding:
        return Finding(rule=rule, verdict=verdict, file=file, found="x", expected="y")

    findings = (
        finding("b", Verdict.UNPROVEN, "1"),
        finding("a", Verdict.PASS, "2"),
        finding("b", Verdict.FAIL, "3"),
        finding("b", Verdict.FAIL, "4"),
    )
    made = replace(report(sound()), findings=findings)
    assert [(one.rule, one.file) for one in made.worst] == [("b", "3"), ("a", "2")]
    assert made.verdict is Verdict.FAIL


def test_no_finding_is_no_pass() -> None:
    assert replace(report(sound()), findings=()).verdict is Verdict.UNPROVEN


def test_the_document_is_whole() -> None:
    document = report(sound()).to_json()
    assert document["verdict"] == "PASS"
    assert len(document["findings"]) == len(EVERY)
    assert document["files"]["libggml-cuda.so"]["sass"] == {"sm_75": 144}
