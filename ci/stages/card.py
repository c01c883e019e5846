"""The check on the machine with the card, step by step, a record after each."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from ci.builds.store import Build, load_build
from ci.console import Console
from ci.errors import CarryProblem, ServerUnlike, SpeedforkError
from ci.files import sha256_file, write_atomic, write_json
from ci.gpu.cards import unfit
from ci.gpu.carry import read_evidence
from ci.gpu.manifest import FORMAT, RESULT_FILE, Answer, Machine, Prepared, all_gates
from ci.gpu.operators import PROGRAM, OperatorRun, gate_of, judge_run, parse_run
from ci.gpu.probe import ANY_CODE, find_cards, find_libraries, library_folders, said
from ci.gpu.timing import ends_by
from ci.home import Home
from ci.llama.client import Request
from ci.llama.server import OFFLOADED, LlamaServer
from ci.llama.spec import ALL_LAYERS, SERVER_PROGRAM, Device, Scenario
from ci.machine import fingerprint
from ci.models.fetch import ensure_model
from ci.outcome import GateResult, JsonMap, Verdict
from ci.process import run, scrubbed_env
from ci.release.manifest import Gate
from ci.stages import parity, throughput
from ci.stages.prove import run_suite

PROFILE = "quick"
MODEL = "smollm2-135m-q4_1"
CARD = "CUDA0"
LISTED = re.compile(r"^  (?P<device>\w+): (?P<name>.+) \(\d+ MiB, \d+ MiB free\)$", re.MULTILINE)
WORKERS = 4
START_S = 60
STOPS = "not begun: {gate} is {verdict}: {reason}"


class Check:
    """One run: what is known so far, and the steps that add to it.

    Args:
        prepared: `check.json`.
        digest: its SHA-256.
        work: folder of the unpacked files.
        results: folder for the answer.
        site: folder of this machine's Python packages.
        started: when the run began, seconds of the system's clock.
        console: for tables and progress.
    """

    def __init__(
        self,
        prepared: Prepared,
        digest: str,
        *,
        work: Path,
        results: Path,
        site: Path,
        started: float,
        console: Console,
    ) -> None:
        self.prepared, self.digest = prepared, digest
        self.work, self.results, self.site, self.started, self.console = work, results, site, started, console
        self.home = Home(root=work / "home", checkout=work / "checkout")
        self.sides = {name: work / name for name in ("stock", "speed")}
        self.machine = Machine(fingerprint=fingerprint())
        self.device = Device()
        self.gates: list[GateResult] = []
        self.evidence: dict[str, str] = {}
        self.seconds: dict[str, float] = {"unpack": round(self.elapsed, 1)}
        self.stopped = ""

    @property
    def elapsed(self) -> float:
        """Seconds since the run began, unpacking included."""
        return time.time() - self.started

    def run(self) -> tuple[GateResult, ...]:
        """All steps; every gate that there should be."""
        steps: tuple[tuple[str, Callable[[], None]], ...] = (
            ("builds", self.check_builds),
            ("card", self.check_card),
            ("operators", self.check_operators),
            ("parity", lambda: self.check_suite("parity")),
            ("throughput", lambda: self.check_suite("throughput")),
        )
        for name, work in steps:
            if not self.stopped:
                begin = self.elapsed
                work()
                self.seconds[name] = round(self.elapsed - begin, 1)
                self.save()
        answer = self.answer()
        return all_gates(self.prepared, answer, read_evidence(answer, self.results))

    def answer(self) -> Answer:
        """What is known so far."""
        return Answer(
            format=FORMAT,
            prepared=self.digest,
            stock=self.prepared.stock,
            speed=self.prepared.speed,
            machine=self.machine,
            seconds=self.seconds,
            gates=tuple(Gate.model_validate(gate.to_json()) for gate in self.gates),
            evidence=self.evidence,
            stopped=self.stopped,
        )

    def save(self) -> None:
        """Write the answer so far: whatever cuts the run off later, this is kept."""
        write_json(self.results / RESULT_FILE, self.answer().model_dump(mode="json"))

    def left(self, step: str) -> float:
        """Seconds until a step is cut off."""
        return ends_by(step) - self.elapsed

    def require(self, gate: str, finding: Callable[[], tuple[str, JsonMap]]) -> bool:
        """Keep a gate; nothing later can be done without its PASS, so whatever it says instead is UNPROVEN.

        Args:
            gate: its name.
            finding: gives reason and evidence of a PASS, or raises why not.
        """
        try:
            reason, evidence = finding()
            result = GateResult(gate=gate, verdict=Verdict.PASS, reason=reason, evidence=evidence)
        except SpeedforkError as problem:
            result = GateResult(gate=gate, verdict=Verdict.UNPROVEN, reason=problem.message)
            self.stopped = STOPS.format(gate=gate, verdict=result.verdict, reason=problem.message.splitlines()[0])
        self.gates.append(result)
        return result.verdict is Verdict.PASS

    # ---- builds --------------------------------------------------------------------------------------------------

    def check_builds(self) -> None:
        """Both are what was prepared, and start."""
        self.require("builds", self.find_builds)

    def find_builds(self) -> tuple[str, JsonMap]:
        """Every file's digest, and what each program says it is."""
        for name, carried in (("stock", self.prepared.stock), ("speed", self.prepared.speed)):
            build = load_build(self.sides[name], check=True)
            if (build.digest, build.label) != (carried.digest, carried.label):
                raise CarryProblem(f"{name}: {build.label} {build.digest[:12]} is not the build that was prepared")
            self.program(name, "--version", expect=build.label)
        return "every file has its digest, both programs start", {"stock": self.prepared.stock.digest}

    def program(self, side: str, option: str, *, expect: str) -> str:
        """What a build's server prints for an option."""
        argv = (self.sides[side] / SERVER_PROGRAM, option)
        text = said(run(argv, env=scrubbed_env(extra=self.device.env), timeout=START_S))
        if expect not in text:
            raise CarryProblem(f"{side}: {SERVER_PROGRAM} {option} names no {expect}: {text[-300:]!r}")
        return text

    # ---- card ----------------------------------------------------------------------------------------------------

    def check_card(self) -> None:
        """One card that the build is for, the libraries, and layers that are really on it."""
        for gate, finding in (
            ("card", self.find_card),
            ("libraries", self.find_toolkit),
            ("device", self.find_device),
            ("layers", self.find_layers),
        ):
            if not self.require(gate, finding):
                return

    def find_card(self) -> tuple[str, JsonMap]:
        """The one card, its driver and its state."""
        cards, state = find_cards(os.environ)
        if cards:
            self.machine = Machine(
                fingerprint=fingerprint(),
                card=cards[0].name,
                capability=str(cards[0].capability or ""),
                driver=cards[0].driver,
                memory_mib=cards[0].memory_mib,
                state=state,
            )
        doubt = unfit(cards, self.prepared.archs, self.prepared.minimum_driver)
        if doubt:
            raise CarryProblem(doubt)
        return f"{self.machine.card}, driver {self.machine.driver}", self.machine.model_dump(exclude={"fingerprint"})

    def find_toolkit(self) -> tuple[str, JsonMap]:
        """The toolkit's and the driver's libraries, carried or this machine's own."""
        folders = library_folders(self.work / "lib", self.site, os.environ)
        found, missing = find_libraries(self.prepared.libraries, folders)
        if missing:
            searched = ", ".join(map(str, folders))
            raise CarryProblem(f"{', '.join(missing)}: not carried, and not on this machine in: {searched}")
        self.device = Device(layers=ALL_LAYERS, libraries=tuple(dict.fromkeys(found.values())))
        return f"{len(found)} found", {name: str(folder) for name, folder in found.items()}

    def find_device(self) -> tuple[str, JsonMap]:
        """Both builds see the card: a device library that does not load leaves a server that runs without it."""
        for side in self.sides:
            text = self.program(side, "--list-devices", expect=f"{CARD}: ")
            listed = {found["device"]: found["name"] for found in LISTED.finditer(text)}
            if listed != {CARD: self.machine.card}:
                raise CarryProblem(f"{side}: sees {listed}, expected {CARD} as {self.machine.card}")
        return f"both builds see {self.machine.card} as {CARD}", {}

    def find_layers(self) -> tuple[str, JsonMap]:
        """A server of each build says that all layers of a real model are on the card, and answers."""
        model = ensure_model(self.home, MODEL)
        scenario = Scenario(name="layers", model=model, device=self.device)
        told = {side: self.layers_of(load_build(folder), scenario) for side, folder in self.sides.items()}
        return "; ".join(f"{side}: {line}" for side, line in told.items()), dict(told)

    def layers_of(self, build: Build, scenario: Scenario) -> str:
        """What the log of a server says about its layers."""
        logs = self.home.work / "logs" / "layers"
        with LlamaServer.start(build.path, scenario, log_dir=logs, expect_build=build.label) as server:
            server.complete(Request(prompt=(1,), n_predict=4))
            server.require_as_asked()
            found = OFFLOADED.search(server.log_path.read_text("utf-8", "replace"))
        if found is None or found[1] != found[2]:
            raise ServerUnlike(f"{build.label}: not all layers are on the card: {found[0] if found else 'none told'}")
        return found[0]

    # ---- operators and suites ------------------------------------------------------------------------------------

    def check_operators(self) -> None:
        """Each operator on the card against the processor, while there is time."""
        with self.console.task("operators") as task:
            for done, operator in enumerate(self.prepared.operators):
                task.update(done, len(self.prepared.operators), operator)
                if self.left("operators") > 0:
                    self.gates.append(self.operator_gate(operator))
                    self.save()

    def operator_gate(self, operator: str) -> GateResult:
        """The gate of one operator; one that is not done in time is UNPROVEN."""
        argv = (self.sides["speed"] / PROGRAM, "test", "-o", operator, "-b", CARD, "-j", str(WORKERS))
        env, left = scrubbed_env(extra=self.device.env), self.left("operators")
        try:
            done = run(argv, env=env, ok_codes=ANY_CODE, timeout=left)
        except SpeedforkError as problem:
            return GateResult(gate=gate_of(operator), verdict=Verdict.UNPROVEN, reason=problem.message)
        found: OperatorRun = parse_run(done.text, operator=operator, code=done.code, device=CARD)
        return judge_run(found)

    def check_suite(self, name: str) -> None:
        """A suite on the card; cut off at the end of its time, what it had found out by then is kept."""
        suite, evidence = {"parity": parity.SUITE, "throughput": throughput.SUITE}[name], self.path_of(name)
        run_suite(
            suite,
            home=self.home,
            console=self.console,
            stock=self.sides["stock"],
            speed=self.sides["speed"],
            profile=PROFILE,
            evidence=evidence,
            device=self.device,
            seconds=max(1.0, self.left(name)),
        )
        log = self.home.work / "logs" / f"{name}.log"
        write_atomic(self.results / log.name, log.read_bytes())
        if evidence.is_file():
            self.evidence[evidence.name] = sha256_file(evidence)

    def path_of(self, suite: str) -> Path:
        """Where a suite's evidence goes."""
        return self.results / f"{suite}-{PROFILE}.json"
