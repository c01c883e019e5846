"""Rules about the archive as a heap of files: names, links, modes, parts, licences, and what it says of itself."""

import re

from ci.builds.audit.linking import led_to, resolve
from ci.builds.audit.values import Bundle, Finding, Member
from ci.builds.recipe import names_label
from ci.outcome import Verdict

MEMBERS, LINKS, MODES, PARTS = "members", "links", "modes", "parts"
STATED, VERSION = "build.json", "version"
_NAMED = re.compile(r"llama-.+-bin-linux-.+\.tar\.gz")
"""A name that says what is inside: people choose a download by it. Any other name promises nothing."""


def members(bundle: Bundle) -> tuple[Finding, ...]:
    """Every entry can be unpacked by anybody, into one folder."""
    expected = "plain files below one folder"
    faults = [
        Finding(rule=MEMBERS, verdict=Verdict.FAIL, file=name, found=why, expected=expected)
        for name, why in bundle.refused
    ]
    if len(bundle.tops) != 1:
        found = f"{len(bundle.tops)} top entries: {' '.join(bundle.tops[:5])}"
        faults.append(Finding(rule=MEMBERS, verdict=Verdict.FAIL, found=found, expected=expected))
    found = f"{len(bundle.members)} below {bundle.tops[0] if bundle.tops else 'nothing'}/"
    return tuple(faults) or (Finding(rule=MEMBERS, verdict=Verdict.PASS, found=found, expected=expected),)


def links(bundle: Bundle) -> tuple[Finding, ...]:
    """Every link leads to a file of the archive."""
    expected = "links lead to files of the archive"
    every = [member for _, member in sorted(bundle.members.items()) if member.kind == "link"]
    faults = tuple(
        Finding(
            rule=LINKS, verdict=Verdict.FAIL, file=member.name, found=f"-> {member.to}", expected=expected, words=why
        )
        for member in every
        if (why := _fault_of_link(bundle, member))
    )
    return faults or (Finding(rule=LINKS, verdict=Verdict.PASS, found=f"{len(every)} links", expected=expected),)


def _fault_of_link(bundle: Bundle, member: Member) -> str:
    to = led_to(member)
    if to.startswith("/") or to.split("/")[0] == "..":
        return "it leads out of the archive"
    return "" if resolve(bundle, member.name) else "it leads to nothing"


def modes(bundle: Bundle) -> tuple[Finding, ...]:
    """Programs can be started, nothing else run; nothing may be changed by others or borrow rights."""
    expected = "programs 755, libraries 755 or 644, all else 644"
    faults = tuple(
        Finding(rule=MODES, verdict=Verdict.FAIL, file=name, found=f"{member.mode:04o}", expected=expected, words=why)
        for name, member in sorted(bundle.members.items())
        if (why := _fault_of_mode(bundle, member))
    )
    return faults or (
        Finding(rule=MODES, verdict=Verdict.PASS, found=f"{len(bundle.members)} entries", expected=expected),
    )


def _fault_of_mode(bundle: Bundle, member: Member) -> str:
    if member.kind == "link":
        return ""
    if member.mode & 0o7000:
        return "it borrows the rights of its owner or group, or is sticky"
    if member.mode & 0o022:
        return "others may change it"
    elf = bundle.elves.get(member.name)
    if elf and elf.program and not member.mode & 0o100:
        return "a program that cannot be started"
    if bundle.target is None and bundle.companions is None:
        return ""
    allowed = (0o755,) if member.kind == "folder" or (elf and elf.program) else (0o755, 0o644) if elf else (0o644,)
    return "" if member.mode in allowed else f"expected {' or '.join(f'{mode:o}' for mode in allowed)}"


