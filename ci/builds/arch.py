"""Which device code a build carries: every spelling of a CUDA architecture list gets one answer or an error.

A list is CMake's: entries separated by `;`, each a number (`75` is compute capability 7.5), perhaps a letter, perhaps
`-real` or `-virtual`. The rules, in turn:

- `75-real` is machine code (SASS) for one generation of cards; `75-virtual` is PTX, which the driver of a newer card
  compiles when a program first starts; a bare `75` is both. Targets want `-real`: PTX adds size and a slow start.
- `75` and every other number below 120 stands as written. `12X` becomes `12Xa` whatever follows: llama.cpp's CMake
  file does the same, because plain 12X code has no FP4 tensor cores. Done here too, the plan says what will be built
  whatever upstream's file says tomorrow.
- `a` code runs on exactly its own compute capability. There is none before 90.
- `f` (family code) is refused: in a finished file it bears the same name as code without the letter, so nobody could
  prove afterwards which of the two was shipped.
- A list must hold machine code: with PTX alone no card starts without compiling everything first.
- Spaces around entries do not count, nor does their order; what is asked for twice is built once.
- `native` is refused, for a build machine has no card; `all` and `all-major`, for they mean something else with each
  toolkit. Empty lists and entries, other separators, other names for the same thing (`sm_75`, `7.5`) are refused,
  with the right spelling where it can be guessed.
- Numbers reach from 50 to 199. Which of them exist only the toolkit knows: `check_supported` asks it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from ci.errors import UsageProblem

EXAMPLE = "75-real;120a-real"
_ENTRY = re.compile(r"([5-9][0-9]|1[0-9]{2})([af]?)(?:-(real|virtual))?")
_LISTED = re.compile(r"compute_([0-9]{2,3})[af]?")
_CAPABILITY = re.compile(r"([1-9][0-9]?)\.([0-9])")
_MEANT = re.compile(r"(?:sm_?|compute_?)?([0-9]{1,3}\.?[0-9])([af]?)(?:-.*)?")
_SEPARATORS = re.compile(r"[;,:\s]+")
_FIRST_WITH_LETTER = 90
_LETTER_ADDED = range(120, 130)
_SHOWN = 60
_GUESSED = 200
REAL, VIRTUAL = "real", "virtual"


@dataclass(frozen=True, kw_only=True)
class ArchPlan:
    """A checked architecture list.

    Args:
        cmake: the value for CMAKE_CUDA_ARCHITECTURES, e.g. `75-real;120a-real`; planned again, it gives this plan.
        sass: machine code that the result must carry, as cuobjdump names it: `sm_75`, `sm_120a`.
        ptx: code for the driver's compiler that it carries besides: `compute_120a`.
    """

    cmake: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, order=True)
class Capability:
    """A card's compute capability: `7.5` is major 7, minor 5."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `7.5`, as `nvidia-smi --query-gpu=compute_cap` prints it.

        Raises:
            UsageProblem: the text is nothing of the kind.
        """
        match = _CAPABILITY.fullmatch(text.strip())
        if match is None:
            raise UsageProblem(
                f"{_shown(text)} is no compute capability; expected something like 7.5 or 12.0",
                hint="nvidia-smi --query-gpu=compute_cap --format=csv,noheader",
            )
        return cls(major=int(match[1]), minor=int(match[2]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class Cover(StrEnum):
    """How a card runs a build's device code."""

    NATIVE = "native"
    """It carries machine code for the card."""
    JIT = "jit"
    """The driver compiles it when a program first starts, which takes minutes."""
    NONE = "none"
    """Not at all."""


