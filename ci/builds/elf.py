"""The one door to ELF files: pyelftools for what they say of themselves, NVIDIA's cuobjdump for their device code.

The files may be a stranger's: every table is read to a limit, the whole within a time limit, and whatever a parser
meets becomes one error that names the file.
"""

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TypeVar

from elftools.elf.dynamic import DynamicSegment, DynamicTag
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import Symbol, SymbolTableSection
from elftools.elf.segments import InterpSegment

from ci.builds.elf_facts import DeviceCode, ElfFacts, Relro, SymbolVersion, parse_listing
from ci.errors import CommandFailed, ElfUnreadable, SpeedforkError, ToolMissing
from ci.process import run

T = TypeVar("T")

MAGIC = b"\x7fELF"
READ_LIMIT_S = 120.0
TOOL_LIMIT_S = 300.0
"""Seconds for one file: libcublasLt, the largest that ships, takes a few."""
TABLE_LIMIT = 1_000_000
"""Entries of one table; libllama-common has some ten thousand symbols."""
VERSION_LIMIT = 10_000
"""Symbol versions of one file: their tables say themselves where they go on, so a bent one has no end."""
NAMED = 5
"""How many of many are named."""
PLACES = ("/build", "/home", "/root", "/src", "/tmp")  # noqa: S108 - what to look for, nothing is written there
"""Where compilers work; a user's machine has none of what stands there."""
WHEEL = "nvidia-cuda-cuobjdump"
UNIT_SIZE = 24
"""Bytes that one compiled source file has in `UNITS_SECTION`."""
UNITS_SECTION = ".nvFatBinSegment"
DEVICE_SECTIONS = (".nv_fatbin", "__nv_relfatbin", UNITS_SECTION)
_DRIVER_FUNCTION = re.compile(r"cu[A-Z][A-Za-z0-9_]*")
_DF_TEXTREL, _DF_BIND_NOW, _DF_1_NOW, _DF_1_PIE = 0x4, 0x8, 0x1, 0x08000000


def is_elf(path: Path) -> bool:
    """Whether a file begins as an ELF file does."""
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def read_elf(path: Path, *, places: Sequence[str] = (), device: bool = True) -> ElfFacts:
    """Everything that the audit asks of one file.

    Args:
        path: the file.
        places: folders of the build machine to look for beside `PLACES`.
        device: also ask for device code.

    Raises:
        ElfUnreadable: it is no whole ELF file, or reading it takes too long.
        ToolMissing: cuobjdump is not there.
        DeviceCodeUnread: cuobjdump gives no answer.
    """
    content = path.read_bytes()
    try:
        return _Reader(path, content).facts(places, device=device)
    except SpeedforkError:
        raise
    except Exception as bad:  # a stranger's bytes: the library raises whatever its parser meets
        raise ElfUnreadable(
            f"{path.name}: not a whole ELF file: {type(bad).__name__} {plain(str(bad))}"[:300]
        ) from bad


