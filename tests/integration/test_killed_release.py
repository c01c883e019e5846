"""SIGKILL while a release is packed, tried or written: the next run ends with the same files."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from ci.builds.package import SUMS_FILE, read_sums, verify_sums
from ci.files import read_json
from ci.home import Home
from ci.process import Running, run, scrubbed_env
from tests.helpers.made_release import RELEASE, made_context, made_home, make_release

ROOT = Path(__file__).parents[2]
MOMENTS = {
    "packing the sources": "checkout/out/release/*/.*-source.tar.gz.*.part",
    "trying an archive": "state/scratch/smoke-*/smoke-*.log",
    "writing the report": "checkout/out/release/*/manifest.json",
}
"""What is there to be seen, as a pattern below the test's folder, while the work is going on."""


def argv(root: Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "tests.helpers.made_release", str(root))


def env() -> dict[str, str]:
    return scrubbed_env(extra={"PYTHONPATH": str(ROOT)})


def folder_of(home: Home) -> Path:
    return home.out / "release" / RELEASE


def content_of(home: Home) -> tuple[str, dict[str, str]]:
    """What must be the same however often the work was killed: the fixed part's digest and the archives' sums."""
    folder = folder_of(home)
    sums = {name: digest for name, digest in read_sums(folder / SUMS_FILE).items() if name.endswith(".tar.gz")}
    return str(read_json(folder / "manifest.json")["fixed_digest"]), sums


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, str]]:
    return content_of(make_release(tmp_path_factory.mktemp("undisturbed")).home)


def kill_at(moment: str, root: Path, log: Path) -> None:
    with Running(argv(root), env=env(), log=log) as program:
        until = time.monotonic() + 60
        while not next(root.glob(moment), None):
            assert program.exit_code() is None, program.log_tail()
            assert time.monotonic() < until
            time.sleep(0.002)
        os.kill(program.pid, signal.SIGKILL)


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
def test_the_next_run_ends_with_the_same_release(
    tmp_path: Path, undisturbed: tuple[str, dict[str, str]], moment: str
) -> None:
    root = tmp_path / "made"
    made_context(root)
    kill_at(moment, root, tmp_path / "log")
    home = made_home(root)
    assert not (folder_of(home) / SUMS_FILE).exists()  # unfinished, and it looks so
    run(argv(root), env=env())
    assert content_of(home) == undisturbed
    names = set(verify_sums(folder_of(home)))
    assert {path.name for path in folder_of(home).iterdir()} == {*names, SUMS_FILE}
