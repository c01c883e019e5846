"""Records: the JSON file that each finished stage leaves under the digest of its inputs."""

import math
from pathlib import Path

from ci.config import Model, parse
from ci.digest import digest_json
from ci.errors import ConfigProblem
from ci.files import read_json, sha256_file, write_json
from ci.home import Home
from ci.outcome import GateResult, JsonMap, Verdict
from ci.stage import Context, Outcome, Stage, StageResult, Status

RECORD_SCHEMA = 2


def record_path(home: Home, stage: str, inputs_digest: str) -> Path:
    """Where the record of a stage with these inputs lies."""
    return home.records / f"{stage}-{inputs_digest[:16]}.json"


def write_record(home: Home, outcome: Outcome, inputs: JsonMap, result: StageResult) -> None:
    """Leave the record; it appears whole or not at all."""
    record = outcome.to_json() | {
        "schema": RECORD_SCHEMA,
        "home": str(home.root),
        "inputs": dict(inputs),
        "value": result.value.model_dump(mode="json"),
        "made": {str(path): sha256_file(path) for path in result.made},
    }
    write_json(record_path(home, outcome.stage, outcome.inputs_digest), record)


def find_record(stage: Stage, context: Context) -> tuple[Outcome, Model] | None:
    """The outcome and value of an earlier run with the same inputs whose files still match, or None.

    A recorded FAIL stands until the inputs change or the stage is asked for again: rerunning until green is no
    proof. UNPROVEN is no answer, so it is tried again.
    """
    inputs_digest = digest_json(stage.plan(context))
    path = record_path(context.home, stage.name, inputs_digest)
    if not path.is_file():
        return None
    try:
        outcome, value, made = _read(stage, path, context.home)
    except (ConfigProblem, KeyError, ValueError, TypeError, AttributeError, RecursionError):
        return None  # a record of another version or a damaged one: the stage runs again
    if outcome.verdict is Verdict.UNPROVEN or outcome.inputs_digest != inputs_digest:
        return None
    whole = stage.holds(context, outcome, value) and all(_matches(path, digest) for path, digest in made.items())
    return (outcome, value) if whole else None


def _read(stage: Stage, path: Path, home: Home) -> tuple[Outcome, Model, dict[Path, str]]:
    """A record's parts; raises one of several errors when it is not of our making."""
    record = read_json(path)
    # a copied or moved state must not lead back to the place that it was copied from
    if (record["schema"], record["stage"], record["home"]) != (RECORD_SCHEMA, stage.name, str(home.root)):
        raise ConfigProblem(f"{path}: not a record of stage {stage.name!r}, format {RECORD_SCHEMA}, of {home.root}")
    made = {Path(name): str(digest) for name, digest in record["made"].items()}
    if record["status"] != Status.DONE or not math.isfinite(float(record["seconds"])):
        raise ConfigProblem(f"{path}: not the record of a finished stage")
    outcome = Outcome(
        stage=stage.name,
        status=Status.KEPT,
        seconds=float(record["seconds"]),
        gates=tuple(GateResult.from_json(gate) for gate in record["gates"]),
        made=tuple(made),
        inputs_digest=str(record["inputs_digest"]),
    )
    if record["verdict"] != (outcome.verdict and outcome.verdict.value):
        raise ConfigProblem(f"{path}: its verdict is not that of its gates")
    return outcome, parse(stage.value, record["value"], source=str(path)), made


def _matches(path: Path, digest: str) -> bool:
    try:
        return path.is_file() and sha256_file(path) == digest
    except OSError:
        return False
