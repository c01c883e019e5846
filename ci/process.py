"""The one door to other programs: argv sequences only, own process group, terminate then kill.

`run` waits for a program and returns what it said; `Running` holds a long-lived one (a server). `ci.dialogue` talks
with one while it runs.
"""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from ci.errors import CommandFailed, DiskFull, ToolMissing

TERM_GRACE_S = 10.0
NO_SPACE = ("No space left on device", "Out of diskspace", "Disk quota exceeded")
"""How programs say that a disk is full; the second is git's pack writer."""

GUARD = "import os, sys; os.getppid() == int(sys.argv[1]) or os._exit(143); os.execv(sys.argv[2], sys.argv[2:])"
"""Becomes the program, unless the process that started it has gone already."""

PASSED_THROUGH = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ", "USER")


@dataclass(frozen=True, kw_only=True)
class Completed:
    """What a finished program left: exit code (negative: killed by that signal), output, seconds."""

    argv: tuple[str, ...]
    code: int
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def text(self) -> str:
        """Standard output decoded as UTF-8 (bad bytes replaced), without the final newline."""
        return self.stdout.decode("utf-8", "replace").rstrip("\n")


def scrubbed_env(
    environ: Mapping[str, str] | None = None, *, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """A child environment that carries no secrets: a short allow list plus `extra`."""
    source = os.environ if environ is None else environ
    env = {name: source[name] for name in PASSED_THROUGH if name in source}
    return {**env, **(extra or {})}


def find_tool(name: str, *, path: str | None = None, hint: str = "") -> Path:
    """Absolute path of a program on PATH.

    Raises:
        ToolMissing: nothing of that name is there; `hint` says how to get it.
    """
    found = shutil.which(name, path=path)
    if found is None:
        raise ToolMissing(f"program {name!r} not found on PATH", hint=hint or f"install {name}")
    return Path(found)


def quoted(argv: Sequence[str | Path]) -> str:
    """The command as a person would type it."""
    return shlex.join(str(a) for a in argv)


def run(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    ok_codes: Sequence[int] = (0,),
    timeout: float | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Completed:
    """Run a program to its end.

    Args:
        argv: program and arguments; never a shell string.
        cwd: working directory.
        env: the whole child environment; `scrubbed_env()` when omitted.
        stdin: bytes for standard input; closed when omitted.
        ok_codes: exit codes that are answers; any other raises.
        timeout: seconds until the process group is stopped.
        on_line: called for each line of standard output (with standard error folded in) as it comes.

    Raises:
        ToolMissing: the program does not exist.
        CommandFailed: unexpected exit code or time-out; quotes the end of the output.
        DiskFull: the program failed and its output says that no space is left.
    """
    words = tuple(str(a) for a in argv)
    started = time.monotonic()
    with _spawn(words, cwd=cwd, env=env, merge=on_line is not None, piped_in=stdin is not None) as child:
        try:
            out, err = _communicate(child, stdin=stdin, timeout=timeout, on_line=on_line)
        except subprocess.TimeoutExpired as late:
            stop_group(child)
            raise CommandFailed(f"stopped after {timeout:.0f} s: {quoted(words)}") from late
        except BaseException:
            stop_group(child)
            raise
    done = Completed(argv=words, code=child.returncode, stdout=out, stderr=err, seconds=time.monotonic() - started)
    if done.code not in ok_codes:
        raise failure_of(done)
    return done


def failure_of(done: Completed) -> CommandFailed | DiskFull:
    """The error for an unexpected exit code, with the end of what the program said."""
    said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()[-20:]
    quote = "".join(f"\n    {line}" for line in said)
    message = f"exit code {done.code} from: {quoted(done.argv)}{quote}"
    return DiskFull(message) if any(words in quote for words in NO_SPACE) else CommandFailed(message)


def _spawn(
    words: tuple[str, ...], *, cwd: Path | None, env: Mapping[str, str] | None, merge: bool, piped_in: bool
) -> "subprocess.Popen[bytes]":
    child_env = scrubbed_env() if env is None else dict(env)
    return subprocess.Popen(
        bound_to_us(words, child_env),
        cwd=cwd,
        env=child_env,
        stdin=subprocess.PIPE if piped_in else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merge else subprocess.PIPE,
        start_new_session=True,
    )


def bound_to_us(words: tuple[str, ...], env: Mapping[str, str], *, guarded: bool = False) -> tuple[str, ...]:
    """The command, wrapped so that it ends when we are killed: an orphan must not work on beside the next run.

    Args:
        words: program and arguments.
        env: the child's environment, for its PATH.
        guarded: also end when we were killed before the wrapper could ask for that; for programs that never end
            by themselves (costs the start of an interpreter).
    """
    program = find_tool(words[0], path=env.get("PATH"))
    setpriv = shutil.which("setpriv")
    wrap = (setpriv, "--pdeathsig", "TERM", "--") if setpriv else ()
    guard = (sys.executable, "-I", "-S", "-c", GUARD, str(os.getpid())) if wrap and guarded else ()
    return (*wrap, *guard, str(program), *words[1:])


def _communicate(
    child: "subprocess.Popen[bytes]",
    *,
    stdin: bytes | None,
    timeout: float | None,
    on_line: Callable[[str], None] | None,
) -> tuple[bytes, bytes]:
    if on_line is None:
        return child.communicate(stdin, timeout=timeout)
    timer = threading.Timer(timeout, stop_group, args=(child,)) if timeout else None
    if timer:
        timer.start()
    kept: list[bytes] = []
    try:
        assert child.stdout is not None  # noqa: S101 - for the type checker: PIPE was asked for
        for line in child.stdout:
            kept.append(line)
            on_line(line.decode("utf-8", "replace").rstrip("\r\n"))
        child.wait()
    finally:
        if timer:
            timer.cancel()
    return b"".join(kept), b""


def stop_group(child: "subprocess.Popen[bytes]", *, grace: float = TERM_GRACE_S) -> int:
    """Terminate the child's process group, kill what is left after `grace` seconds, reap; returns its code."""
    _signal_group(child, signal.SIGTERM)
    try:
        child.wait(grace)
    except subprocess.TimeoutExpired:
        pass
    finally:
        _signal_group(child, signal.SIGKILL)  # grandchildren, and a child that ignored TERM
    return child.wait()


def _signal_group(child: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


class Running:
    """A long-lived program whose output goes to a file, stopped and reaped on leaving the `with` block."""

    def __init__(
        self, argv: Sequence[str | Path], *, env: Mapping[str, str], log: Path, cwd: Path | None = None
    ) -> None:
        self.argv = tuple(str(a) for a in argv)
        self.log = log
        self._env = dict(env)
        self._cwd = cwd
        self._child: subprocess.Popen[bytes] | None = None
        self._sink: IO[bytes] | None = None

    def __enter__(self) -> Self:
        words = bound_to_us(self.argv, self._env, guarded=True)
        self._sink = self.log.open("wb")
        # a file, not a pipe: a full pipe would block the program
        self._child = subprocess.Popen(
            words,
            cwd=self._cwd,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=self._sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child is not None:
            stop_group(self._child)
        if self._sink is not None:
            self._sink.close()

    @property
    def pid(self) -> int:
        """Process id of the child (0 before the block is entered)."""
        return self._child.pid if self._child else 0

    def exit_code(self) -> int | None:
        """None while the program runs, else its exit code."""
        return self._child.poll() if self._child else None

    def log_tail(self, lines: int = 20) -> str:
        """The end of what the program printed so far."""
        text = self.log.read_bytes()[-64_000:].decode("utf-8", "replace")
        return "\n".join(text.splitlines()[-lines:])
