"""SIGKILL at any moment: the next run continues and ends with the same files."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from ci.files import sha256_file
from ci.process import Running, run, scrubbed_env

ROOT = Path(__file__).parents[2]

SCRIPT = '''
"""Three stages that take a moment and make files; prints the stages that ran."""
import sys, time
from pathlib import Path
from ci.config import Model
from ci.console import Console
from ci.files import exclusive, staged_dir, write_atomic
from ci.home import Home
from ci.pipeline import run_pipeline
from ci.stage import Context, Options, Stage, StageResult

class Made(Model):
    path: str

def stage(name):
    class Value(Made):
        pass
    def run(context):
        final = context.home.out / name
        with staged_dir(final) as folder:
            for number in range(20):
                write_atomic(folder / str(number), (name * 1000 + str(number)).encode())
                time.sleep(0.01)
        return StageResult(value=Value(path=str(final)), made=tuple(sorted(final.iterdir())))
    return Stage(name=name, about=name, value=Value, plan=lambda _: {"name": name}, run=run)

root = Path(sys.argv[1])
home = Home(root=root / "state", checkout=root)
with exclusive(home.lock):
    context = run_pipeline([stage(n) for n in "abc"], Context(home=home, console=Console(), options=Options()))
print("".join(o.stage for o in context.outcomes if o.status.value == "done"))
'''


@pytest.fixture
def argv(tmp_path: Path) -> tuple[str, ...]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    return (sys.executable, str(script), str(tmp_path / "work"))


def env() -> dict[str, str]:
    return scrubbed_env(extra={"PYTHONPATH": str(ROOT)})


def digests(root: Path) -> dict[str, str]:
    out = root / "work" / "out"
    return {str(path.relative_to(out)): sha256_file(path) for path in sorted(out.rglob("*")) if path.is_file()}


def kill_when(argv: tuple[str, ...], log: Path, seen: Path, after: float) -> None:
    with Running(argv, env=env(), log=log) as program:
        while not seen.exists() and program.exit_code() is None:
            time.sleep(0.005)
        time.sleep(after)
        if program.exit_code() is None:
            os.kill(program.pid, signal.SIGKILL)


@pytest.mark.parametrize(("stage", "after"), [("a", 0.05), ("b", 0.0), ("b", 0.15), ("c", 0.05)])
def test_the_next_run_continues_and_ends_the_same(
    argv: tuple[str, ...], tmp_path: Path, stage: str, after: float
) -> None:
    out = tmp_path / "work" / "out"
    before = {"a": tmp_path / "work", "b": out / "a", "c": out / "b"}[stage]
    kill_when(argv, tmp_path / "log", before, after)
    left = run(argv, env=env()).text
    whole = digests(tmp_path)
    assert len(whole) == 60
    assert left == "abc"[len("abc") - len(left) :]
    assert run(argv, env=env()).text == ""
    assert digests(tmp_path) == whole
