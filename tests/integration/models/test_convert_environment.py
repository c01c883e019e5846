"""The converter's environment made by the real venv and pip, of a package that takes no time."""

import os
import signal
import sys
import time
import zipfile
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import EnvironmentProblem
from ci.home import Home
from ci.models.convert.environment import ensure_environment, environment_of
from ci.process import Running, run, scrubbed_env

ROOT = Path(__file__).parents[3]
MEMBERS = {
    "tinypack.py": "VALUE = 7\n",
    "tinypack-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: tinypack\nVersion: 1\n",
    "tinypack-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "tinypack-1.dist-info/RECORD": "",
}
MAKE = """
import sys
from pathlib import Path
from ci.console import Console
from ci.home import Home
from ci.models.convert.environment import ensure_environment
ensure_environment(Home(root=Path(sys.argv[1]), checkout=Path(sys.argv[1])), Console(), file=Path(sys.argv[2]))
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", checkout=tmp_path)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """pip's settings: one folder with one wheel, no index."""
    (tmp_path / "wheels").mkdir()
    with zipfile.ZipFile(tmp_path / "wheels" / "tinypack-1-py3-none-any.whl", "w") as wheel:
        for name, text in MEMBERS.items():
            wheel.writestr(name, text)
    settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheels"), "PIP_CONFIG_FILE": os.devnull}
    return {"PATH": os.environ["PATH"], **settings}


def recipe(tmp_path: Path, *requirements: str, module: str = "tinypack") -> Path:
    sizes = "download_mb = 1\ndownload_with_cuda_mb = 1\ndisk_mb = 1\n"
    path = tmp_path / "converter.toml"
    path.write_text(f"requirements = {list(requirements)}\nmodules = ['{module}']\n{sizes}")
    return path


def test_it_is_made_once_and_works_where_it_was_moved_to(home: Home, environ: dict[str, str], tmp_path: Path) -> None:
    file = recipe(tmp_path, "tinypack==1")
    made = ensure_environment(home, Console(), environ=environ, file=file)
    assert run((made.python, "-c", "import tinypack; print(tinypack.VALUE)")).text == "7"
    assert [path.name for path in made.folder.parent.iterdir() if path.is_dir()] == [made.folder.name]
    assert ensure_environment(home, Console(), environ={}, file=file) == made


def test_a_package_that_pip_does_not_find_leaves_nothing(home: Home, environ: dict[str, str], tmp_path: Path) -> None:
    file = recipe(tmp_path, "tinypack==2")
    with pytest.raises(EnvironmentProblem, match="No matching distribution found for tinypack==2") as refused:
        ensure_environment(home, Console(), environ=environ, file=file)
    assert "pip config list" in refused.value.hint
    assert not [path for path in (home.root / "converter").iterdir() if path.is_dir()]


def test_a_killed_creation_leaves_no_environment(home: Home, tmp_path: Path) -> None:
    file, folder = recipe(tmp_path, "tinypack==1"), home.root / "converter"
    argv = (sys.executable, "-c", MAKE, str(home.root), str(file))
    with Running(argv, env=scrubbed_env(extra={"PYTHONPATH": str(ROOT)}), log=tmp_path / "log") as child:
        until = time.monotonic() + 60
        while not list(folder.glob(".*.part/pyvenv.cfg")):
            assert child.exit_code() is None, child.log_tail()
            assert time.monotonic() < until
            time.sleep(0.01)
        os.kill(child.pid, signal.SIGKILL)
    assert not environment_of(home, file).ready
    assert [path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")] == []
