"""A suite that leaves nothing, or nothing readable, is UNPROVEN: no gate passes by absence."""

from pathlib import Path

import pytest

from ci.console import Console
from ci.digest import digest_json
from ci.files import write_json
from ci.home import Home
from ci.outcome import GateResult, JsonMap, Verdict, combine
from ci.records import find_record, write_record
from ci.stage import Context, Options, Outcome, StageResult, Status
from ci.stages.prove import Suite, evidence_path, read_gates, run_suite, suite_stage
from ci.stages.values import Built, ParityProof, Shelved

SUITE = Suite(name="parity", folder="suite", sources=("ci/*.py", "suite/*.py"))
PASSED = GateResult(gate="g", verdict=Verdict.PASS, reason="r").to_json()
WHOLE: JsonMap = {
    "suite": "parity",
    "profile": "quick",
    "stock": {"label": "b1", "digest": "a"},
    "speed": {"label": "b1-speed.1", "digest": "b"},
    "gates": [PASSED],
    "figures": {},
}


def verdict(path: Path) -> Verdict:
    return combine(gate.verdict for gate in read_gates(SUITE, path, Path("log")))


def test_whole_evidence_counts(tmp_path: Path) -> None:
    write_json(tmp_path / "e.json", WHOLE)
    assert verdict(tmp_path / "e.json") is Verdict.PASS


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{",
        "[]",
        "{}",
        '{"suite": "parity", "gates": [{"gate": "g", "verdict": "PASS"}]}',
        '{"suite": "parity", "gates": [{"gate": "g", "verdict": "GREAT", "reason": "", "evidence": {}}]}',
    ],
)
def test_missing_or_damaged_evidence_is_unproven(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "e.json"
    if text is not None:
        path.write_text(text)
    assert verdict(path) is Verdict.UNPROVEN


def test_a_suite_without_gates_is_unproven(tmp_path: Path) -> None:
    write_json(tmp_path / "e.json", {**WHOLE, "gates": []})
    assert verdict(tmp_path / "e.json") is Verdict.UNPROVEN


def checkout(tmp_path: Path, test: str) -> Home:
    """A checkout whose suite is one test file that takes the suites' options."""
    folder = tmp_path / "suite"
    folder.mkdir()
    options = ("stock", "speed", "profile", "home", "evidence")
    added = "".join(f"    parser.addoption('--{name}')\n" for name in options)
    (folder / "conftest.py").write_text(f"def pytest_addoption(parser):\n{added}")
    (folder / "test_it.py").write_text(test)
    return Home(root=tmp_path / "state", checkout=tmp_path)


@pytest.mark.parametrize(
    "test",
    [
        "def test_green_but_silent(): pass\n",
        "import pytest\ndef test_skipped(): pytest.skip('no model')\n",
        "import os\ndef test_dies(): os._exit(0)\n",
        "raise RuntimeError('cannot be collected')\n",
    ],
)
def test_a_green_exit_code_is_no_proof(tmp_path: Path, test: str) -> None:
    home = checkout(tmp_path, test)
    old = tmp_path / "evidence.json"
    write_json(old, WHOLE)  # what an earlier run found must not be taken for this one's
    gates = run_suite(
        SUITE, home=home, console=Console(), stock=tmp_path, speed=tmp_path, profile="quick", evidence=old
    )
    assert combine(gate.verdict for gate in gates) is Verdict.UNPROVEN
    assert not old.exists()


def test_the_judges_sources_are_part_of_the_inputs(tmp_path: Path) -> None:
    home = checkout(tmp_path, "")
    before = SUITE.code_digest(home.checkout)
    (tmp_path / "suite" / "test_it.py").write_text("# changed\n")
    assert SUITE.code_digest(home.checkout) != before


class Proof:
    """A suite stage whose record is there, and its evidence."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = Home(root=tmp_path / "state", checkout=tmp_path)
        built = Built(stock=tmp_path, stock_digest="a" * 64, speed=tmp_path, speed_digest="b" * 64)
        self.context = Context(
            home=self.home, console=Console(), options=Options(), values=(Shelved(digests={}), built)
        )
        self.stage = suite_stage(SUITE, "about", ParityProof)
        self.evidence = evidence_path(self.home, SUITE, "a" * 64, "b" * 64, "quick")
        write_json(self.evidence, WHOLE)

    def record(self, gates: tuple[GateResult, ...], *, evidence: Path | None = None, made: bool = True) -> None:
        inputs = self.stage.plan(self.context)
        where = evidence or self.evidence
        result = StageResult(value=ParityProof(evidence=where), gates=gates, made=(where,) if made else ())
        outcome = Outcome(
            stage=SUITE.name,
            status=Status.DONE,
            seconds=1.0,
            gates=gates,
            made=result.made,
            inputs_digest=digest_json(inputs),
        )
        write_record(self.home, outcome, inputs, result)

    def counts(self) -> bool:
        return find_record(self.stage, self.context) is not None


@pytest.fixture
def proof(tmp_path: Path) -> Proof:
    return Proof(tmp_path)


HONEST = (GateResult.from_json(PASSED),)


def test_an_honest_record_is_kept(proof: Proof) -> None:
    proof.record(HONEST)
    assert proof.counts()


def test_a_record_without_gates_does_not_count(proof: Proof) -> None:
    proof.record(())
    assert not proof.counts()


def test_a_record_that_does_not_name_its_evidence_does_not_count(proof: Proof) -> None:
    proof.record(HONEST, made=False)
    assert not proof.counts()


def test_a_record_with_other_evidence_does_not_count(proof: Proof, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    write_json(other, WHOLE)
    proof.record(HONEST, evidence=other)
    assert not proof.counts()


def test_gates_that_the_evidence_does_not_say_do_not_count(proof: Proof) -> None:
    write_json(proof.evidence, {**WHOLE, "gates": [{**PASSED, "verdict": "FAIL"}]})
    proof.record(HONEST)
    assert not proof.counts()