class _Reader:
    """One open file; the loader's table by tag."""

    def __init__(self, path: Path, content: bytes) -> None:
        self._path = path
        self._content = content
        self._elf = elf = ELFFile(BytesIO(content))
        self._until = time.monotonic() + READ_LIMIT_S
        if not elf["e_shnum"]:
            raise ElfUnreadable(f"{path.name}: no table of sections, so nobody can say what it needs")
        self._sections = tuple(self._some(elf.iter_sections()))
        self._names = {section.name for section in self._sections}
        self._segments = tuple(self._some(elf.iter_segments()))
        self._dynamic = self._read_dynamic()

    def _some(self, entries: Iterable[T], limit: int = 0) -> Iterator[T]:
        """The entries of a table that has an end within reason."""
        limit = limit or TABLE_LIMIT
        for at, entry in enumerate(entries):
            if at >= limit:
                raise ElfUnreadable(f"{self._path.name}: a table of more than {limit} entries")
            if time.monotonic() > self._until:
                raise ElfUnreadable(f"{self._path.name}: reading it takes longer than {READ_LIMIT_S:.0f} s")
            yield entry

    def _read_dynamic(self) -> dict[str, list[DynamicTag]]:
        found: dict[str, list[DynamicTag]] = {}
        for table in self._segments:
            for tag in self._some(table.iter_tags()) if isinstance(table, DynamicSegment) else ():
                found.setdefault(str(tag.entry.d_tag), []).append(tag)
        return found

    def facts(self, places: Sequence[str], *, device: bool) -> ElfFacts:
        interpreter = self._interpreter()
        soname = self._text("DT_SONAME") or ""
        fixed = self._elf["e_type"] == "ET_EXEC"
        marked = bool(self._number("DT_FLAGS_1") & _DF_1_PIE)
        return ElfFacts(
            machine="x64" if self._is_x64() else str(self._elf["e_machine"]),
            program=fixed or marked or bool(interpreter and not soname),
            interpreter=interpreter,
            soname=soname,
            needed=self._texts("DT_NEEDED"),
            rpath=self._text("DT_RPATH"),
            runpath=self._text("DT_RUNPATH"),
            versions=tuple(self._versions()),
            relro=self._relro(),
            executable_stack=self._executable_stack(),
            text_relocations="DT_TEXTREL" in self._dynamic or bool(self._number("DT_FLAGS") & _DF_TEXTREL),
            position_independent=not fixed,
            stripped=not any(name == ".symtab" or name.startswith(".debug_") for name in self._names),
            driver_functions=tuple(islice(self._driver_functions(), NAMED)),
            paths=leaked_paths(self._content, places),
            device=self._device() if device else None,
        )

    def _is_x64(self) -> bool:
        return bool(self._elf["e_machine"] == "EM_X86_64" and self._elf.elfclass == 64)

    def _interpreter(self) -> str:
        named = next((segment for segment in self._segments if isinstance(segment, InterpSegment)), None)
        return plain(str(named.get_interp_name())) if named else ""

    def _text(self, tag: str) -> str | None:
        """Several of one kind joined: which of them a loader takes is not for us to say."""
        return ":".join(self._texts(tag)) if tag in self._dynamic else None

    def _texts(self, tag: str) -> tuple[str, ...]:
        attribute = tag.removeprefix("DT_").lower()
        return tuple(plain(str(getattr(entry, attribute))) for entry in self._dynamic.get(tag, ()))

    def _number(self, tag: str) -> int:
        return int(self._dynamic[tag][0].entry.d_val) if tag in self._dynamic else 0

    def _relro(self) -> Relro:
        if not any(segment["p_type"] == "PT_GNU_RELRO" for segment in self._segments):
            return "none"
        now = self._number("DT_FLAGS") & _DF_BIND_NOW or self._number("DT_FLAGS_1") & _DF_1_NOW
        return "full" if now or "DT_BIND_NOW" in self._dynamic else "partial"

    def _executable_stack(self) -> bool:
        """A file that does not say gets a stack that can run code."""
        said = [segment["p_flags"] for segment in self._segments if segment["p_type"] == "PT_GNU_STACK"]
        return not said or any(flags & 1 for flags in said)

    def _versions(self) -> Iterator[SymbolVersion]:
        """By kind of section, not by its name: the loader does not look at names."""
        tables = [section for section in self._sections if isinstance(section, GNUVerNeedSection)]
        asked, listed = self._number("DT_VERNEEDNUM"), sum(table.num_versions() for table in tables)
        if asked != listed:
            raise ElfUnreadable(f"{self._path.name}: asks {asked} libraries for symbol versions and lists {listed}")
        users = self._users_of_versions()
        every = (
            (library, version) for table in tables for library, some in table.iter_versions() for version in some
        )
        for library, version in self._some(every, VERSION_LIMIT):
            symbol = users.get(version.entry.vna_other, "")
            yield SymbolVersion(library=plain(library.name or ""), version=plain(version.name), symbol=plain(symbol))

    def _users_of_versions(self) -> dict[object, str]:
        """Version number -> the first symbol of another library that has it."""
        users: dict[object, str] = {}
        for numbers in (section for section in self._sections if isinstance(section, GNUVerSymSection)):
            for at, symbol in enumerate(self._symbols()):
                if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name:
                    users.setdefault(numbers.get_symbol(at)["ndx"], symbol.name)
        return users

    def _symbols(self) -> Iterator[Symbol]:
        for table in self._sections:
            if isinstance(table, SymbolTableSection) and table["sh_type"] == "SHT_DYNSYM":
                yield from self._some(table.iter_symbols())

    def _driver_functions(self) -> Iterator[str]:
        for symbol in self._symbols():
            if symbol["st_shndx"] != "SHN_UNDEF" and _DRIVER_FUNCTION.fullmatch(symbol.name):
                yield symbol.name

    def _device(self) -> DeviceCode:
        size = sum(int(section["sh_size"]) for section in self._sections if section.name == UNITS_SECTION)
        expected = not self._names.isdisjoint(DEVICE_SECTIONS)
        return _ask_cuobjdump(self._path, units=size // UNIT_SIZE, sections=expected)


def plain(text: str) -> str:
    """A stranger's words without what a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def leaked_paths(content: bytes, places: Sequence[str] = ()) -> tuple[str, ...]:
    """Distinct strings below `PLACES` and `places`, the first few; the folder alone, such as `/tmp/`, is none."""
    roots = b"|".join(re.escape(place.encode()) for place in (*PLACES, *places))
    pattern = re.compile(rb"(?<![\w.~/-])(?:" + roots + rb")/[\w.+-][\x21-\x7e]{0,200}")
    found: dict[str, None] = {}
    for match in pattern.finditer(content):
        found[match[0].decode("ascii", "replace")] = None
        if len(found) == NAMED:  # a stranger's file may have millions
            break
    return tuple(found)


def _ask_cuobjdump(path: Path, *, units: int, sections: bool) -> DeviceCode:
    """Device code of every kind: without `-all` the tool passes over code that waits for a device linker."""
    argv = (cuobjdump(), "-all", "--list-elf", "--list-ptx", path.absolute())
    try:
        done = run(argv, ok_codes=(*range(-64, 256),), timeout=TOOL_LIMIT_S)
    except CommandFailed as late:
        raise ElfUnreadable(f"{path.name}: {late.message}") from late
    err = done.stderr.decode("utf-8", "replace")
    return parse_listing(done.code, done.text, err, units=units, sections=sections)


def cuobjdump() -> Path:
    """The program in its wheel, whatever is on PATH.

    Raises:
        ToolMissing: the wheel is not installed, or not whole.
    """
    hint = f"pip install {WHEEL}  # it belongs to the project's own packages"
    try:
        wheel = distribution(WHEEL)
    except PackageNotFoundError as missing:
        raise ToolMissing(f"the package {WHEEL} is not installed", hint=hint) from missing
    for file in wheel.files or ():
        path = Path(str(wheel.locate_file(file)))
        if path.name == "cuobjdump" and path.is_file():
            return path
    raise ToolMissing(f"the package {WHEEL} holds no program cuobjdump", hint=hint)


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
            for section in islice(ELFFile(stream).iter_sections(), TABLE_LIMIT):
                seen[section.name] += 1
                name = section.name if seen[section.name] == 1 else f"{section.name} ({seen[section.name]})"
                stored = section["sh_type"] not in ("SHT_NOBITS", "SHT_NULL")
                found[name] = Section(offset=section["sh_offset"], size=section["sh_size"], stored=stored)
    except OSError:
        raise
    except Exception:  # noqa: BLE001 - as in `read_elf`; whoever compares goes on byte by byte
        return {}
    return found
