"""What a stage is: its inputs, its work, and how it ended.

A stage answers two questions. `plan` names everything its answer depends on (its inputs); `run` does the work
and returns a value, verdicts and the files it made.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from ci.config import Model
from ci.console import Console
from ci.errors import UsageProblem
from ci.home import Home
from ci.outcome import GateResult, JsonMap, JsonValue, Verdict, combine

V = TypeVar("V", bound=Model)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line asked for."""

    onto: str | None = None
    profile: str = "quick"
    target: str = "cpu"
    lane: str = ""
    jobs: str = ""


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a stage may see: the home, the options, and the values and verdicts of the stages before it."""

    home: Home
    console: Console
    options: Options
    values: tuple[Model, ...] = ()
    outcomes: tuple["Outcome", ...] = ()

    def value(self, kind: type[V]) -> V:
        """The value that an earlier stage left.

        Raises:
            UsageProblem: that stage has not run.
        """
        for value in self.values:
            if isinstance(value, kind):
                return value
        raise UsageProblem(f"nothing has left a {kind.__name__} yet", hint="invoke pipeline")

    def after(self, outcome: "Outcome", value: Model) -> "Context":
        """The context for the next stage."""
        return Context(
            home=self.home,
            console=self.console,
            options=self.options,
            values=(*self.values, value),
            outcomes=(*self.outcomes, outcome),
        )


@dataclass(frozen=True, kw_only=True)
class StageResult:
    """What a stage's work gave: a typed value, verdicts, and the files whose digests the record keeps."""

    value: Model
    gates: tuple[GateResult, ...] = ()
    made: tuple[Path, ...] = ()


class Status(StrEnum):
    """How a stage came to its outcome."""

    DONE = "done"
    KEPT = "kept"
    ERROR = "error"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a stage ended.

    `seconds` is the time of the work, also when a record of it was kept; `reason` says why a stage ended in an error.
    """

    stage: str
    status: Status
    seconds: float
    gates: tuple[GateResult, ...] = ()
    made: tuple[Path, ...] = ()
    inputs_digest: str = ""
    reason: str = ""

    @property
    def verdict(self) -> Verdict | None:
        """The combined verdict, or None for a stage without gates."""
        return combine(gate.verdict for gate in self.gates) if self.gates else None

    def to_json(self) -> dict[str, JsonValue]:
        """Plain JSON form for `--json`."""
        return {
            "stage": self.stage,
            "status": self.status.value,
            "verdict": self.verdict.value if self.verdict else None,
            "seconds": round(self.seconds, 3),
            "gates": [gate.to_json() for gate in self.gates],
            "made": [str(path) for path in self.made],
            "inputs_digest": self.inputs_digest,
            "reason": self.reason,
        }


def always(_: Context, __: Outcome, ___: Model) -> bool:
    """For stages whose record names all that they made."""
    return True


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One step: a name, one line about it, the type of its value, its inputs and its work.

    `holds` says whether what a record claims still stands where files
    alone cannot tell (refs in the history, gates against their evidence).
    """

    name: str
    about: str
    value: type[Model]
    plan: Callable[[Context], JsonMap]
    run: Callable[[Context], StageResult]
    holds: Callable[[Context, Outcome, Model], bool] = always
