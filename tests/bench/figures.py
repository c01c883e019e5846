"""What a benchmark of rebases says about its samples (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ci.outcome import JsonValue

GIT, LIBRARY, FILES, COMMAND = "git", "library", "files", "command"
NAMES = {GIT: "git", LIBRARY: "library", FILES: "from files", COMMAND: "command"}
HEADINGS = ("patches", "who", "seconds", "times git", "ms/patch", "MiB")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One run: seconds, peak memory of its largest process (KiB), tree of the result, bytes added to the store."""

    seconds: float
    peak_kib: int
    found: str
    added: int


Rounds = Sequence[Sample]
Samples = Mapping[tuple[int, str], Rounds]
"""By number of patches and contender; the same round at the same place."""


def seconds(rounds: Rounds) -> float:
    """The median."""
    return median(sample.seconds for sample in rounds)


def ratio(samples: Samples, count: int, who: str) -> float:
    """How many times faster than git: the ratio of the medians."""
    return seconds(samples[count, GIT]) / seconds(samples[count, who])


def same_tree(samples: Samples) -> bool:
    """Whether every run of every contender ended in one tree, for each number of patches."""
    counts = {count for count, _ in samples}
    found = [
        {sample.found for (at, _), rounds in samples.items() if at == count for sample in rounds} for count in counts
    ]
    return all(len(trees) == 1 and "" not in trees for trees in found)


def growth(samples: Samples, who: str) -> float:
    """Seconds that one more patch costs, between the shortest and the longest series."""
    few, many = min(count for count, _ in samples), max(count for count, _ in samples)
    if few == many:
        return seconds(samples[few, who]) / few
    return (seconds(samples[many, who]) - seconds(samples[few, who])) / (many - few)


def table(samples: Samples) -> tuple[tuple[str, ...], ...]:
    """Rows under HEADINGS."""
    return tuple(_row(samples, count, who) for count, who in samples)


def _row(samples: Samples, count: int, who: str) -> tuple[str, ...]:
    rounds = samples[count, who]
    took = sorted(sample.seconds for sample in rounds)
    by_round = sorted(a.seconds / b.seconds for a, b in zip(samples[count, GIT], rounds, strict=True))
    return (
        str(count),
        NAMES[who],
        f"{seconds(rounds):.3f} ({took[0]:.2f}-{took[-1]:.2f})",
        "" if who == GIT else f"{ratio(samples, count, who):.2f} ({by_round[0]:.2f}-{by_round[-1]:.2f})",
        f"{seconds(rounds) / count * 1000:.1f}",
        f"{max(sample.peak_kib for sample in rounds) / 1024:.0f}",
    )


def growth_lines(samples: Samples) -> tuple[str, ...]:
    """What one more patch costs each contender, and what the first rebase adds to the object store."""
    costs = (f"{name} {growth(samples, who) * 1000:.1f} ms" for who, name in NAMES.items())
    counts = sorted({count for count, _ in samples})
    added = (
        f"{count}: git {added_kib(samples, count, GIT)}, ours {added_kib(samples, count, LIBRARY)}"
        for count in counts
    )
    return (
        f"each further patch costs {', '.join(costs)}",
        f"KiB added to the object store by patches: {'; '.join(added)}",
    )


def added_kib(samples: Samples, count: int, who: str) -> int:
    """What a contender's first run added; ours share a store."""
    ours = (LIBRARY, FILES, COMMAND)
    rounds = [
        s for (at, name), many in samples.items() if at == count and (name in ours) == (who in ours) for s in many
    ]
    return max(sample.added for sample in rounds) // 1024


def last_line(samples: Samples, culprit_s: float) -> str:
    """The line that machines read."""
    same = "yes" if same_tree(samples) else "no"
    found = " ".join(f"rebase{count}_vs_git={ratio(samples, count, LIBRARY):.2f}" for count in (30, 100))
    return f"{found} culprit_s={culprit_s:.2f} same_tree={same}"


def to_json(samples: Samples) -> JsonValue:
    """Every sample."""
    return [
        {
            "patches": count,
            "who": who,
            "seconds": s.seconds,
            "peak_kib": s.peak_kib,
            "found": s.found,
            "added": s.added,
        }
        for (count, who), rounds in samples.items()
        for s in rounds
    ]
