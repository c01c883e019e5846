"""Running a suite as its stage does: pytest in a process of its own, the answer in a file."""

import sys
from dataclasses import dataclass
from pathlib import Path

from ci.files import read_json
from ci.home import Home
from ci.outcome import GateResult, JsonMap, Verdict, combine
from ci.process import run, scrubbed_env

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class SuiteRun:
    """What a suite left: exit code, output, evidence."""

    code: int
    output: str
    evidence: JsonMap

    @property
    def gates(self) -> dict[str, GateResult]:
        return {gate["gate"]: GateResult.from_json(gate) for gate in self.evidence["gates"]}

    @property
    def verdict(self) -> Verdict:
        return combine(gate.verdict for gate in self.gates.values())

    def verdicts(self, *prefixes: str) -> set[Verdict]:
        return {gate.verdict for name, gate in self.gates.items() if name.startswith(prefixes)}


def suite_argv(
    suite: str, *, stock: Path, speed: Path, home: Home | None, evidence: Path, select: str = ""
) -> tuple[str, ...]:
    """The command line of a suite under the quick profile; `select` is pytest's -k expression."""
    return (
        *(sys.executable, "-m", "pytest", f"tests/suites/{suite}", "-q", "-p", "no:cacheprovider"),
        *("--stock", str(stock), "--speed", str(speed), "--profile", "quick", "--evidence", str(evidence)),
        *(("--benchmark-json", str(evidence.with_suffix(".benchmark.json"))) if suite == "throughput" else ()),
        *(("--home", str(home.root)) if home else ()),
        *(("-k", select) if select else ()),
    )


def run_suite(suite: str, *, stock: Path, speed: Path, home: Home, evidence: Path, select: str = "") -> SuiteRun:
    """Run a suite, or the part of it that `select` names, and read its evidence."""
    argv = suite_argv(suite, stock=stock, speed=speed, home=home, evidence=evidence, select=select)
    done = run(argv, cwd=ROOT, env=scrubbed_env(), ok_codes=tuple(range(6)), timeout=240)
    return SuiteRun(code=done.code, output=done.text, evidence=read_json(evidence))
