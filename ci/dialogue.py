"""A program that answers while it runs; the other half of the door to programs (`ci.process`)."""

import os
import select
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from ci.errors import CommandFailed, DiskFull
from ci.process import Completed, bound_to_us, failure_of, stop_group


class Dialogue:
    """A program that answers on standard output what it is told on standard input, for as long as the block lasts."""

    def __init__(self, argv: Sequence[str | Path], *, env: Mapping[str, str]) -> None:
        self.argv = tuple(str(a) for a in argv)
        self._env = dict(env)
        self._errors: IO[bytes] | None = None
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # a file, not a pipe: a full pipe would block the program
        self._errors = tempfile.TemporaryFile()
        self._child = subprocess.Popen(
            bound_to_us(self.argv, self._env),
            env=self._env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child is not None:
            for pipe in (self._child.stdin, self._child.stdout):
                if pipe is not None:
                    pipe.close()
            stop_group(self._child)
        if self._errors is not None:
            self._errors.close()

    def tell(self, words: bytes) -> None:
        """Hand the program some input.

        Raises:
            CommandFailed: it has ended.
        """
        assert self._child is not None and self._child.stdin is not None  # noqa: S101, PT018 - inside the block
        try:
            self._child.stdin.write(words)
        except BrokenPipeError:
            raise self._ended() from None

    def hear(self, *, patience: float | None = None) -> bytes | None:
        """The next piece of output, of any length; None when nothing came within `patience` seconds.

        Raises:
            CommandFailed: it has ended.
        """
        assert self._child is not None and self._child.stdout is not None  # noqa: S101, PT018 - inside the block
        ready, _, _ = select.select([self._child.stdout], [], [], patience)
        if not ready:
            return None
        piece = os.read(self._child.stdout.fileno(), 1 << 16)
        if not piece:
            raise self._ended()
        return piece

    def no_more_input(self) -> None:
        """Close the program's standard input: whatever it kept back comes now."""
        assert self._child is not None and self._child.stdin is not None  # noqa: S101, PT018 - inside the block
        self._child.stdin.close()

    def _ended(self) -> CommandFailed | DiskFull:
        assert self._child is not None and self._errors is not None  # noqa: S101, PT018 - inside the block
        code = self._child.wait()
        self._errors.seek(0)
        return failure_of(Completed(argv=self.argv, code=code, stdout=b"", stderr=self._errors.read(), seconds=0.0))
