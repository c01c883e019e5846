"""What a build in a container says: its steps, its progress, and which objects the compiler cache had."""

from collections.abc import Sequence
from dataclasses import dataclass

STEP = "::step "
CONFIGURE, COMPILE, HARVEST, COUNTS, DONE = "configure", "compile", "harvest", "counts", "done"
"""The steps of `build.sh`, in turn."""

_HITS = ("direct_cache_hit", "preprocessed_cache_hit")
_MISS = "cache_miss"


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Objects by kind of source: compiled now, and taken from the compiler cache."""

    cuda_compiled: int = 0
    cuda_cached: int = 0
    host_compiled: int = 0
    host_cached: int = 0

    @property
    def words(self) -> str:
        """For a person: `compiled 3 of 430 host and 0 of 157 CUDA objects`."""
        host, cuda = self.host_compiled + self.host_cached, self.cuda_compiled + self.cuda_cached
        device = f" and {self.cuda_compiled} of {cuda} CUDA" if cuda else ""
        return f"compiled {self.host_compiled} of {host} host{device} objects"


def step_of(line: str) -> str | None:
    """The step that begins with this line, or None for any other line."""
    return line.removeprefix(STEP).strip() if line.startswith(STEP) else None


def lines_of(lines: Sequence[str], step: str) -> tuple[str, ...]:
    """What was said in one step."""
    now, kept = "", []
    for line in lines:
        begun = step_of(line)
        if begun is not None:
            now = begun
        elif now == step:
            kept.append(line)
    return tuple(kept)


def last_step(lines: Sequence[str]) -> str:
    """The step that was begun last; empty when none was."""
    return next((begun for line in reversed(lines) if (begun := step_of(line)) is not None), "")


def parse_counts(lines: Sequence[str]) -> Counts:
    """The counts in ccache's log of results: a line `# <source>`, then the names of what happened."""
    tally = {(cuda, hit): 0 for cuda in (False, True) for hit in (False, True)}
    cuda = False
    for line in lines:
        if line.startswith("#"):
            cuda = line.rstrip().endswith(".cu")
        elif line.strip() in (*_HITS, _MISS):
            tally[cuda, line.strip() != _MISS] += 1
    return Counts(
        cuda_compiled=tally[True, False],
        cuda_cached=tally[True, True],
        host_compiled=tally[False, False],
        host_cached=tally[False, True],
    )
