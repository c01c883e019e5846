"""The laws of generated histories on thousands of them: `nox -s fuzz-series -- --examples N --seed S`."""

import argparse
import secrets
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import hypothesis
from hypothesis import HealthCheck, Phase, given, reproduce_failure, settings
from hypothesis.errors import DidNotReproduce

from tests.helpers.generated import History, histories
from tests.helpers.generated_repository import Built, build
from tests.helpers.series_laws import Seen, check_import, check_rebase, check_values

Law: TypeAlias = Callable[[Built, Path], Seen | None]

EVERY_S = 10.0
MEMORY = Path("/dev/shm")  # noqa: S108 - only a folder with a random name is made there
"""git waits for the disk after every pack that it writes; thousands of histories need not last."""


class Fuzzing:
    """Runs all laws on one history after the other and counts; from the first failure on it only shrinks."""

    def __init__(self, wanted: int, root: Path) -> None:
        self._wanted = wanted
        self._root = root
        self._laws: Sequence[Law] = (check_values, check_import, check_rebase)
        self._next_word = time.monotonic()
        self.seen = Seen(examples=0)
        self.failed = False

    def __call__(self, history: History) -> None:
        with tempfile.TemporaryDirectory(dir=self._root) as name:
            place = Path(name)
            built = build(history, place)
            for law in self._laws:
                try:
                    found = law(built, place)
                except Exception:
                    self._shrink(law)
                    raise
                if isinstance(found, Seen):
                    self._count(found)

    def _shrink(self, law: Law) -> None:
        if not self.failed:
            say(f"{self.seen}: {law.__name__} fails; looking for a smaller history (up to five minutes)")
        self.failed = True
        self._laws = [law]

    def _count(self, seen: Seen) -> None:
        if not self.failed:
            self.seen += seen
            self._progress()

    def _progress(self) -> None:
        if time.monotonic() >= self._next_word:
            say(f"{self.seen.examples} of {self._wanted}: {self.seen}")
            self._next_word = time.monotonic() + EVERY_S


def say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def fuzz(examples: int, seed: int, blob: str | None) -> int:
    """The number of distinct failures; the last line says what was seen."""
    say(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="fuzz-series-", dir=MEMORY if MEMORY.is_dir() else None) as root:
        fuzzing = Fuzzing(examples, Path(root))

        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            print_blob=True,
            phases=(Phase.explicit, Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(history=histories())
        def law(history: History) -> None:
            fuzzing(history)

        drawn = reproduce_failure(hypothesis.__version__, blob.encode()) if blob else hypothesis.seed(seed)
        failures = _failures(drawn(law))
    say(f"{fuzzing.seen} failures={failures}")
    return failures


def _failures(law: Callable[[], None]) -> int:
    try:
        law()
    except DidNotReproduce:
        say("the history of this blob fails no more")
    except Exception as failure:  # noqa: BLE001 - whatever a law raises is a failure to be shown and counted
        traceback.print_exception(failure, file=sys.stdout)
        return len(failure.exceptions) if isinstance(failure, ExceptionGroup) else 1
    return 0


def main(argv: Sequence[str]) -> int:
    """Exit code 1 when a law failed; the way to run the failing history again stands at the end of its trace."""
    parser = argparse.ArgumentParser(prog="nox -s fuzz-series --", description=__doc__, allow_abbrev=False)
    parser.add_argument("--examples", type=int, default=2000, help="how many histories to draw (default 2000)")
    parser.add_argument(
        "--seed", type=int, default=secrets.randbits(32), help="the same seed draws the same histories"
    )
    parser.add_argument("--reproduce", metavar="BLOB", help="the second word of a printed @reproduce_failure(...)")
    chosen = parser.parse_args(argv)
    return 1 if fuzz(chosen.examples, chosen.seed, chosen.reproduce) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
