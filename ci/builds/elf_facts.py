"""What an ELF file says of itself, and what `cuobjdump` says of the device code in it: values and the parser."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from ci.errors import DeviceCodeUnread, ElfUnreadable

Relro = Literal["none", "partial", "full"]

NO_DEVICE_CODE = "does not contain device code"
_ELF_LINE = re.compile(r"ELF file +[0-9]+: .*\.([0-9]+)\.(sm_[0-9]+[a-z]?)\.cubin")
_PTX_LINE = re.compile(r"PTX file +[0-9]+: .*\.([0-9]+)\.sm_([0-9]+[a-z]?)\.ptx")
_NONE_OF_KIND = re.compile(r"cuobjdump info +: No (ELF|PTX) file found to extract from .*")
_FATAL = re.compile(r"cuobjdump (?:fatal|error) +: .*")


@dataclass(frozen=True, kw_only=True)
class DeviceCode:
    """Images for graphics cards in one file.

    Args:
        sass: machine code: how many images of each architecture, e.g. `(("sm_75", 144),)`.
        ptx: code for the driver's compiler, the same way: `(("compute_75", 1),)`.
        units: compiled source files that registered device code; 0 when the file does not say.
    """

    sass: tuple[tuple[str, int], ...] = ()
    ptx: tuple[tuple[str, int], ...] = ()
    units: int = 0

    def __bool__(self) -> bool:
        return bool(self.sass or self.ptx)


@dataclass(frozen=True, kw_only=True)
class SymbolVersion:
    """A version that a file asks of a library, and one symbol that it is for (empty: none is named)."""

    library: str
    version: str
    symbol: str


@dataclass(frozen=True, kw_only=True)
class ElfFacts:
    """One program or shared library.

    Args:
        machine: `x64`, or ELF's own name of another machine.
        program: whether the system starts it, rather than a program that loads it.
        interpreter: the loader that it names; empty for none.
        soname: the name that others ask for; empty for none.
        needed: libraries that it asks for.
        rpath: DT_RPATH as it stands; None when there is none.
        runpath: DT_RUNPATH as it stands; None when there is none.
        versions: symbol versions that it asks for.
        relro: how much of what the loader writes is read-only afterwards.
        executable_stack: whether it asks for a stack that can run code, or fails to say.
        text_relocations: whether the loader must write to its code.
        position_independent: whether it can stand anywhere in memory.
        stripped: no symbol table but the loader's, and no debug information.
        driver_functions: functions of the CUDA driver that it defines itself, the first few.
        paths: distinct strings that look like places on the machine that built it, the first few.
        device: None when nobody looked.
    """

    machine: str = "x64"
    program: bool = False
    interpreter: str = ""
    soname: str = ""
    needed: tuple[str, ...] = ()
    rpath: str | None = None
    runpath: str | None = None
    versions: tuple[SymbolVersion, ...] = ()
    relro: Relro = "full"
    executable_stack: bool = False
    text_relocations: bool = False
    position_independent: bool = True
    stripped: bool = True
    driver_functions: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    device: DeviceCode | None = None


def parse_listing(code: int, out: str, err: str, *, units: int, sections: bool) -> DeviceCode:
    """What `cuobjdump -all --list-elf --list-ptx` answered about one file.

    The tool says "does not contain device code" of anything that it cannot take apart, a cut file too: that answer
    counts only where the file has no section for such code.

    Args:
        code: the exit code.
        out: standard output.
        err: standard error.
        units: `DeviceCode.units`.
        sections: whether the file has sections for device code.

    Raises:
        ElfUnreadable: the tool gives up on this file, or finds nothing where there should be something.
        DeviceCodeUnread: silence, or words that we do not know: no answer at all.
    """
    lines, remarks = _filled(out), _filled(err)
    if not lines and _denies(code, remarks):
        if sections:
            raise ElfUnreadable("it has a section for device code, and cuobjdump finds none in it")
        return DeviceCode()
    fatal = [line for line in remarks if _FATAL.fullmatch(line)]
    if fatal or code < 0:
        raise ElfUnreadable(f"cuobjdump gives up on it: {fatal[0] if fatal else f'signal {-code}'}")
    strange = [line for line in remarks if not _NONE_OF_KIND.fullmatch(line)]
    if code or strange or not lines:
        said = " / ".join([*strange, *lines])[:300] or "nothing"
        raise DeviceCodeUnread(f"cuobjdump ended with {code} and said {said!r}, which is no answer")
    return _counted(lines, units)


def _denies(code: int, remarks: list[str]) -> bool:
    """Whether the tool says in so many words that there is no image: of all kinds at once, or of each kind."""
    if code == 255:
        return len(remarks) == 1 and remarks[0].endswith(NO_DEVICE_CODE)
    kinds = {match[1] for line in remarks if (match := _NONE_OF_KIND.fullmatch(line))}
    return code == 0 and kinds == {"ELF", "PTX"} and len(remarks) == len(kinds)


def _filled(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.strip()]


def _counted(lines: list[str], units: int) -> DeviceCode:
    sass: Counter[str] = Counter()
    ptx: Counter[str] = Counter()
    for line in lines:
        if machine := _ELF_LINE.fullmatch(line):
            sass[machine[2]] += 1
        elif virtual := _PTX_LINE.fullmatch(line):
            ptx[f"compute_{virtual[2]}"] += 1  # the tool calls PTX by the card that it was made for
        else:
            raise DeviceCodeUnread(f"cuobjdump lists an image in words that we do not know: {line!r:.200}")
    return DeviceCode(sass=tuple(sorted(sass.items())), ptx=tuple(sorted(ptx.items())), units=units)
