"""Device code against the promise: which cards, in which file, in every unit."""

from dataclasses import replace

import pytest

from ci.builds.audit.device import ptx, sass
from ci.builds.elf_facts import DeviceCode
from ci.builds.target import Target
from ci.outcome import Verdict
from tests.helpers.bundles import PROMISE, TARGET, sound, strange, the, verdict_of, with_elf

CUDA = "libggml-cuda.so"


def code(*archs: str, count: int = 144, ptx: tuple[str, ...] = ()) -> DeviceCode:
    return DeviceCode(sass=tuple((a, count) for a in archs), ptx=tuple((a, 1) for a in ptx), units=144)


def promising(*archs: str, ptx: tuple[str, ...] = ()) -> Target:
    return replace(TARGET, promise=replace(PROMISE, sass=archs, ptx=ptx))


def test_exactly_the_promised_code() -> None:
    (finding,) = sass(sound())
    assert finding.verdict is Verdict.PASS
    assert finding.found == "libggml-cuda.so: sm_75 x144"
    assert verdict_of(ptx(sound())) is Verdict.PASS


@pytest.mark.parametrize(
    ("promised", "device", "words"),
    [
        (("sm_120a",), code("sm_120"), "missing: sm_120a; too much: sm_120"),
        (("sm_120",), code("sm_120a"), "missing: sm_120; too much: sm_120a"),
        (("sm_120a",), code("sm_121a"), "missing: sm_120a; too much: sm_121a"),
        (("sm_75",), code("sm_75", "sm_52"), "too much: sm_52"),
        (("sm_75", "sm_120a"), code("sm_75", "sm_120"), "missing: sm_120a; too much: sm_120"),
        (("sm_75", "sm_120a"), code("sm_75"), "missing: sm_120a"),
    ],
)
def test_another_set_of_cards(promised: tuple[str, ...], device: DeviceCode, words: str) -> None:
    bundle = replace(with_elf(CUDA, device=device), target=promising(*promised))
    finding = the(sass(bundle))
    assert finding.file == CUDA
    assert finding.words == words
    assert finding.expected == " ".join(promised)
    assert all(arch in finding.found for arch, _ in device.sass)


def test_one_unit_without_its_image() -> None:
    finding = the(sass(with_elf(CUDA, device=replace(code("sm_75", count=143)))))
    assert (finding.found, finding.expected) == ("sm_75 in 143 images", "one in each of 144 compiled units")


def test_two_cards_of_which_one_lacks_an_image() -> None:
    device = DeviceCode(sass=(("sm_120a", 143), ("sm_75", 144)), units=144)
    bundle = replace(with_elf(CUDA, device=device), target=promising("sm_75", "sm_120a"))
    assert the(sass(bundle)).found == "sm_120a in 143 images"


def test_a_file_that_does_not_say_its_units_is_unproven() -> None:
    finding = the(sass(with_elf(CUDA, device=DeviceCode(sass=(("sm_75", 144),)))), Verdict.UNPROVEN)
    assert "how many units" in finding.words


def test_ptx_alone_is_no_machine_code() -> None:
    bundle = with_elf(CUDA, device=code(ptx=("compute_75",)))
    assert the(sass(bundle)).found == "PTX only: compute_75 x1"
    assert the(ptx(bundle)).found == "compute_75 x1"


def test_no_device_code_anywhere() -> None:
    finding = the(sass(with_elf(CUDA, device=DeviceCode())))
    assert finding.found == "no device code anywhere"


def test_a_second_library_is_judged_too() -> None:
    bundle = with_elf("libextra.so", device=code("sm_86"))
    assert the(sass(bundle)).file == "libextra.so"


def test_a_file_that_nobody_looked_at_is_unproven() -> None:
    bundle = with_elf("libextra.so", device=None)
    assert the(sass(bundle), Verdict.UNPROVEN).file == "libextra.so"
    assert the(ptx(bundle), Verdict.UNPROVEN).file == "libextra.so"


def test_a_target_without_cards_carries_no_device_code() -> None:
    target = promising()
    assert the(sass(sound(target=target))).found == "sm_75 x144"
    assert the(sass(replace(with_elf(CUDA, device=code(ptx=("compute_75",))), target=target))).expected == "none"
    assert verdict_of(sass(replace(with_elf(CUDA, device=DeviceCode()), target=target))) is Verdict.PASS


def test_ptx_beside_machine_code_is_too_much() -> None:
    finding = the(ptx(with_elf(CUDA, device=code("sm_75", ptx=("compute_75",)))))
    assert (finding.file, finding.found, finding.expected) == (CUDA, "compute_75 x1", "none")


def test_promised_ptx_must_be_there() -> None:
    target = promising("sm_75", ptx=("compute_75",))
    both = with_elf(CUDA, device=code("sm_75", ptx=("compute_75",)))
    assert verdict_of(ptx(replace(both, target=target))) is Verdict.PASS
    assert the(ptx(sound(target=target))).found == "none"
    assert the(ptx(replace(with_elf(CUDA, device=DeviceCode()), target=target))).found == "no device code"


def test_a_stranger_gets_figures() -> None:
    bundle = strange(with_elf(CUDA, device=code("sm_75", ptx=("compute_120",))))
    assert the(sass(bundle), Verdict.UNPROVEN).found == "libggml-cuda.so: sm_75 x144"
    finding = the(ptx(bundle), Verdict.UNPROVEN)
    assert finding.found == "libggml-cuda.so: compute_120 x1"
    assert "wait for the driver's compiler" in finding.words
