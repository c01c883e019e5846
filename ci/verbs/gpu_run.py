"""What the carried script starts on the machine with the card."""

import argparse
import sys
from pathlib import Path

from ci.console import Console
from ci.errors import EXIT_UNPROVEN, SpeedforkError
from ci.files import sha256_file
from ci.gpu.carry import read_prepared
from ci.gpu.manifest import RESULT_FILE, headline
from ci.outcome import GateResult, combine, exit_code_of
from ci.stages.card import Check


def show(console: Console, gates: tuple[GateResult, ...], seconds: dict[str, float], where: Path) -> int:
    """The table, where the answer is, and the last line; the exit code of the verdict."""
    console.table(("gate", "verdict", "reason"), [(gate.gate, gate.verdict.value, gate.reason) for gate in gates])
    if seconds:
        console.say("seconds: " + ", ".join(f"{name} {spent:g}" for name, spent in seconds.items()))
    console.document({"gates": [gate.to_json() for gate in gates], "answer": str(where)})
    console.result(f"answer: {where}\n{headline(gates)}")
    return exit_code_of(combine(gate.verdict for gate in gates))


def main() -> int:
    """Run the check that was carried; called by the carried script alone."""
    parser = argparse.ArgumentParser()
    for option in ("--check", "--work", "--results", "--site"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--started", type=float, required=True)
    asked = parser.parse_args()
    console = Console()
    try:
        check = Check(
            read_prepared(asked.check.parent),
            sha256_file(asked.check),
            work=asked.work,
            results=asked.results,
            site=asked.site,
            started=asked.started,
            console=console,
        )
        gates = check.run()
    except SpeedforkError as problem:
        console.error(problem)
        console.result(f"gpu_check=UNPROVEN {problem.message.splitlines()[0]}")
        return EXIT_UNPROVEN
    return show(console, gates, check.seconds, asked.results / RESULT_FILE)


if __name__ == "__main__":
    sys.exit(main())
