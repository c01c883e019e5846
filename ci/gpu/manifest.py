"""What is carried to a machine with a card, and what it sends back, as read strictly from JSON."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from ci.builds.arch import ArchPlan, Capability
from ci.config import Field, Model, Sha256
from ci.gpu.cards import Card, unfit
from ci.gpu.operators import gate_of
from ci.outcome import GateResult, Verdict, combine
from ci.release.manifest import BuildRef, Gate, SuiteEvidence

CHECK_FILE = "check.json"
RESULT_FILE = "gpu_check.json"
SCRIPT = "gpu_check.py"
FORMAT: Literal[1] = 1
OWN_GATES = ("builds", "card", "libraries", "device", "layers")
SUITES = ("parity", "throughput")

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


class Part(Model):
    """One of the files to carry: a slice of the packed files, in order."""

    name: Name
    size: int = Field(gt=0)
    sha256: Sha256


class Carried(Model):
    """One file as it is laid out there."""

    sha256: Sha256
    executable: bool


class Prepared(Model):
    """`check.json`: everything that the other machine needs to know, and what its answer is held against.

    `nonce` makes each preparation one of its own: an answer names this file's digest, and so belongs to it alone.
    """

    format: Literal[1]
    nonce: str = Field(pattern=r"^[0-9a-f]{32}$")
    target: Name
    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    minimum_driver: str = Field(pattern=r"^[0-9]*$")
    libraries: tuple[str, ...]
    operators: tuple[str, ...] = Field(min_length=1)
    python: str = Field(pattern=r"^[0-9]+\.[0-9]+$")
    stock: BuildRef
    speed: BuildRef
    parts: tuple[Part, ...] = Field(min_length=1)
    files: dict[str, Carried] = Field(min_length=1)

    @property
    def archs(self) -> ArchPlan:
        """The device code that the builds carry."""
        return ArchPlan(cmake="", sass=self.sass, ptx=self.ptx)


class Machine(Model):
    """Where it ran: the usual fingerprint, and the card."""

    fingerprint: dict[str, str | int]
    card: str = ""
    capability: str = Field(default="", pattern=r"^([1-9][0-9]?\.[0-9])?$")
    driver: str = Field(default="", pattern=r"^([0-9]+(\..*)?)?$")
    memory_mib: int = 0
    state: dict[str, str] = Field(default_factory=dict)

    @property
    def cards(self) -> tuple[Card, ...]:
        """The card as a value; none where none was found."""
        if not self.card:
            return ()
        capability = Capability.parse(self.capability) if self.capability else None
        return (Card(name=self.card, capability=capability, driver=self.driver, memory_mib=self.memory_mib),)


class Answer(Model):
    """`gpu_check.json`, written anew after each step: our own gates, and the digests of the suites' evidence.

    `stopped` says why later steps were not begun.
    """

    format: Literal[1]
    prepared: Sha256
    stock: BuildRef
    speed: BuildRef
    machine: Machine
    seconds: dict[str, float] = Field(default_factory=dict)
    gates: tuple[Gate, ...] = ()
    evidence: dict[Name, Sha256] = Field(default_factory=dict)
    stopped: str = ""


def expected_gates(prepared: Prepared) -> tuple[str, ...]:
    """Names of the gates that every answer must have beside those of the suites."""
    return (*OWN_GATES, *(gate_of(operator) for operator in prepared.operators))


def all_gates(prepared: Prepared, answer: Answer, suites: Mapping[str, SuiteEvidence]) -> tuple[GateResult, ...]:
    """Every gate that there should be: what an answer lacks is UNPROVEN."""
    own = {gate.gate: gate.result() for gate in answer.gates}
    why = answer.stopped or "the run was cut off before it"
    ours = (own.pop(name, _unproven(name, why)) for name in expected_gates(prepared))
    theirs = (gate for name in SUITES for gate in _suite_gates(name, suites.get(name), why))
    return (*ours, *own.values(), *theirs)


def _suite_gates(name: str, evidence: SuiteEvidence | None, why: str) -> tuple[GateResult, ...]:
    gates = tuple(gate.result() for gate in evidence.gates) if evidence else ()
    return gates or (_unproven(f"{name}-evidence", why),)


def _unproven(gate: str, reason: str) -> GateResult:
    return GateResult(gate=gate, verdict=Verdict.UNPROVEN, reason=reason)


def strange(answer: Answer, asked: Prepared, digest: str) -> Iterator[str]:
    """What in an answer cannot be: another preparation, other builds, a PASS that its own figures deny.

    Args:
        answer: what came back.
        asked: what was prepared.
        digest: hex SHA-256 of its `check.json`.
    """
    if answer.prepared != digest:
        yield f"it answers check.json {answer.prepared[:12]}, the one here is {digest[:12]}"
    yield from other_builds(answer, asked)
    passed = {gate.gate: gate for gate in answer.gates if gate.verdict is Verdict.PASS}
    if len({gate.gate for gate in answer.gates}) != len(answer.gates):
        yield "it has several verdicts for one gate"
    doubt = unfit(answer.machine.cards, asked.archs, asked.minimum_driver)
    if doubt and passed:
        yield from (f"gate {name} says PASS, yet {doubt}" for name in passed if name != "builds")
    for name in map(gate_of, asked.operators):
        if name in passed and not _all_ran(passed[name]):
            yield f"gate {name} says PASS without cases that ran and passed"


def _all_ran(gate: Gate) -> bool:
    ran, passed = gate.evidence.get("n_ran"), gate.evidence.get("n_passed")
    return type(ran) is int and ran > 0 and ran == passed


def other_builds(found: Answer | SuiteEvidence, asked: Prepared) -> Iterator[str]:
    """Sides that ran another build than was carried."""
    for name, ran, carried in (("stock", found.stock, asked.stock), ("speed", found.speed, asked.speed)):
        if ran != carried:
            told = f"{ran.label} {ran.digest[:12]}" if ran else "nothing"
            yield f"{name}: it ran {told}, carried was {carried.label} {carried.digest[:12]}"


def headline(gates: tuple[GateResult, ...]) -> str:
    """The last line: the verdict, and the first gate that stands in the way of a PASS."""
    verdict = combine(gate.verdict for gate in gates)
    first = next((gate for gate in gates if gate.verdict is verdict), None)
    if first is None or verdict is Verdict.PASS:
        return f"gpu_check={verdict.value} {len(gates)} gates"
    return f"gpu_check={verdict.value} {first.gate}: {first.reason.splitlines()[0]}"
