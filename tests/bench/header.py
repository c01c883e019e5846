"""`nox -s bench-header`: our reader of GGUF headers against gguf-py's, on a real model with 49,152 tokens.

Both give the same: every metadata value with all array elements made, and the tensor list. They take turns in one
process, after they were compared; the figure is the ratio of medians. Options: `--rounds N`, `--json FILE`.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ci.console import Console
from ci.errors import EXIT_FAIL, EXIT_OK, SpeedforkError
from ci.files import write_json
from ci.home import Home
from ci.machine import fingerprint
from ci.models.fetch import ensure_model
from ci.models.header.reading import read_header
from ci.models.header.values import ArrayValue, Header
from tests.helpers.gguf_py import everything, read_with_gguf_py

ROOT = Path(__file__).parents[2]
MODEL = "smollm2-135m-q4_1"
ROUNDS = 5


def read_all(path: Path) -> Header:
    """Our reader, with all array elements made."""
    header = read_header(path)
    for value in header.metadata.values():
        if isinstance(value, ArrayValue):
            tuple(value.items)
    return header


READERS: dict[str, Callable[[Path], Header]] = {
    "ours, header only": read_header,
    "ours, all elements": read_all,
    "gguf-py, all elements": read_with_gguf_py,
}


def seconds(read: Callable[[Path], Header], path: Path) -> float:
    """One reading."""
    begin = time.perf_counter()
    read(path)
    return time.perf_counter() - begin


def bench(home: Home, console: Console, *, rounds: int, json_file: Path | None) -> int:
    """Compare, measure, print; the exit code is that of the comparison."""
    path = ensure_model(home, MODEL, console)
    if everything(read_all(path)) != everything(read_with_gguf_py(path)):
        console.result(f"{path}: our reader and gguf-py's do not agree: nothing was measured")
        return EXIT_FAIL
    samples: dict[str, list[float]] = {name: [] for name in READERS}
    with console.task(f"reading {path.name}") as task:
        for done in range(rounds):
            task.update(done, rounds)
            for name, read in READERS.items():
                samples[name].append(seconds(read, path))
    medians = {name: statistics.median(times) for name, times in samples.items()}
    rows = [(name, f"{medians[name] * 1e3:.1f}", f"{min(samples[name]) * 1e3:.1f}") for name in READERS]
    console.table(("reader", "median ms", "least ms"), rows, title=f"{path.name}, {rounds} rounds")
    if json_file:
        write_json(json_file, {"model": MODEL, "machine": fingerprint(), "seconds": samples})
    _, ours, theirs = medians.values()
    console.result(f"header_vs_ggufpy={theirs / ours:.1f}")
    return EXIT_OK


def main() -> int:
    """Parse the command line, measure, turn errors into text."""
    parser = argparse.ArgumentParser(prog="nox -s bench-header --", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="readings of each kind")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample to FILE")
    asked = parser.parse_args()
    console = Console()
    try:
        return bench(Home.find(ROOT, os.environ), console, rounds=max(1, asked.rounds), json_file=asked.json)
    except SpeedforkError as error:
        console.error(error)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
