import os
import signal
import sys
import time
from pathlib import Path

import pytest

from ci.errors import CommandFailed, DiskFull, ToolMissing
from ci.process import GUARD, Running, find_tool, run, scrubbed_env
from tests.helpers.programs import alive, python, wait_gone


def test_output_and_code_come_back() -> None:
    done = run(python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"), ok_codes=(3,))
    assert (done.code, done.text, done.stderr) == (3, "out", b"err\n")


def test_an_unexpected_code_quotes_command_and_output() -> None:
    with pytest.raises(CommandFailed, match=r"exit code 7 .*(?s:.)*the reason"):
        run(python("import sys; print('the reason', file=sys.stderr); sys.exit(7)"))


@pytest.mark.parametrize("words", ["write: No space left on device", "fatal: cannot pwrite: Out of diskspace"])
def test_a_full_disk_is_named_as_such(words: str) -> None:
    with pytest.raises(DiskFull):
        run(python(f"import sys; print({words!r}, file=sys.stderr); sys.exit(1)"))


def test_a_missing_program_is_named() -> None:
    with pytest.raises(ToolMissing, match="no-such-program"):
        run(("no-such-program",))
    with pytest.raises(ToolMissing, match="no-such-program"):
        find_tool("no-such-program")


def test_words_are_passed_unchanged_without_a_shell() -> None:
    nasty = "$(touch x); `id` && * \n'\""
    assert run((sys.executable, "-c", "import sys; sys.stdout.write(sys.argv[1])", nasty)).stdout.decode() == nasty


def test_secrets_do_not_reach_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "s3cret")
    assert "s3cret" not in run(python("import os; print(dict(os.environ))")).text
    assert scrubbed_env({"PATH": "p", "GITHUB_TOKEN": "t"}, extra={"A": "b"}) == {"PATH": "p", "A": "b"}


def test_lines_arrive_as_they_come_with_errors_folded_in() -> None:
    lines: list[str] = []
    code = "import sys; print('a', flush=True); print('b', file=sys.stderr, flush=True); print('c')"
    run(python(code), on_line=lines.append)
    assert lines == ["a", "b", "c"]


@pytest.mark.parametrize("streaming", [False, True])
def test_a_deadline_stops_the_program(streaming: bool) -> None:
    with pytest.raises(CommandFailed):
        run(python("import time; time.sleep(60)"), timeout=0.3, on_line=(lambda _: None) if streaming else None)


def test_running_stops_a_child_and_its_grandchild(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with Running(python(code), env=scrubbed_env(), log=tmp_path / "log") as program:
        while not program.log_tail():
            time.sleep(0.02)
        grandchild = int(program.log_tail())
        assert alive(grandchild)
        assert program.exit_code() is None
    assert wait_gone(grandchild)
    assert not alive(program.pid)


def test_children_end_when_we_are_killed(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    inner = f"import os, time, pathlib; pathlib.Path({str(pid_file)!r}).write_text(str(os.getpid())); time.sleep(60)"
    outer = f"import sys; from ci.process import run; run((sys.executable, '-c', {inner!r}))"
    env = scrubbed_env(extra={"PYTHONPATH": str(Path(__file__).parents[2])})
    with Running(python(outer), env=env, log=tmp_path / "log") as program:
        while not (pid_file.is_file() and pid_file.read_text()):
            time.sleep(0.02)
        child = int(pid_file.read_text())
        os.kill(program.pid, signal.SIGKILL)
        assert wait_gone(child)


def test_a_program_whose_starter_has_gone_does_not_start() -> None:
    guard = (sys.executable, "-I", "-S", "-c", GUARD)
    program = (sys.executable, "-c", "print('started')")
    ours = run((*guard, str(os.getpid()), *program))  # setpriv becomes the guard: its parent is this process
    assert ours.text == "started"
    orphan = run((*guard, "1", *program), ok_codes=(143,))
    assert orphan.stdout == b""
