"""Where the sections of an ELF file lie: what two builds of one file are compared by."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

SECTION_LIMIT = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section: offset in the file and size in bytes; `stored` is false where it takes no room in the file."""

    offset: int
    size: int
    stored: bool


def sections(path: Path) -> dict[str, Section]:
    """Sections by name, in file order; later ones of the same name are called `.text (2)` and so on.

    Empty for a file that is no whole ELF file: nobody can say what its parts are.
    """
    found: dict[str, Section] = {}
    seen: Counter[str] = Counter()
    try:
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            if elf.num_sections() > SECTION_LIMIT:
                return {}
            for section in elf.iter_sections():
                seen[section.name] += 1
                name = section.name if seen[section.name] == 1 else f"{section.name} ({seen[section.name]})"
                stored = section["sh_type"] not in ("SHT_NOBITS", "SHT_NULL")
                found[name] = Section(offset=section["sh_offset"], size=section["sh_size"], stored=stored)
    except (ELFError, ValueError, KeyError, AttributeError, TypeError, OverflowError, UnicodeDecodeError):
        return {}
    return found
