"""Prepared from the real builds, run by the carried script: everything up to the card, which the test takes away."""

import os
import platform
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from ci.builds.arch import plan_archs
from ci.builds.store import Build
from ci.builds.target import Target
from ci.console import Console
from ci.errors import CommandFailed
from ci.files import read_json
from ci.gpu import carry
from ci.gpu.carry import fetch_wheels, read_answer, read_prepared
from ci.gpu.manifest import RESULT_FILE, SCRIPT
from ci.home import Home
from ci.models.exact_pair import SMALL, ensure_pair
from ci.process import run, scrubbed_env
from ci.verbs import gpu_check
from ci.verbs.gpu_check import Request, collect, prepare_folder, run_here
from tests.conftest import CHECKOUT
from tests.helpers.fake_smi import H200, fake_smi

AIM = Target(name="cpu", platform="x64", programs=("llama-server",), options=(), archs=plan_archs("90-real"))
FAILED = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", checkout=CHECKOUT)


@pytest.fixture
def prepared(
    tmp_path: Path, home: Home, stock_build: Build, speed_build: Build, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The real builds, a small pair for a model, and this environment's packages by reference."""
    wheel = tmp_path / "here-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("here.pth", sysconfig.get_path("purelib"))
    monkeypatch.setattr(gpu_check, "fetch_wheels", lambda python, into: (wheel,))
    monkeypatch.setattr(gpu_check, "model_files", small_pair)
    named = {"stock": str(stock_build.path), "speed": str(speed_build.path)}
    asked = Request(out=str(tmp_path / "prepared"), python=platform.python_version(), **named)
    assert prepare_folder(home, Console(), asked, AIM) == 0
    return tmp_path / "prepared"


def small_pair(home: Home, console: Console) -> dict[str, Path]:
    folder = ensure_pair(home, SMALL, console).dir
    return {f"home/{path.relative_to(home.root)}": path for path in folder.iterdir()}


def test_everything_up_to_the_missing_card(
    tmp_path: Path, home: Home, prepared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", fake_smi(tmp_path / "bin", FAILED, code=9) + ":" + os.environ["PATH"])
    assert run_here(home, Console(), str(prepared)) == 5
    said = capsys.readouterr().out
    assert said.splitlines()[-1].startswith("gpu_check=UNPROVEN card: ")
    assert "couldn't communicate with the NVIDIA driver" in said
    answer, gates = read_answer(prepared / "results", prepared)
    assert {gate.gate for gate in gates if gate.verdict.value == "PASS"} == {"builds"}
    assert "not begun: card is UNPROVEN" in answer.stopped
    assert collect(home, Console(), str(prepared / "results"), str(prepared)) == 5


def test_a_card_that_only_nvidia_smi_knows_of_proves_nothing(
    tmp_path: Path, home: Home, prepared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", fake_smi(tmp_path / "bin", H200) + ":" + os.environ["PATH"])
    assert run_here(home, Console(), str(prepared)) == 5
    gates = {gate["gate"]: gate for gate in read_json(prepared / "results" / RESULT_FILE)["gates"]}
    assert gates["card"]["verdict"] == "PASS"
    assert gates["device"]["verdict"] == "UNPROVEN"


def test_a_damaged_part_is_found_before_anything_starts(prepared: Path) -> None:
    last = read_prepared(prepared).parts[-1].name
    with (prepared / last).open("ab") as file:
        file.write(b"x")
    argv: tuple[str | Path, ...] = (sys.executable, prepared / SCRIPT)
    done = run(argv, env=scrubbed_env(), ok_codes=(5,))
    assert f"{last}: not the file that was prepared" in done.text
    assert not (prepared / "results").exists()


# ---- wheels ------------------------------------------------------------------------------------------------------


def tiny_wheel(folder: Path, name: str) -> None:
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


def test_wheels_come_through_pip_and_large_packages_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_wheel(tmp_path, "tinything")
    monkeypatch.setattr(carry, "PACKAGES", ("tinything",))
    environ = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    found = fetch_wheels("3.12", tmp_path / "wheels", environ)
    assert [path.name for path in found] == ["tinything-1.0-py3-none-any.whl"]
    monkeypatch.setattr(carry, "NOT_CARRIED", ("tiny",))
    assert fetch_wheels("3.12", tmp_path / "again", environ) == ()


def test_a_package_without_a_wheel_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carry, "PACKAGES", ("nothinglikeit",))
    with pytest.raises(CommandFailed, match="nothinglikeit"):
        fetch_wheels("3.12", tmp_path / "wheels", {**os.environ, "PIP_NO_INDEX": "1"})
