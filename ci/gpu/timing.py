"""How long each step of the check may take: the whole run ends under nine minutes, wherever it is."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step.

    Args:
        name: for people and records.
        seconds: its share of the run. What earlier steps leave over is its too.
        about: what it does.
    """

    name: str
    seconds: int
    about: str


STEPS = (
    Step(name="unpack", seconds=60, about="parts verified, unpacked, an environment made"),
    Step(name="builds", seconds=20, about="every file's digest; both programs start"),
    Step(name="card", seconds=20, about="one card that the build is for; libraries; layers are on it"),
    Step(name="operators", seconds=90, about="each operator against the processor"),
    Step(name="parity", seconds=150, about="the same tokens as stock"),
    Step(name="throughput", seconds=190, about="paired against stock"),
)
LIMIT_S = 540


def ends_by(name: str) -> int:
    """Seconds from the start of the run at which a step is cut off.

    Raises:
        KeyError: no such step.
    """
    total = 0
    for step in STEPS:
        total += step.seconds
        if step.name == name:
            return total
    raise KeyError(name)
