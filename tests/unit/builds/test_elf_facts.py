"""What `cuobjdump` says of device code: recorded words of release 13.5.37, and silence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.builds.elf_facts import DeviceCode, parse_listing
from ci.errors import DeviceCodeUnread, ElfUnreadable

NO_PTX = "cuobjdump info    : No PTX file found to extract from '/x/a.so'. You may try with -all option.\n"
NO_ELF = NO_PTX.replace("PTX", "ELF")
NOTHING = "cuobjdump info    : File '/x/llama-server' does not contain device code\n"
MULTI = (
    "ELF file    1: multi.1.sm_75.cubin\nELF file    2: multi.2.sm_120a.cubin\n"
    "ELF file    3: multi.3.sm_75.cubin\nPTX file    1: multi.1.sm_86.ptx\n"
)


def parsed(code: int, out: str = "", err: str = "", *, sections: bool = True) -> DeviceCode:
    return parse_listing(code, out, err, units=2, sections=sections)


def test_images_are_counted_by_architecture() -> None:
    expected = DeviceCode(sass=(("sm_120a", 1), ("sm_75", 2)), ptx=(("compute_86", 1),), units=2)
    assert parsed(0, MULTI) == expected


def test_many_images_and_no_ptx() -> None:
    out = "".join(f"ELF file {number:4}: libggml-cuda.{number}.sm_75.cubin\n" for number in range(1, 1200))
    assert parsed(0, out, NO_PTX).sass == (("sm_75", 1199),)


def test_ptx_only() -> None:
    code = parsed(0, "PTX file    1: p120a.1.sm_120a.ptx\n", NO_ELF)
    assert (code.sass, code.ptx) == ((), (("compute_120a", 1),))


def test_a_file_name_does_not_count_as_an_architecture() -> None:
    assert parsed(0, "ELF file    1: a.9.sm_120a.cubin.1.sm_75.cubin\n", NO_PTX).sass == (("sm_75", 1),)


def test_a_file_without_device_code() -> None:
    assert not parsed(255, "", NOTHING, sections=False)


def test_no_device_code_in_a_file_that_has_a_section_for_it_is_no_answer() -> None:
    with pytest.raises(ElfUnreadable, match="section for device code"):
        parsed(255, "", NOTHING, sections=True)


@pytest.mark.parametrize("code", [0, 1, 255])
def test_silence_is_an_error(code: int) -> None:
    with pytest.raises(DeviceCodeUnread, match="nothing"):
        parsed(code)


def test_a_section_without_any_image_is_no_answer() -> None:
    with pytest.raises(ElfUnreadable, match="finds none in it"):
        parsed(0, "", NO_PTX + NO_ELF)


@pytest.mark.parametrize("err", [NO_PTX, NO_ELF, NO_PTX + NO_PTX, NO_PTX + NO_ELF + NO_ELF])
def test_half_a_denial_is_none(err: str) -> None:
    with pytest.raises(DeviceCodeUnread):
        parsed(0, "", err, sections=False)


@pytest.mark.parametrize(
    ("code", "err"),
    [
        (1, "cuobjdump fatal   : Invalid fatbin header in '/x/a.so'\n"),
        (-11, ""),
        (1, "cuobjdump fatal   : Uncompress failed"),
    ],
)
def test_a_file_that_the_tool_gives_up_on(code: int, err: str) -> None:
    with pytest.raises(ElfUnreadable, match="gives up"):
        parsed(code, "ELF file    1: a.1.sm_75.cubin\n", err)


@pytest.mark.parametrize(
    ("code", "out", "err"),
    [
        (0, "ELF file    1: a.1.sm_75.cubin\nwhat is this\n", ""),
        (0, "ELF file    1: a.1.gfx90a.cubin\n", ""),
        (0, "ELF file    1: a.1.sm_75.cubin\n", "cuobjdump warning : something new\n"),
        (2, "ELF file    1: a.1.sm_75.cubin\n", ""),
        (0, NOTHING, ""),
    ],
)
def test_other_words_are_an_error(code: int, out: str, err: str) -> None:
    with pytest.raises(DeviceCodeUnread):
        parsed(code, out, err)


@given(st.integers(-64, 255), st.text(), st.text(), st.booleans())
def test_any_words_are_an_answer_or_one_of_two_errors(code: int, out: str, err: str, sections: bool) -> None:
    try:
        found = parse_listing(code, out, err, units=1, sections=sections)
    except (DeviceCodeUnread, ElfUnreadable):
        return
    assert found or not sections
