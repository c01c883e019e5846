"""Rules about what the loader will look for, and where."""

from collections.abc import Iterator
from posixpath import dirname, join, normpath

from ci.builds.audit.values import Bundle, Finding, Member
from ci.builds.elf_facts import ElfFacts
from ci.outcome import Verdict

NEEDED, RUNPATH, DRIVER = "needed", "runpath", "driver"
ORIGINS = ("$ORIGIN", "${ORIGIN}")
LINK_LIMIT = 40
"""Links in a row; Linux gives up there too."""
NAMED = 3
"""How many of those who need a library are named."""
DRIVER_LIBRARIES = ("libcuda.so", "libnvidia-")
"""How names of the driver's libraries begin."""


def needed(bundle: Bundle) -> tuple[Finding, ...]:
    """Each library that anything asks for is where the loader looks, or is known to come from outside."""
    outside = _outside(bundle)
    gaps = tuple(_gaps(bundle, outside))
    from_outside = sorted({name for elf in bundle.elves.values() for name in elf.needed if name in outside})
    if gaps:
        return gaps
    found = f"all of it, from outside: {' '.join(from_outside) or 'nothing'}"
    return (Finding(rule=NEEDED, verdict=Verdict.PASS, found=found, expected="every library is found"),)


def _outside(bundle: Bundle) -> dict[str, str]:
    """Library -> who brings it."""
    promise = bundle.target.promise if bundle.target else None
    if promise is None:
        return {}
    return {
        **dict.fromkeys(promise.companions, "the companion archive"),
        **dict.fromkeys(promise.driver, "the driver"),
        **dict.fromkeys(promise.system, "the system"),
    }


def _gaps(bundle: Bundle, outside: dict[str, str]) -> Iterator[Finding]:
    askers: dict[str, list[str]] = {}
    for file, elf in sorted(bundle.elves.items()):
        for name in elf.needed:
            if name not in outside and not _is_found(bundle, file, elf, name):
                askers.setdefault(name, []).append(file)
    for name, files in askers.items():
        yield _gap(bundle, name, files)


def _is_found(bundle: Bundle, file: str, elf: ElfFacts, name: str) -> bool:
    """Whether the file's own paths lead to the library; those of whoever loads it are not passed on."""
    paths = elf.runpath if elf.runpath is not None else elf.rpath or ""
    places = (place for path in paths.split(":") if (place := place_of(file, path)) is not None)
    return any(resolve(bundle, normpath(join(place, name))) in bundle.elves for place in places)


def _gap(bundle: Bundle, name: str, files: list[str]) -> Finding:
    elsewhere = [path for path in bundle.elves if path.rpartition("/")[2] == name]
    unjudged = not elsewhere and bundle.target is None
    rest = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
    words = f"needed by {', '.join(files[:NAMED])}{rest}"
    if elsewhere:
        words += f"; it is in the archive as {elsewhere[0]}, where the run path of these does not lead"
    elif unjudged:
        words += "; nobody told us what the user's system has"
    return Finding(
        rule=NEEDED,
        verdict=Verdict.UNPROVEN if unjudged else Verdict.FAIL,
        file=files[0],
        found=f"{name} is not found",
        expected="in the archive, its companion archive, the driver or every system",
        words=words,
    )


def resolve(bundle: Bundle, name: str) -> str | None:
    """Where a name leads through the archive's links; None when it leads nowhere, away, or in a circle."""
    for _ in range(LINK_LIMIT):
        member = bundle.members.get(name)
        if member is None:
            return None
        if member.kind != "link":
            return name
        name = led_to(member)
    return None


def led_to(member: Member) -> str:
    """Where a link leads, one step: a name below the top folder, or one that begins with `..` or `/`."""
    return normpath(join(dirname(member.name), member.to))


def place_of(file: str, path: str) -> str | None:
    """The folder below the top folder that one element of a run path names; None when it is none of the archive's."""
    for origin in ORIGINS:
        rest = path.removeprefix(origin)
        if rest != path and (not rest or rest.startswith("/")):
            place = normpath(join(dirname(file), rest.lstrip("/")))
            return None if place.split("/")[0] == ".." else place
    return None


def runpath(bundle: Bundle) -> tuple[Finding, ...]:
    """Run paths stay in the archive: no place of the build machine, no current folder, nothing above the top."""
    expected = "$ORIGIN, or a folder of the archive from there"
    faults = tuple(
        Finding(rule=RUNPATH, verdict=Verdict.FAIL, file=file, found=f"{kind} {paths}", expected=expected, words=why)
        for file, elf in sorted(bundle.elves.items())
        for kind, paths in (("RPATH", elf.rpath), ("RUNPATH", elf.runpath))
        if paths is not None and (why := _fault_of(file, paths))
    )
    found = sorted({path for elf in bundle.elves.values() for path in (elf.rpath, elf.runpath) if path is not None})
    passed = Finding(rule=RUNPATH, verdict=Verdict.PASS, found=" ".join(found) or "none", expected=expected)
    return faults or (passed,)


def _fault_of(file: str, paths: str) -> str:
    for path in paths.split(":"):
        if not path:
            return "an empty element means the folder that the user happens to be in"
        if path.startswith("/"):
            return f"{path} is a place on the machine that built it"
        if place_of(file, path) is None:
            return f"{path} is not in the archive"
    return ""


def driver(bundle: Bundle) -> tuple[Finding, ...]:
    """No library of the driver ships, and no stand-in for one: it would be taken for the user's own."""
    promise = bundle.target.promise if bundle.target else None
    names = (*(promise.driver if promise else ()), *(bundle.companions.driver if bundle.companions else ()))
    by_name = {member: _driver_name(member, bundle.elves.get(member), names) for member in sorted(bundle.members)}
    by_content = {file: ", ".join(elf.driver_functions) for file, elf in sorted(bundle.elves.items())}
    faults = tuple(
        Finding(rule=DRIVER, verdict=Verdict.FAIL, file=file, found=found, expected="no library of the driver")
        for file, found in (
            *((file, f"it is named {name}") for file, name in by_name.items() if name),
            *((file, f"it defines {some}") for file, some in by_content.items() if some),
        )
    )
    return faults or (Finding(rule=DRIVER, verdict=Verdict.PASS, found="none", expected="no library of the driver"),)


def _driver_name(member: str, elf: ElfFacts | None, names: tuple[str, ...]) -> str:
    own = (member.rpartition("/")[2], elf.soname if elf else "")
    return next((name for name in own if name in names or name.startswith(DRIVER_LIBRARIES)), "")