def parts(bundle: Bundle) -> tuple[Finding, ...]:
    """What the target promises is there: programs, and libraries that nothing names."""
    if bundle.target is None:
        programs = sorted(name for name, elf in bundle.elves.items() if elf.program)
        found = f"programs: {' '.join(programs) or 'none'}"
        return (Finding(rule=PARTS, verdict=Verdict.UNPROVEN, found=found, expected="nothing is promised"),)
    plugins = bundle.target.promise.plugins if bundle.target.promise else ()
    wanted = (*bundle.target.programs, *plugins)
    known = (*bundle.elves, *bundle.unreadable)
    missing = [name for name in wanted if name not in known]
    if missing:
        return tuple(
            Finding(rule=PARTS, verdict=Verdict.FAIL, file=name, found="not in the archive", expected="it is there")
            for name in missing
        )
    found = f"{len(bundle.target.programs)} programs, {len(plugins)} plug-ins"
    return (Finding(rule=PARTS, verdict=Verdict.PASS, found=found, expected="the target's"),)


def companions(bundle: Bundle) -> tuple[Finding, ...]:
    """The lane's libraries, all of them, and no other."""
    wanted = set(bundle.companions.companions) if bundle.companions else set()
    have = {*bundle.elves, *bundle.unreadable}
    expected = " ".join(sorted(wanted))
    faults = tuple(
        Finding(rule=PARTS, verdict=Verdict.FAIL, file=name, found=found, expected=expected)
        for names, found in ((wanted - have, "not in the archive"), (have - wanted, "none of the lane's libraries"))
        for name in sorted(names)
    )
    faults += tuple(
        Finding(rule=PARTS, verdict=Verdict.FAIL, file=name, found=f"it calls itself {elf.soname}", expected=name)
        for name, elf in sorted(bundle.elves.items())
        if elf.soname and elf.soname != name
    )
    return faults or (Finding(rule=PARTS, verdict=Verdict.PASS, found=" ".join(sorted(have)), expected=expected),)


def stated(bundle: Bundle) -> tuple[Finding, ...]:
    """The archive's own description fits its files, and is of the target that it is taken for."""
    expected = "build.json lists exactly these files"
    own, target = bundle.stated, bundle.target
    if own is None:
        verdict = Verdict.FAIL if target else Verdict.UNPROVEN
        return (Finding(rule=STATED, verdict=verdict, found="no build.json", expected=expected),)
    if own.fault:
        return (Finding(rule=STATED, verdict=Verdict.FAIL, file=STATED, found=own.fault, expected=expected),)
    told = f"{own.target}-{own.lane}" if own.lane else own.target
    if target and told != target.id:
        return (Finding(rule=STATED, verdict=Verdict.FAIL, file=STATED, found=told, expected=target.id),)
    floor = target.lane.minimum_driver if target and target.lane else own.minimum_driver
    if own.minimum_driver != floor:
        found, asked = f"minimum driver {own.minimum_driver or 'not stated'}", f"minimum driver {floor}"
        return (Finding(rule=STATED, verdict=Verdict.FAIL, file=STATED, found=found, expected=asked),)
    if _NAMED.fullmatch(bundle.archive) and bundle.archive != own.archive:
        expected = f"the file's name to be {own.archive}"
        return (Finding(rule=STATED, verdict=Verdict.FAIL, file=STATED, found=bundle.archive, expected=expected),)
    found = f"{own.label} for {told}" + (f", driver {floor} or newer" if floor else "")
    return (Finding(rule=STATED, verdict=Verdict.PASS, found=found, expected=expected),)


def version(bundle: Bundle) -> tuple[Finding, ...]:
    """The server calls itself what the archive's description says."""
    label = bundle.stated.label if bundle.stated else ""
    expected = f"llama-server --version names {label or 'a label that build.json would tell'}"
    said = bundle.version
    if said is None or not label:
        found = said or bundle.version_untold
        return (Finding(rule=VERSION, verdict=Verdict.UNPROVEN, found=found, expected=expected),)
    verdict = Verdict.PASS if names_label(said, label) else Verdict.FAIL
    return (Finding(rule=VERSION, verdict=verdict, file="llama-server", found=said[:300], expected=expected),)
