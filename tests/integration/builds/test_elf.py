"""Facts of real programs and libraries, and of files that a stranger bent."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ci.builds import elf as module
from ci.builds.elf import cuobjdump, is_elf, leaked_paths, read_elf
from ci.builds.elf_facts import DeviceCode
from ci.errors import ElfUnreadable, ToolMissing
from tests.helpers.made_elf import SOUND, made_device_library, made_library, made_old_library, made_program

PIC_FREE = '__asm__(".text\\n.globl g\\ng: .quad g\\n");'


def test_a_sound_program(tmp_path: Path) -> None:
    facts = read_elf(made_program(tmp_path / "p"))
    assert facts.program
    assert facts.machine == "x64"
    assert facts.interpreter.startswith("/lib64/ld-linux")
    assert facts.needed == ("libc.so.6",)
    assert (facts.runpath, facts.rpath) == ("$ORIGIN", None)
    assert (facts.relro, facts.executable_stack, facts.text_relocations) == ("full", False, False)
    assert facts.position_independent
    assert facts.stripped
    assert facts.paths == facts.driver_functions == ()
    assert facts.device == DeviceCode()


def test_a_library(tmp_path: Path) -> None:
    facts = read_elf(made_library(tmp_path / "l.so", "int f(void) { return 1; }", soname="libl.so.1"))
    assert (facts.program, facts.soname) == (False, "libl.so.1")


@pytest.mark.parametrize(
    ("flags", "name", "value"),
    [
        (("-Wl,-z,norelro",), "relro", "none"),
        (("-Wl,-z,relro,-z,lazy",), "relro", "partial"),
        (("-Wl,-z,execstack",), "executable_stack", True),
        (("-no-pie",), "position_independent", False),
        (("-g",), "stripped", False),
        (("-Wl,-rpath,/opt/x:",), "runpath", "/opt/x:"),
        (("-Wl,--disable-new-dtags,-rpath,/opt/y",), "rpath", "/opt/y"),
    ],
)
def test_what_the_linker_did(tmp_path: Path, flags: tuple[str, ...], name: str, value: object) -> None:
    assert getattr(read_elf(made_program(tmp_path / "p", flags=flags)), name) == value


def test_text_relocations(tmp_path: Path) -> None:
    assert read_elf(made_library(tmp_path / "l.so", PIC_FREE, flags=("-Wl,-z,notext",))).text_relocations


def test_symbol_versions_with_the_symbol_that_needs_them(tmp_path: Path) -> None:
    old = made_old_library(tmp_path / "system", soname="libc.so.6", version="GLIBC_2.99", symbol="brand_new")
    source = "void brand_new(void); void g(void) { brand_new(); }"
    (version,) = read_elf(made_library(tmp_path / "l.so", source, flags=(*SOUND, "-nostdlib", str(old)))).versions
    assert (version.library, version.version, version.symbol) == ("libc.so.6", "GLIBC_2.99", "brand_new")


def test_driver_functions_that_it_defines(tmp_path: Path) -> None:
    source = "int cuMemCreate(void) { return 0; } int cudaMalloc(void) { return 0; } int cuInit(void);"
    assert read_elf(made_library(tmp_path / "l.so", source)).driver_functions == ("cuMemCreate",)


@pytest.mark.parametrize(
    ("units", "sass", "ptx"),
    [
        ((("sm_75",),), (("sm_75", 1),), ()),
        ((("sm_120",),), (("sm_120", 1),), ()),
        ((("sm_120a",), ("sm_120a",)), (("sm_120a", 2),), ()),
        ((("sm_75", "sm_120a"), ("sm_75",)), (("sm_120a", 1), ("sm_75", 2)), ()),
        ((("sm_75",), ("compute_75",)), (("sm_75", 1),), (("compute_75", 1),)),
        ((("compute_75",),), (), (("compute_75", 1),)),
    ],
)
def test_device_code(
    tmp_path: Path,
    units: tuple[tuple[str, ...], ...],
    sass: tuple[tuple[str, int], ...],
    ptx: tuple[tuple[str, int], ...],
) -> None:
    facts = read_elf(made_device_library(tmp_path / "libggml-cuda.so", *units))
    assert facts.device == DeviceCode(sass=sass, ptx=ptx, units=len(units))


def test_device_code_that_waits_for_a_device_linker(tmp_path: Path) -> None:
    facts = read_elf(made_device_library(tmp_path / "l.so", ("sm_75",), section="__nv_relfatbin"))
    assert facts.device == DeviceCode(sass=(("sm_75", 1),), units=1)


def test_a_section_for_device_code_with_something_else_in_it(tmp_path: Path) -> None:
    source = '__asm__(".section .nv_fatbin,\\"a\\"\\n.quad 0x1234567812345678\\n");'
    with pytest.raises(ElfUnreadable):
        read_elf(made_library(tmp_path / "l.so", source))


def test_the_device_code_of_other_makers_need_not_be_read(tmp_path: Path) -> None:
    assert read_elf(made_device_library(tmp_path / "l.so", ("sm_75",)), device=False).device is None


def test_paths_of_the_build_machine(tmp_path: Path) -> None:
    source = (
        'const char *a = "/src/ggml/ggml.c", *b = "/opt/mine/x", *c = "/tmp/", *d = "ggml/src/x", *e = "//home/x";'
    )
    library = made_library(tmp_path / "l.so", source)
    assert read_elf(library).paths == ("/src/ggml/ggml.c",)
    assert set(read_elf(library, places=("/opt/mine",)).paths) == {"/src/ggml/ggml.c", "/opt/mine/x"}


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"\0/home/me/a.c\0", ("/home/me/a.c",)),
        (b"-I/build/x/y -O2", ()),
        (b"at /root/x.cpp:12", ("/root/x.cpp:12",)),
        (b"https://host/build/x /v1/src/x ../src/x ~/src/x", ()),
        (b"/home/ /src /buildx/y", ()),
        (
            b"/src/a\0/src/a\0" + b"".join(b"/src/%d\0" % at for at in range(9)),
            ("/src/a", "/src/0", "/src/1", "/src/2", "/src/3"),
        ),
    ],
)
def test_what_counts_as_a_path(content: bytes, found: tuple[str, ...]) -> None:
    assert leaked_paths(content) == found


def test_what_begins_as_an_elf_file(tmp_path: Path) -> None:
    for name, content, expected in (("a", b"\x7fELF", True), ("b", b"#!/bin/sh", False), ("c", b"", False)):
        (tmp_path / name).write_bytes(content)
        assert is_elf(tmp_path / name) is expected


@pytest.mark.parametrize("keep", [4, 16, 63, 64, 1000, -1])
def test_a_cut_file(tmp_path: Path, keep: int) -> None:
    path = made_program(tmp_path / "p")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ElfUnreadable, match="p: "):
        read_elf(path)


def test_a_file_without_a_table_of_sections(tmp_path: Path) -> None:
    path = made_program(tmp_path / "p")
    content = bytearray(path.read_bytes())
    content[40:48], content[58:64] = bytes(8), bytes(6)
    path.write_bytes(content)
    with pytest.raises(ElfUnreadable, match="no table of sections"):
        read_elf(path)


def in_verneed(content: bytearray, field: int, value: int) -> None:
    """Change a number of four bytes in the header of the section that lists symbol versions."""
    start, size, count = (
        int.from_bytes(content[at : at + width], "little") for at, width in ((40, 8), (58, 2), (60, 2))
    )
    headers = (start + size * number for number in range(count))
    verneed = next(at for at in headers if content[at + 4 : at + 8] == (0x6FFFFFFE).to_bytes(4, "little"))
    content[verneed + field : verneed + field + 4] = value.to_bytes(4, "little")


@pytest.mark.parametrize(("field", "value"), [(4, 1), (44, 0), (44, 2), (44, 0x7FFFFFFF)])
def test_symbol_versions_that_are_not_all_listed(tmp_path: Path, field: int, value: int) -> None:
    path = made_program(tmp_path / "p")
    content = bytearray(path.read_bytes())
    in_verneed(content, field, value)  # the kind of the section, or how many libraries it is about
    path.write_bytes(content)
    with pytest.raises(ElfUnreadable, match="asks 1 libraries for symbol versions and lists"):
        read_elf(path)


def test_a_table_of_versions_without_an_end(tmp_path: Path) -> None:
    path = made_program(tmp_path / "p")
    many = 0x7FFFFFFF
    content = bytearray(path.read_bytes())
    in_verneed(content, 44, many)
    tag = content.index((0x6FFFFFFF).to_bytes(8, "little"))  # what the loader is told of the same
    content[tag + 8 : tag + 12] = many.to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(ElfUnreadable, match="more than 10000 entries"):
        read_elf(path)


def test_reading_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made_program(tmp_path / "p")
    monkeypatch.setattr(module, "READ_LIMIT_S", -1.0)
    with pytest.raises(ElfUnreadable, match="takes longer"):
        read_elf(path)


def test_a_table_that_is_too_long_hides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made_program(tmp_path / "p")
    monkeypatch.setattr(module, "TABLE_LIMIT", 20)
    with pytest.raises(ElfUnreadable, match="more than 20 entries"):
        read_elf(path)


def test_a_tool_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sleeper = tmp_path / "cuobjdump"
    sleeper.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    sleeper.chmod(0o755)
    monkeypatch.setattr(module, "cuobjdump", lambda: sleeper)
    monkeypatch.setattr(module, "TOOL_LIMIT_S", 0.2)
    with pytest.raises(ElfUnreadable, match="stopped after"):
        read_elf(made_program(tmp_path / "p"))


def test_the_tool_of_the_wheel() -> None:
    assert cuobjdump().is_file()


def test_a_missing_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WHEEL", "no-such-wheel-anywhere")
    with pytest.raises(ToolMissing, match="not installed"):
        read_elf(made_program(tmp_path / "p"))
    monkeypatch.setattr(module, "WHEEL", "pyelftools")
    with pytest.raises(ToolMissing, match="holds no program"):
        cuobjdump()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 20_000), st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF])), min_size=1, max_size=12)
)
def test_a_bent_file_gives_facts_or_one_error(bendable: Path, tmp_path: Path, bends: list[tuple[int, int]]) -> None:
    content = bytearray(bendable.read_bytes())
    for at, byte in bends:
        content[at % len(content)] = byte
    path = tmp_path / "bent"
    path.write_bytes(content)
    try:
        facts = read_elf(path, device=False)
    except ElfUnreadable:
        return
    assert all(text.isprintable() for text in (*facts.needed, facts.soname, facts.runpath or ""))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 600), st.integers(0, 255)), min_size=1, max_size=6))
def test_bent_device_code_gives_facts_or_one_error(cuda: Path, tmp_path: Path, bends: list[tuple[int, int]]) -> None:
    content = bytearray(cuda.read_bytes())
    start = content.index(b"\x50\xed\x55\xba")
    for at, byte in bends:
        content[start + at] = byte
    path = tmp_path / "bent"
    path.write_bytes(content)
    try:
        facts = read_elf(path)
    except ElfUnreadable:
        return
    assert facts.device, "it has a section for device code: none found is no answer"


@pytest.fixture(scope="module")
def bendable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_program(tmp_path_factory.mktemp("bend") / "p")


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_device_library(tmp_path_factory.mktemp("bend") / "l.so", ("sm_75",))
