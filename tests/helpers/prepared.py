"""A prepared check and an answer to it, as values and as files."""

from pathlib import Path

from ci.files import sha256_file, write_json
from ci.gpu.manifest import CHECK_FILE, RESULT_FILE, Answer, Prepared, expected_gates
from ci.outcome import JsonMap, JsonValue

STOCK, SPEED = {"label": "b7", "digest": "a" * 64}, {"label": "b7-speed.1", "digest": "b" * 64}
H200 = {
    "fingerprint": {"cpu": "a processor"},
    "card": "NVIDIA H200",
    "capability": "9.0",
    "driver": "580.159.03",
    "memory_mib": 143771,
    "state": {"power.limit": "700.00 W"},
}
CHECK: JsonMap = {
    "format": 1,
    "nonce": "0" * 32,
    "target": "sm90-cu13",
    "sass": ["sm_90"],
    "ptx": [],
    "minimum_driver": "580",
    "libraries": ["libcudart.so.13"],
    "operators": ["GET_ROWS", "MUL_MAT"],
    "python": "3.12",
    "stock": STOCK,
    "speed": SPEED,
    "parts": [{"name": "part-01", "size": 1, "sha256": "c" * 64}],
    "files": {"stock/llama-server": {"sha256": "d" * 64, "executable": True}},
}


def gate(name: str, verdict: str = "PASS", **evidence: JsonValue) -> dict[str, JsonValue]:
    counts = {"n_ran": 5, "n_passed": 5} if name.startswith("operator-") else {}
    return {"gate": name, "verdict": verdict, "reason": "why", "evidence": {**counts, **evidence}}


def suite_evidence(suite: str, verdict: str = "PASS") -> dict[str, JsonValue]:
    gates = [gate(f"{suite}-gate", verdict)]
    return {"suite": suite, "profile": "quick", "stock": STOCK, "speed": SPEED, "gates": gates, "figures": {}}


def write_prepared(folder: Path) -> Path:
    write_json(folder / CHECK_FILE, CHECK)
    return folder


def write_answer(folder: Path, to: Path, **changes: JsonValue) -> Path:
    """An answer in which everything passed, but for what `changes` says."""
    for suite in ("parity", "throughput"):
        write_json(folder / f"{suite}-quick.json", suite_evidence(suite))
    document = {**answer_document(to, folder), **changes}
    write_json(folder / RESULT_FILE, document)
    return folder


def answer_document(to: Path, folder: Path) -> dict[str, JsonValue]:
    names = ("parity-quick.json", "throughput-quick.json")
    return {
        "format": 1,
        "prepared": sha256_file(to / CHECK_FILE),
        "stock": STOCK,
        "speed": SPEED,
        "machine": H200,
        "seconds": {"builds": 1.0},
        "gates": [gate(name) for name in expected_gates(Prepared.model_validate(CHECK))],
        "evidence": {name: sha256_file(folder / name) for name in names},
        "stopped": "",
    }


def made_answer(**changes: JsonValue) -> Answer:
    """The same as a value, without files beside it."""
    gates = [gate(name) for name in expected_gates(Prepared.model_validate(CHECK))]
    plain = {"format": 1, "prepared": "e" * 64, "stock": STOCK, "speed": SPEED, "machine": H200, "gates": gates}
    return Answer.model_validate({**plain, **changes})
