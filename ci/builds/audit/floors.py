"""The rules about the oldest system: which C and C++ libraries a user needs."""

from collections.abc import Iterator

from ci.builds.audit.values import Bundle, Finding
from ci.builds.elf_facts import SymbolVersion
from ci.builds.floor import FAMILIES, FREE, Floor, as_number, floor_of, limits_of
from ci.outcome import Verdict

GLIBC, CXX = "glibc", "libstdc++"
_OF_RULE = {GLIBC: ("GLIBC",), CXX: tuple(family for family in FAMILIES if family != "GLIBC")}

Need = tuple[Floor, SymbolVersion, str]
"""A version, the demand for it, and the file that makes it."""


def glibc(bundle: Bundle) -> tuple[Finding, ...]:
    """No file asks the C library for more than the promised system has."""
    return _judged(bundle, GLIBC)


def libstdcxx(bundle: Bundle) -> tuple[Finding, ...]:
    """The same for libstdc++ and libgcc_s."""
    return _judged(bundle, CXX)


def _judged(bundle: Bundle, rule: str) -> tuple[Finding, ...]:
    needs = [need for need in _needs(bundle) if need[0].family in _OF_RULE[rule]]
    found = "; ".join(_newest(needs, family) for family in _OF_RULE[rule]) or "no versions"
    private = tuple(_private(rule, need) for need in needs if need[0].name.endswith("_PRIVATE"))
    if bundle.target is None or bundle.target.promise is None:
        expected = "nothing is promised: name a target"
        return (*private, Finding(rule=rule, verdict=Verdict.UNPROVEN, found=found, expected=expected))
    promise = bundle.target.promise
    limits = limits_of(promise.glibc, promise.glibcxx)
    if not (promise.glibc if rule == GLIBC else promise.glibcxx):
        return private or (
            Finding(rule=rule, verdict=Verdict.PASS, found=found, expected="the system that built it: no promise"),
        )
    wanted = ", ".join(f"{family}_{limits[family]}" for family in _OF_RULE[rule] if family in limits)
    faults = tuple(fault for need in needs if (fault := _fault(rule, need, limits)))
    passed = Finding(rule=rule, verdict=Verdict.PASS, found=found, expected=f"{wanted} or older")
    return (*private, *faults) or (passed,)


def _needs(bundle: Bundle) -> Iterator[Need]:
    for name, elf in sorted(bundle.elves.items()):
        for version in elf.versions:
            if floor := floor_of(version.version):
                yield floor, version, name


def _newest(needs: list[Need], family: str) -> str:
    numbered = [need for need in needs if need[0].family == family and need[0].number]
    if not numbered:
        return f"no {family}"
    floor, demand, file = max(numbered, key=lambda need: need[0].number)
    return f"{floor.name} ({_for(demand)} in {file})"


def _for(demand: SymbolVersion) -> str:
    return demand.symbol or "no symbol named"


def _private(rule: str, need: Need) -> Finding:
    floor, demand, file = need
    words = "a private name: it fits one build of that library and no other"
    return Finding(
        rule=rule,
        verdict=Verdict.FAIL,
        file=file,
        found=f"{floor.name} for {_for(demand)}",
        expected="public versions",
        words=words,
    )


def _fault(rule: str, need: Need, limits: dict[str, str]) -> Finding | None:
    """What is too new is a FAIL; what nobody can place in time is UNPROVEN."""
    floor, demand, file = need
    if floor.name.endswith("_PRIVATE") or floor.name in FREE:
        return None
    limit = limits.get(floor.family, "")
    unknown = not floor.number or not limit
    if not unknown and floor.number <= as_number(limit):
        return None
    return Finding(
        rule=rule,
        verdict=Verdict.UNPROVEN if unknown else Verdict.FAIL,
        file=file,
        found=f"{floor.name} for {_for(demand)}",
        expected=f"{floor.family}_{limit} or older" if limit else f"a known floor of {floor.family}",
        words="nobody told us how old that is" if unknown else f"of {demand.library}",
    )
