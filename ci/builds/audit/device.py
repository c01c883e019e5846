"""Rules about code for graphics cards."""

from collections.abc import Mapping

from ci.builds.audit.values import Bundle, Finding
from ci.builds.elf_facts import DeviceCode
from ci.outcome import Verdict

SASS, PTX = "sass", "ptx"
NOBODY_LOOKED = "nobody looked for device code in it"


def sass(bundle: Bundle) -> tuple[Finding, ...]:
    """Each library with device code carries machine code for the promised cards, in every unit, and no other."""
    codes = _codes(bundle)
    unseen = _unseen(bundle, SASS)
    if bundle.target is None or bundle.target.promise is None:
        return (*unseen, _without_promise(SASS, codes, _figures(codes, "sass")))
    promised = bundle.target.promise.sass
    if not promised:
        return (*unseen, *_none_allowed(codes))
    if not codes:
        expected = f"{' '.join(promised)} in at least one library"
        return (*unseen, Finding(rule=SASS, verdict=Verdict.FAIL, found="no device code anywhere", expected=expected))
    faults = tuple(fault for name, code in codes.items() for fault in _sass_faults(name, code, promised))
    passed = Finding(rule=SASS, verdict=Verdict.PASS, found=_figures(codes, "sass"), expected=" ".join(promised))
    return (*unseen, *(faults or (passed,)))


def ptx(bundle: Bundle) -> tuple[Finding, ...]:
    """Code for the driver's compiler: exactly what is promised; other cards would run it slowly, if at all."""
    codes = _codes(bundle)
    unseen = _unseen(bundle, PTX)
    if bundle.target is None or bundle.target.promise is None:
        return (*unseen, _without_promise(PTX, codes, _figures(codes, "ptx")))
    promised = bundle.target.promise.ptx
    expected = " ".join(promised) or "none"
    faults = tuple(
        Finding(rule=PTX, verdict=Verdict.FAIL, file=name, found=_listed(code.ptx), expected=expected)
        for name, code in codes.items()
        if {arch for arch, _ in code.ptx} != set(promised)
    )
    missing = promised and not codes
    verdict = Verdict.FAIL if missing else Verdict.PASS
    passed = Finding(rule=PTX, verdict=verdict, found=_figures(codes, "ptx"), expected=expected)
    return (*unseen, *(faults or (passed,)))


def _codes(bundle: Bundle) -> Mapping[str, DeviceCode]:
    return {name: elf.device for name, elf in sorted(bundle.elves.items()) if elf.device}


def _unseen(bundle: Bundle, rule: str) -> tuple[Finding, ...]:
    names = [name for name, elf in sorted(bundle.elves.items()) if elf.device is None]
    return tuple(
        Finding(rule=rule, verdict=Verdict.UNPROVEN, file=name, found=NOBODY_LOOKED, expected="a look")
        for name in names
    )


def _without_promise(rule: str, codes: Mapping[str, DeviceCode], found: str) -> Finding:
    dependent = rule == PTX and any(code.ptx for code in codes.values())
    words = "cards without machine code of their own wait for the driver's compiler" if dependent else ""
    return Finding(
        rule=rule, verdict=Verdict.UNPROVEN, found=found, expected="nothing is promised: name a target", words=words
    )


def _none_allowed(codes: Mapping[str, DeviceCode]) -> tuple[Finding, ...]:
    faults = tuple(
        Finding(rule=SASS, verdict=Verdict.FAIL, file=name, found=_listed((*code.sass, *code.ptx)), expected="none")
        for name, code in codes.items()
    )
    return faults or (Finding(rule=SASS, verdict=Verdict.PASS, found="no device code", expected="none"),)


def _sass_faults(name: str, code: DeviceCode, promised: tuple[str, ...]) -> tuple[Finding, ...]:
    """First which architectures there are, then whether each unit has them."""
    found, expected = _listed(code.sass), " ".join(promised)
    have, want = {arch for arch, _ in code.sass}, set(promised)
    if not have:
        words = f"PTX only: {_listed(code.ptx)}"
        return (Finding(rule=SASS, verdict=Verdict.FAIL, file=name, found=words, expected=expected),)
    if have != want:
        words = _difference(have, want)
        return (Finding(rule=SASS, verdict=Verdict.FAIL, file=name, found=found, expected=expected, words=words),)
    return _uneven(name, code, expected)


def _difference(have: set[str], want: set[str]) -> str:
    missing = f"missing: {' '.join(sorted(want - have))}" if want - have else ""
    extra = f"too much: {' '.join(sorted(have - want))}" if have - want else ""
    return "; ".join(words for words in (missing, extra) if words)


def _uneven(name: str, code: DeviceCode, expected: str) -> tuple[Finding, ...]:
    """A unit without its image answers "no kernel image" in the middle of a user's work."""
    if not code.units:
        words = "the file does not say how many units it was compiled from"
        return (
            Finding(
                rule=SASS,
                verdict=Verdict.UNPROVEN,
                file=name,
                found=_listed(code.sass),
                expected=expected,
                words=words,
            ),
        )
    return tuple(
        Finding(
            rule=SASS,
            verdict=Verdict.FAIL,
            file=name,
            found=f"{arch} in {count} images",
            expected=f"one in each of {code.units} compiled units",
        )
        for arch, count in code.sass
        if count != code.units
    )


def _listed(counts: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{arch} x{count}" for arch, count in counts) or "none"


def _figures(codes: Mapping[str, DeviceCode], kind: str) -> str:
    counted = {name: code.sass if kind == "sass" else code.ptx for name, code in codes.items()}
    return "; ".join(f"{name}: {_listed(counts)}" for name, counts in counted.items()) or "no device code"