@dataclass(frozen=True, kw_only=True, order=True)
class _Arch:
    """One architecture: its number, and `a` or nothing."""

    number: int
    letter: str

    @property
    def name(self) -> str:
        return f"{self.number}{self.letter}"

    @property
    def capability(self) -> Capability:
        return Capability(major=self.number // 10, minor=self.number % 10)


def plan_archs(spelling: str) -> ArchPlan:
    """The plan for an architecture list, by the rules above.

    Args:
        spelling: e.g. `75-real;120a-real`.

    Raises:
        UsageProblem: the list has no documented meaning here; names the entry, and what was expected.
    """
    kinds: dict[_Arch, set[str]] = {}
    for entry in spelling.split(";"):
        arch, asked = _read(entry.strip(), spelling)
        kinds.setdefault(arch, set()).update(asked)
    real = tuple(arch for arch in sorted(kinds) if REAL in kinds[arch])
    virtual = tuple(arch for arch in sorted(kinds) if VIRTUAL in kinds[arch])
    if not real:
        raise _refused(spelling, "is PTX alone: no card could start without compiling everything first")
    return ArchPlan(
        cmake=";".join(_spelled(arch, kinds[arch]) for arch in sorted(kinds)),
        sass=tuple(f"sm_{arch.name}" for arch in real),
        ptx=tuple(f"compute_{arch.name}" for arch in virtual),
    )


def check_supported(plan: ArchPlan, listed: Iterable[str]) -> None:
    """Compare a plan with what a toolkit can make, before anything is compiled.

    Args:
        plan: what is to be built.
        listed: the lines of `nvcc --list-gpu-arch`.

    Raises:
        UsageProblem: the toolkit cannot make all of it, or its list is no list.
    """
    matches = [_LISTED.fullmatch(line.strip()) for line in listed]
    known = {int(match[1]) for match in matches if match}
    if not known:
        raise UsageProblem(
            "nvcc --list-gpu-arch names no architecture: this is no toolkit to build with", hint="invoke toolchain"
        )
    missing = [arch for arch in _archs((*plan.sass, *plan.ptx)) if arch.number not in known]
    if missing:
        names = ", ".join(f"compute_{number}" for number in sorted(known))
        raise UsageProblem(
            f"compute_{missing[0].name} not among the architectures of this toolkit: {names}",
            hint="take it out of `archs` in ci/config/targets.toml, or build it in another lane: invoke build --help",
        )


def covers(plan: ArchPlan, capability: Capability) -> Cover:
    """Whether a card of that compute capability runs the device code of a plan, and how.

    Machine code runs on its own major version from its own minor version on, PTX on everything from its own version
    on; both, where they bear an `a`, on exactly their own. (Cards of PCs and servers: boards with a processor of
    their own keep to stricter rules, and run no x86-64 program.)
    """
    if any(_runs(arch, capability) for arch in _archs(plan.sass)):
        return Cover.NATIVE
    return Cover.JIT if any(_compiles(arch, capability) for arch in _archs(plan.ptx)) else Cover.NONE


def _runs(arch: _Arch, card: Capability) -> bool:
    return _compiles(arch, card) and arch.capability.major == card.major


def _compiles(arch: _Arch, card: Capability) -> bool:
    return card == arch.capability if arch.letter else card >= arch.capability


def _archs(names: Iterable[str]) -> tuple[_Arch, ...]:
    """From `sm_120a` and `compute_75`."""
    bare = [name.partition("_")[2] for name in names]
    return tuple(_Arch(number=int(name.rstrip("a")), letter=name.lstrip("0123456789")) for name in bare)


def _spelled(arch: _Arch, kinds: set[str]) -> str:
    return arch.name if len(kinds) > 1 else f"{arch.name}-{next(iter(kinds))}"


def _read(entry: str, spelling: str) -> tuple[_Arch, tuple[str, ...]]:
    """One entry's architecture and the kinds of code that it asks for."""
    match = _ENTRY.fullmatch(entry)
    if match is None:
        raise _refused(spelling, _what_is_wrong(entry))
    number, letter = int(match[1]), match[2]
    if letter and number < _FIRST_WITH_LETTER:
        raise _refused(spelling, f"asks for {entry}, but letters begin with 90a")
    if letter == "f":
        raise _refused(spelling, f"asks for family code, {entry}, which no audit can tell from plain code")
    if number in _LETTER_ADDED:
        letter = "a"
    return _Arch(number=number, letter=letter), (match[3],) if match[3] else (REAL, VIRTUAL)


def _what_is_wrong(entry: str) -> str:
    special = {
        "": "has an empty entry",
        "native": "asks for the card of the build machine, which has none",
        "all": "means something else with each toolkit",
        "all-major": "means something else with each toolkit",
    }
    return special.get(entry, f"is not understood at {_shown(entry)}")


def _refused(spelling: str, why: str) -> UsageProblem:
    return UsageProblem(
        f"the architecture list {_shown(spelling)} {why}; "
        "expected numbers such as 75 or 120a, each with -real or -virtual, separated by `;`",
        hint=f'write archs = "{_guess(spelling)}" in ci/config/targets.toml, then run the command again',
    )


def _guess(spelling: str) -> str:
    """The list that was probably meant, as machine code; else an example."""
    entries = [entry for entry in _SEPARATORS.split(spelling[:_GUESSED].lower()) if entry]
    matches = [_MEANT.fullmatch(entry) for entry in entries]
    meant = [match[1].replace(".", "") + match[2] for match in matches if match]
    known = bool(meant) and len(meant) == len(entries) and all(_ENTRY.fullmatch(name) for name in meant)
    return ";".join(f"{_with_letter(name)}-real" for name in meant) if known else EXAMPLE


def _with_letter(name: str) -> str:
    number = name.rstrip("af")
    return f"{number}a" if number != name and int(number) >= _FIRST_WITH_LETTER else number


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
