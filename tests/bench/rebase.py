"""`nox -s bench-rebase`: our rebase against `git rebase`, on synthetic series over the real upstream builds.

All move the same commits from the oldest build in the history to the newest. git starts from commits, in a work tree
that is checked out. Ours is measured three times: the library from commits to commits, like git; from patch files to
commits, as it is called in life, with the search for the build behind each absorbed patch; and as the whole command.
Rounds are interleaved in random order; every run is a process of its own. Options: `--quick` (fewer rounds),
`--json FILE` (every sample).
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from ci.console import Console
from ci.errors import EXIT_DEFECT, EXIT_OK, SpeedforkError, UsageProblem
from ci.files import write_json
from ci.git import Git
from ci.home import Home
from ci.machine import fingerprint
from ci.process import run
from ci.upstream.tags import BuildTag, build_tags
from tests.bench.figures import (
    COMMAND,
    FILES,
    GIT,
    HEADINGS,
    LIBRARY,
    Sample,
    growth_lines,
    last_line,
    same_tree,
    seconds,
    table,
    to_json,
)
from tests.helpers.git_reference import checkout
from tests.helpers.synthetic import BRANCH, make_series
from tests.helpers.synthetic_edits import CLEAN, Kind

ROOT = Path(__file__).parents[2]
COUNTS = (10, 30, 100)
ROUNDS, QUICK_ROUNDS = 7, 3
SEED = 1
STOPPING = (*(Kind.QUIET,) * 9, Kind.COLLIDE)


def prepare(home: Home, place: Path, base: BuildTag, aim: BuildTag, *, count: int, deck: tuple[Kind, ...]) -> None:
    """A series with all that each contender starts from: patch files and history for ours, a work tree for git."""
    history = Git(path=home.history)
    made = make_series(history, place, base, aim, count=count, seed=SEED, deck=deck)
    shutil.copy(ROOT / "tasks.py", place / "checkout" / "tasks.py")
    repo = checkout(history, place / "git", history.commit_of(base.ref) or "")  # it must not see objects of ours
    repo("fetch", "--quiet", made.git.path, BRANCH, f"{aim.ref}:{aim.ref}")
    (place / "tip").write_text(made.commits[-1], encoding="ascii")
    (place / "base").write_text(made.git.commit_of(base.ref) or "", encoding="ascii")


def measured(kind: str, place: Path, aim: BuildTag) -> Sample:
    """One run of one contender."""
    argv = (sys.executable, "-m", "tests.bench.contender", kind, place, str(aim))
    return Sample(**json.loads(run(argv, cwd=ROOT).stdout))


def bench(home: Home, console: Console, *, rounds: int, json_file: Path | None) -> int:
    """Measure, print, and answer with an exit code: 0 when all trees agree."""
    known = build_tags(Git(path=home.history).tags()) if home.history.is_dir() else ()
    if len(known) < 2:
        raise UsageProblem(
            f"{home.history} has {len(known)} builds, two are needed", hint="invoke sync-upstream --all"
        )
    base, aim = known[0], known[-1]
    home.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=home.work) as scratch:
        places = {count: Path(scratch) / str(count) for count in COUNTS}
        for count, place in places.items():
            prepare(home, place, base, aim, count=count, deck=CLEAN)
        prepare(home, Path(scratch) / "culprit", base, aim, count=len(STOPPING), deck=STOPPING)
        samples: dict[tuple[int, str], list[Sample]] = {
            (n, who): [] for n in COUNTS for who in (GIT, LIBRARY, FILES, COMMAND)
        }
        searches = []
        rng = random.Random(SEED)  # noqa: S311 - an order of runs, not a secret
        with console.task(f"rebases from {base} to {aim}") as task:
            for number in range(rounds):
                for at, key in enumerate(rng.sample(list(samples), len(samples))):
                    task.update(number * len(samples) + at, rounds * len(samples), f"{key[0]} patches, {key[1]}")
                    samples[key].append(measured(key[1], places[key[0]], aim))
                searches.append(measured("culprit", Path(scratch) / "culprit", aim))
    console.table(HEADINGS, table(samples), title=f"{base} to {aim}, {rounds} rounds; seconds are medians")
    for line in growth_lines(samples):
        console.result(line)
    console.result(f"culprit among {len(known)} builds: {searches[0].found}")
    if json_file:
        write_json(
            json_file, {"machine": fingerprint(), "base": str(base), "aim": str(aim), "samples": to_json(samples)}
        )
    console.result(last_line(samples, seconds(searches)))
    return EXIT_OK if same_tree(samples) else EXIT_DEFECT


def main() -> int:
    """Parse the command line, measure, turn errors into text."""
    parser = argparse.ArgumentParser(prog="nox -s bench-rebase --", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds instead of {ROUNDS}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample to FILE")
    asked = parser.parse_args()
    console = Console()
    try:
        home = Home.find(ROOT, os.environ)
        return bench(home, console, rounds=QUICK_ROUNDS if asked.quick else ROUNDS, json_file=asked.json)
    except SpeedforkError as error:
        console.error(error)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
