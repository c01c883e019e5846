"""Every error a user can meet: one class per situation, each with its exit code and its next step.

Exit codes (see README): 0 done, 1 defect of ours, 2 usage or configuration, 3 conflict, 4 gate FAIL,
5 UNPROVEN where proof was required, 6 environment, 130 interrupted.
"""

from typing import ClassVar

EXIT_OK = 0
EXIT_DEFECT = 1
EXIT_USAGE = 2
EXIT_CONFLICT = 3
EXIT_FAIL = 4
EXIT_UNPROVEN = 5
EXIT_ENVIRONMENT = 6
EXIT_INTERRUPTED = 130


class SpeedforkError(Exception):
    """Base of all expected errors: what happened, and the next command to type.

    Args:
        message: names the file, the value and what was expected.
        hint: the next command or step; the class's own advice when omitted.
    """

    exit_code: ClassVar[int] = EXIT_DEFECT
    advice: ClassVar[str] = ""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = self.advice if hint is None else hint

    def __str__(self) -> str:
        return f"{self.message}\n  next: {self.hint}" if self.hint else self.message


class UsageProblem(SpeedforkError):
    """The command line asks for something that does not exist or cannot be combined."""

    exit_code = EXIT_USAGE
    advice = "invoke --list"


class ConfigProblem(SpeedforkError):
    """A configuration file is missing, malformed or holds impossible values."""

    exit_code = EXIT_USAGE


class EnvironmentProblem(SpeedforkError):
    """Something outside the project is missing or broken: a tool, disk, network, port."""

    exit_code = EXIT_ENVIRONMENT


class ToolMissing(EnvironmentProblem):
    """A program that the work needs is not on PATH."""


class DiskFull(EnvironmentProblem):
    """The file system has no room for what is about to be written."""

    advice = "free some space, or set SPEEDFORK_HOME to a larger disk, and run the command again"


class IndexUnreachable(EnvironmentProblem):
    """The package index cannot be reached or does not have a pinned file."""

    advice = "check the network and pip's index settings (pip config list), then run the command again"


class DigestMismatch(EnvironmentProblem):
    """Downloaded or stored bytes are not the pinned ones."""

    advice = "the damaged file was removed; run the command again"


class CommandFailed(SpeedforkError):
    """A program that we started ended with a code we did not expect."""


class Busy(EnvironmentProblem):
    """Another run holds the lock of the state directory."""

    advice = "wait for the other run to end, or give this one its own SPEEDFORK_HOME"


class Interrupted(SpeedforkError):
    """The user pressed Ctrl-C."""

    exit_code = EXIT_INTERRUPTED
    advice = "run the same command again: finished work is kept"
