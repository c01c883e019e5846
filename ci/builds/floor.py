"""The oldest system that a binary runs on, from the versions of the symbols that it asks for."""

import re
from dataclasses import dataclass

FAMILIES = ("GLIBC", "GLIBCXX", "CXXABI", "GCC")
"""The C library, libstdc++ (two families) and libgcc_s."""
_VERSION = re.compile(r"(GLIBC|GLIBCXX|CXXABI|GCC)_([0-9]{1,6}(?:\.[0-9]{1,6}){0,3})")
_FAMILY = re.compile(r"(GLIBC|GLIBCXX|CXXABI|GCC)_.*", re.DOTALL)

NAMED_FLOORS = {
    "GLIBC_ABI_DT_RELR": "2.36",
    "GLIBC_ABI_DT_X86_64_PLT": "2.42",
}
"""Names without a number, and the C library that brought them."""
FREE = ("CXXABI_TM_1", "CXXABI_FLOAT128")
"""Names without a number that every libstdc++ since GCC 5 has on x86-64."""
COMPANY = {
    "3.4.25": ("1.3.11", "7.0.0"),
    "3.4.26": ("1.3.12", "7.0.0"),
    "3.4.27": ("1.3.12", "7.0.0"),
    "3.4.28": ("1.3.12", "7.0.0"),
    "3.4.29": ("1.3.13", "7.0.0"),
    "3.4.30": ("1.3.13", "12.0.0"),
}
"""GLIBCXX of a GCC release -> its CXXABI, and the newest version in its libgcc_s on x86-64."""


@dataclass(frozen=True, kw_only=True)
class Floor:
    """A symbol version taken apart.

    Args:
        family: one of `FAMILIES`.
        number: comparable, e.g. `(2, 38)`; empty for a name without a number.
        name: as the file has it, e.g. `GLIBC_2.38`.
    """

    family: str
    number: tuple[int, ...]
    name: str


def floor_of(name: str) -> Floor | None:
    """The version's family and number; None for a version of any other library."""
    if known := NAMED_FLOORS.get(name):
        return Floor(family="GLIBC", number=as_number(known), name=name)
    if match := _VERSION.fullmatch(name):
        return Floor(family=match[1], number=as_number(match[2]), name=name)
    odd = _FAMILY.fullmatch(name)
    return Floor(family=odd[1], number=(), name=name) if odd else None


def as_number(version: str) -> tuple[int, ...]:
    """`2.38` as `(2, 38)`: 2.9 is older than 2.34."""
    return tuple(int(part) for part in version.split("."))


def limits_of(glibc: str, glibcxx: str) -> dict[str, str]:
    """Newest version by family, as far as it is known; nothing for a system without a floor."""
    cxxabi, gcc = COMPANY.get(glibcxx, ("", ""))
    known = {"GLIBC": glibc, "GLIBCXX": glibcxx, "CXXABI": cxxabi, "GCC": gcc}
    return {family: version for family, version in known.items() if version}
