"""Run a suite against the two builds and read its evidence: what `parity` and `throughput` have in common."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ci.config import Model
from ci.console import Console, Task
from ci.digest import digest_json
from ci.errors import ConfigProblem
from ci.files import sha256_file
from ci.home import Home
from ci.llama.spec import PROCESSOR, Device
from ci.outcome import GateResult, JsonMap, Verdict
from ci.process import run, scrubbed_env
from ci.release.document import load_evidence
from ci.stage import Context, Outcome, Stage, StageResult
from ci.stages.values import Built, Proved, Shelved

PYTEST_LINE = re.compile(r"::(?P<test>\S+) \w+ +\[ *(?P<percent>\d+)%\]$")
ANY_CODE = tuple(range(-64, 256))
"""The evidence decides, not pytest's exit code: it is read and judged in any case."""


def nothing_more() -> JsonMap:
    """For suites whose answer does not depend on the machine."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A pytest suite and the sources that its answer depends on."""

    name: str
    folder: str
    sources: tuple[str, ...]

    def code_digest(self, checkout: Path) -> str:
        """Digest over the suite's own sources: a changed judge has not judged yet."""
        files = sorted({path for pattern in self.sources for path in checkout.glob(pattern) if path.is_file()})
        return digest_json({str(path.relative_to(checkout)): sha256_file(path) for path in files})


def evidence_path(home: Home, suite: Suite, stock_digest: str, speed_digest: str, profile: str) -> Path:
    """Where the evidence of a suite on two builds lies."""
    return home.records / "evidence" / f"{suite.name}-{profile}-{stock_digest[:12]}-{speed_digest[:12]}.json"


def suite_stage(suite: Suite, about: str, kind: type[Proved], *, more: Callable[[], JsonMap] = nothing_more) -> Stage:
    """The stage of a suite.

    Args:
        suite: what to run.
        about: one line for people.
        kind: type of the stage's value.
        more: inputs beside the builds' content, the models, the profile and the suite's own sources.
    """

    def plan(context: Context) -> JsonMap:
        built = context.value(Built)
        return {
            "stock": built.stock_digest,
            "speed": built.speed_digest,
            "models": dict(context.value(Shelved).digests),
            "profile": context.options.profile,
            "suite": suite.code_digest(context.home.checkout),
            **more(),
        }

    def work(context: Context) -> StageResult:
        built, profile = context.value(Built), context.options.profile
        evidence = evidence_path(context.home, suite, built.stock_digest, built.speed_digest, profile)
        gates = run_suite(
            suite,
            home=context.home,
            console=context.console,
            stock=built.stock,
            speed=built.speed,
            profile=profile,
            evidence=evidence,
        )
        made = (evidence,) if evidence.is_file() else ()
        return StageResult(value=kind(evidence=evidence), gates=gates, made=made)

    def holds(context: Context, outcome: Outcome, value: Model) -> bool:
        """A record counts only with its evidence: the file where it belongs, saying what the record says."""
        built, profile = context.value(Built), context.options.profile
        evidence = evidence_path(context.home, suite, built.stock_digest, built.speed_digest, profile)
        if not isinstance(value, Proved) or value.evidence != evidence or evidence not in outcome.made:
            return False
        return bool(outcome.gates) and outcome.gates == read_gates(suite, evidence, evidence)

    return Stage(name=suite.name, about=about, value=kind, plan=plan, run=work, holds=holds)


def run_suite(
    suite: Suite,
    *,
    home: Home,
    console: Console,
    stock: Path,
    speed: Path,
    profile: str,
    evidence: Path,
    device: Device = PROCESSOR,
    seconds: float | None = None,
) -> tuple[GateResult, ...]:
    """Run the suite; its verdicts, or UNPROVEN where it left none. Cut off after `seconds`, what had ended counts."""
    evidence.unlink(missing_ok=True)
    argv = (
        *(sys.executable, "-m", "pytest", suite.folder, "-v", "--no-header", "-p", "no:cacheprovider"),
        *("--benchmark-disable-gc", "--color=no", "--timeout=0"),
        *("--stock", stock, "--speed", speed, "--profile", profile, "--home", home.root, "--evidence", evidence),
        *("--gpu-layers", str(device.layers)),
        *(word for folder in device.libraries for word in ("--libraries", folder)),
        *(("--benchmark-json", evidence.with_suffix(".benchmark.json")) if suite.name == "throughput" else ()),
    )
    log = home.work / "logs" / f"{suite.name}.log"
    with console.task(suite.name) as task:
        count = _Counter(task).line
        done = run(argv, cwd=home.checkout, env=scrubbed_env(), ok_codes=ANY_CODE, timeout=seconds, on_line=count)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(done.stdout)
    console.say(f"  {suite.name}: exit code {done.code}, log {log}")
    return read_gates(suite, evidence, log)


def read_gates(suite: Suite, evidence: Path, log: Path) -> tuple[GateResult, ...]:
    """The gates of an evidence file; a suite that left nothing readable is UNPROVEN."""
    try:
        gates = tuple(gate.result() for gate in load_evidence(evidence).gates)
    except ConfigProblem as problem:
        return (_unproven(suite, f"no readable evidence: {problem.message}; see {log}"),)
    return gates or (_unproven(suite, f"the suite recorded no gate; see {log}"),)


def _unproven(suite: Suite, reason: str) -> GateResult:
    return GateResult(gate=f"{suite.name}-evidence", verdict=Verdict.UNPROVEN, reason=reason)


class _Counter:
    """Turns pytest's verbose lines into progress: `... PASSED [ 42%]`."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def line(self, text: str) -> None:
        found = PYTEST_LINE.search(text)
        if found:
            self._task.update(int(found["percent"]), 100, found["test"])
