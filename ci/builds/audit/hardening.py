"""Rules about how binaries were linked, and what they tell of the machine that made them."""

from collections.abc import Callable, Iterable, Iterator

from ci.builds.audit.values import Bundle, Finding
from ci.builds.elf_facts import ElfFacts
from ci.outcome import Verdict

READABLE, MACHINE, HARDENING, STRIPPED, PATHS = "readable", "machine", "hardening", "stripped", "build-paths"
COMPANION_PLATFORM = "x64"
"""What every lane's libraries are for."""

FaultsOf = Callable[[ElfFacts], Iterable[str]]
"""What is wrong with one file, in words."""


def readable(bundle: Bundle) -> tuple[Finding, ...]:
    """There are programs or libraries, and each could be read."""
    expected = "each one is whole"
    if not bundle.elves and not bundle.unreadable:
        found = "no program and no library"
        return (Finding(rule=READABLE, verdict=Verdict.FAIL, found=found, expected="at least one"),)
    faults = tuple(
        Finding(rule=READABLE, verdict=Verdict.FAIL, file=file, found=why, expected=expected)
        for file, why in sorted(bundle.unreadable.items())
    )
    found = f"{len(bundle.elves)} programs and libraries"
    return faults or (Finding(rule=READABLE, verdict=Verdict.PASS, found=found, expected=expected),)


def machine(bundle: Bundle) -> tuple[Finding, ...]:
    """All are for the machine that the archive's name says."""
    kinds = {file: elf.machine for file, elf in sorted(bundle.elves.items())}
    found = " ".join(sorted(set(kinds.values())))
    if bundle.target is None and bundle.companions is None:
        return (Finding(rule=MACHINE, verdict=Verdict.UNPROVEN, found=found, expected="nothing is promised"),)
    expected = bundle.target.platform if bundle.target else COMPANION_PLATFORM
    faults = tuple(
        Finding(rule=MACHINE, verdict=Verdict.FAIL, file=file, found=kind, expected=expected)
        for file, kind in kinds.items()
        if kind != expected
    )
    return faults or (Finding(rule=MACHINE, verdict=Verdict.PASS, found=found, expected=expected),)


def hardening(bundle: Bundle) -> tuple[Finding, ...]:
    """Full RELRO, no executable stack, no text relocations, programs that can stand anywhere."""
    expected = "full RELRO, no executable stack, no text relocations, PIE"
    return _each(bundle, HARDENING, expected, lambda elf: (*_unsafe(elf), *_unhardened(elf)))


def safety(bundle: Bundle) -> tuple[Finding, ...]:
    """What must hold for another maker's libraries too, which are passed on as they come."""
    return _each(bundle, HARDENING, "no executable stack, no text relocations", _unsafe)


def stripped(bundle: Bundle) -> tuple[Finding, ...]:
    """No debug information: it multiplies the size and names places of the build machine."""
    return _each(bundle, STRIPPED, "stripped", lambda elf: () if elf.stripped else ("symbols or debug information",))


def build_paths(bundle: Bundle) -> tuple[Finding, ...]:
    """No string names a place where compilers work."""
    return _each(bundle, PATHS, "no path of the build machine", lambda elf: elf.paths)


def _unsafe(elf: ElfFacts) -> Iterator[str]:
    if elf.executable_stack:
        yield "executable stack"
    if elf.text_relocations:
        yield "text relocations"


def _unhardened(elf: ElfFacts) -> Iterator[str]:
    if elf.relro != "full":
        yield f"{elf.relro} RELRO"
    if elf.program and not elf.position_independent:
        yield "no PIE"


def _each(bundle: Bundle, rule: str, expected: str, faults_of: FaultsOf) -> tuple[Finding, ...]:
    faults = tuple(
        Finding(rule=rule, verdict=Verdict.FAIL, file=file, found=", ".join(found), expected=expected)
        for file, elf in sorted(bundle.elves.items())
        if (found := tuple(faults_of(elf)))
    )
    return faults or (
        Finding(rule=rule, verdict=Verdict.PASS, found=f"all {len(bundle.elves)} files", expected=expected),
    )
