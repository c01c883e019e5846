"""The wrapper on machines that lack something: a clear word, exit code 6, nothing half made left."""

import os
import shutil
from pathlib import Path

import pytest

from ci.process import Completed, run, scrubbed_env

ROOT = Path(__file__).parents[2]
TOOLS = ("dirname", "rm", "sh", "touch")


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH with nothing but what the wrapper itself needs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        (folder / name).symlink_to(str(shutil.which(name)))
    return folder


def noxw(tools: Path, state: Path, **env: str) -> Completed:
    """Run a copy of the wrapper, so that a fault in it cannot touch the checkout's own state."""
    script = tools.parent / "noxw"
    shutil.copy(ROOT / "noxw", script)
    extra = {"PATH": str(tools), "SPEEDFORK_HOME": str(state), **env}
    return run(("/bin/sh", script, "--list"), env=scrubbed_env(extra=extra), ok_codes=(6,))


def fake_python(tools: Path, script: str) -> None:
    python = tools / "python3"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)


def test_without_python_it_says_what_to_install(tools: Path, tmp_path: Path) -> None:
    done = noxw(tools, tmp_path / "state")
    assert b"Python 3.11 or newer is needed. Next: apt-get install python3 python3-venv" in done.stderr


def test_an_old_python_is_passed_over(tools: Path, tmp_path: Path) -> None:
    fake_python(tools, "exit 1")
    assert b"Python 3.11 or newer" in noxw(tools, tmp_path / "state").stderr


def test_without_venv_it_says_what_to_install(tools: Path, tmp_path: Path) -> None:
    fake_python(tools, '[ "$1" = -c ] && exit 0; exit 1')
    done = noxw(tools, tmp_path / "state")
    assert b"cannot create a virtual environment. Next: apt-get install python3-venv" in done.stderr
    assert not list((tmp_path / "state").glob("noxw/*"))


def test_without_an_index_it_points_at_pips_settings(tools: Path, tmp_path: Path) -> None:
    (tools / "python3").symlink_to(str(shutil.which("python3")))
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}
    done = noxw(tools, tmp_path / "state", **nowhere)
    assert b"nox could not be installed. Next: check the network and pip's index settings" in done.stderr
    assert not list((tmp_path / "state").glob("noxw/*/ready"))
