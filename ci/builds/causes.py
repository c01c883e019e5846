"""Why a build failed, told from what compilers, linkers and CMake print; and which of their lines to show."""

import re
from collections.abc import Sequence
from enum import StrEnum

QUOTED_LINES = 12
KILLED_CODES = frozenset({137, -9})


class Cause(StrEnum):
    """Why a build failed."""

    SOURCE = "source"
    MEMORY = "memory"
    DISK = "disk"
    COMPILER = "compiler"
    """nvcc does not accept its host compiler, or the C library's headers."""
    ARCH = "arch"
    """nvcc cannot make code for an architecture."""
    STUB = "stub"
    """The stand-in for the driver's library, which is there for linking only, is missing or lacks calls."""


# in turn the words of gcc about cc1plus, of clang, of gcc about ld and older nvcc about its parts, and of a shell
_KILLED = re.compile(r"Killed signal terminated program|unable to execute command: Killed|\bsignal 9\b|^Killed$")
_OUT_OF_MEMORY = re.compile(
    r"virtual memory exhausted|out of memory|Cannot allocate memory|Memory allocation failure|std::bad_alloc",
    re.IGNORECASE,
)
_DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded")
_UNFIT = re.compile(r"#error -- unsupported|unsupported [\w ]{1,40} version!")
_FOREIGN_HEADER = re.compile(
    r"^/usr/include/.*exception specification is incompatible with that of previous function"
)
_ARCH = re.compile(r"Unsupported gpu architecture '|Value '(?:sm|compute)_\w+' is not defined for option 'gpu-")
_NO_STUB = re.compile(r"cannot find -lcuda\b|unable to find library -lcuda\b|^\s*CUDA::cuda_driver$")
_UNDEFINED = re.compile(r"undefined reference to|undefined symbol: ")
_DRIVER_CALL = re.compile(r"(?:undefined reference to|undefined symbol:) [`']?cu[A-Z]")
_NEEDED = re.compile(r"libcuda\.so(?:\.1)?, needed by .*not found")
_ERROR = re.compile(
    r"\berror:|multiple definition of|cannot find -l|^CMake Error|ninja: error:"
    r"|\bptxas .*\b(?:error|fatal) *:|\bnv(?:cc|link) (?:error|fatal) *:|^Segmentation fault$",
    re.IGNORECASE,
)
_SHOWN = (_ERROR, _UNDEFINED, _KILLED, _OUT_OF_MEMORY, _NEEDED)

_REFUSAL = re.compile(r"unsupported [\w ]{1,40} version! [^!]{1,160}?(?:!| \.)")
_FACTS = (
    (re.compile(r"__CUDACC_VER_MAJOR__=(\d+).*?__CUDACC_VER_MINOR__=(\d+)"), "nvcc {}.{}"),
    (re.compile(r"-ccbin[= ](\S+)"), "its host compiler {}"),
    (re.compile(r"The CXX compiler identification is (\w+ [\d.]+)"), "the C++ compiler {}"),
)


def cause_of(said: Sequence[str], codes: set[int], *, killed_for_memory: bool = False) -> Cause:
    """The cause of a failure.

    Args:
        said: what the failed commands printed.
        codes: exit codes of the failed commands and of whatever ran them.
        killed_for_memory: the kernel is known to have killed something for memory.
    """
    if any(_DISK_FULL.search(line) for line in said):
        return Cause.DISK
    if killed_for_memory or codes & KILLED_CODES or any(_killed(line) for line in said):
        return Cause.MEMORY
    if any(_UNFIT.search(line) or _FOREIGN_HEADER.search(line) for line in said):
        return Cause.COMPILER
    if any(_ARCH.search(line) for line in said):
        return Cause.ARCH
    return Cause.STUB if _is_stub(said) else Cause.SOURCE


def quotes_of(said: Sequence[str], cause: Cause) -> tuple[str, ...]:
    """The lines to show, at most `QUOTED_LINES`: those with an error; without any, the end of what was said."""
    refusal = _refusal(said) if cause is Cause.COMPILER else ()
    errors = [line for line in said if any(pattern.search(line) for pattern in _SHOWN)]
    unique = refusal or tuple(dict.fromkeys(errors))
    return unique[:QUOTED_LINES] or tuple(line for line in said if line.strip())[-QUOTED_LINES:]


def _killed(line: str) -> bool:
    return bool(_KILLED.search(line) or _OUT_OF_MEMORY.search(line))


def _is_stub(said: Sequence[str]) -> bool:
    """A linker warns of a missing libcuda.so.1 in good builds too: it counts only when nothing else is missing."""
    if any(_NO_STUB.search(line) or _DRIVER_CALL.search(line) for line in said):
        return True
    return any(_NEEDED.search(line) for line in said) and not any(_UNDEFINED.search(line) for line in said)


def _refusal(said: Sequence[str]) -> tuple[str, ...]:
    """What nvcc says of its host compiler, which CMake may have wrapped, and the versions that are known.

    The sentence is cut where it goes on to name the option that silences it.
    """
    text = " ".join(line.strip() for line in said)
    sentence = _REFUSAL.search(text)
    if sentence is None:
        return ()
    found = [(pattern.search(text), words) for pattern, words in _FACTS]
    known = ", ".join(words.format(*match.groups()) for match, words in found if match)
    return (sentence[0], known) if known else (sentence[0],)
