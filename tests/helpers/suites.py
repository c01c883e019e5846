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


def run_suite(suite: str, *, stock: Path, speed: Path, home: Home, evidence: Path, select: str = "") -> SuiteRun:
    """Run a suite under the quick profile.

    Args:
        suite: folder name under tests/suites.
        stock, speed: build folders.
        home: for models and logs.
        evidence: file to write.
        select: pytest's -k expression; everything when empty.
    """
    argv = [sys.executable, "-m", "pytest", f"tests/suites/{suite}", "-q", "-p", "no:cacheprovider"]
    argv += ["--stock", str(stock), "--speed", str(speed), "--profile", "quick"]
    argv += ["--home", str(home.root), "--evidence", str(evidence), *(["-k", select] if select else [])]
    done = run(argv, cwd=ROOT, env=scrubbed_env(), ok_codes=tuple(range(6)), timeout=240)
    return SuiteRun(code=done.code, output=done.text, evidence=read_json(evidence))
