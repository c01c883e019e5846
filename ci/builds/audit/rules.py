"""The rules in their order, and what a reading with gaps does to their answers."""

from collections.abc import Mapping
from dataclasses import replace

from ci.builds.audit import contents, device, floors, hardening, licences, linking
from ci.builds.audit.values import Bundle, Finding, Rule
from ci.outcome import JsonValue, Verdict

OF_FILES: tuple[Rule, ...] = (
    contents.members,
    contents.links,
    contents.modes,
    contents.stated,
)
OF_BINARIES: tuple[Rule, ...] = (
    hardening.machine,
    device.sass,
    device.ptx,
    floors.glibc,
    floors.libstdcxx,
    linking.needed,
    linking.runpath,
    linking.driver,
    hardening.hardening,
    hardening.stripped,
    hardening.build_paths,
)
OF_COMPANIONS: tuple[Rule, ...] = (hardening.machine, linking.runpath, linking.driver, hardening.safety)
"""NVIDIA's libraries are passed on as they come: only what would harm a user is judged."""


def judge(bundle: Bundle) -> tuple[Finding, ...]:
    """All findings: each rule answers at least once."""
    if bundle.companions:
        files: tuple[Rule, ...] = (*OF_FILES[:3], contents.companions, licences.nvidia)
        binaries = OF_COMPANIONS
    else:
        files = (*OF_FILES, contents.parts, contents.version, licences.licences)
        binaries = OF_BINARIES
    whole = bool(bundle.elves) and not bundle.unreadable
    found = [finding for rule in binaries for finding in rule(bundle)]
    judged = found if whole else [_with_gaps(finding) for finding in found]
    return (*hardening.readable(bundle), *(finding for rule in files for finding in rule(bundle)), *judged)


def _with_gaps(finding: Finding) -> Finding:
    """A PASS over binaries that could not all be read proves nothing."""
    if finding.verdict is not Verdict.PASS:
        return finding
    return replace(finding, verdict=Verdict.UNPROVEN, words="not every program and library could be read")


def describe(bundle: Bundle) -> Mapping[str, JsonValue]:
    """Programs and libraries by name, with what a reader wants to know of each; plain JSON."""
    return {
        name: {
            "size": bundle.members[name].size,
            "program": elf.program,
            "needed": list(elf.needed),
            "runpath": elf.runpath,
            "rpath": elf.rpath,
            "sass": dict(elf.device.sass) if elf.device else {},
            "ptx": dict(elf.device.ptx) if elf.device else {},
            "versions": sorted({version.version for version in elf.versions}),
        }
        for name, elf in sorted(bundle.elves.items())
    }
