"""Records: the JSON file that each finished stage leaves under the digest of its inputs."""

from pathlib import Path

from ci.config import Model, parse
from ci.errors import ConfigProblem
from ci.files import digest_json, read_json, sha256_file, write_json
from ci.home import Home
from ci.outcome import GateResult, JsonMap, Verdict
from ci.stage import Context, Outcome, Stage, StageResult, Status

RECORD_SCHEMA = 1


def record_path(home: Home, stage: str, inputs_digest: str) -> Path:
    """Where the record of a stage with these inputs lies."""
    return home.records / f"{stage}-{inputs_digest[:16]}.json"


def write_record(home: Home, outcome: Outcome, inputs: JsonMap, result: StageResult) -> None:
    """Leave the record; it appears whole or not at all."""
    record = outcome.to_json() | {
        "schema": RECORD_SCHEMA,
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
        record = read_json(path)
        value = parse(stage.value, record["value"], source=str(path))
        gates = tuple(GateResult.from_json(gate) for gate in record["gates"])
        made = {Path(name): digest for name, digest in record["made"].items()}
        intact = record["schema"] == RECORD_SCHEMA and record["inputs_digest"] == inputs_digest
    except (ConfigProblem, KeyError, ValueError, TypeError, AttributeError):
        return None  # a record of another version or a damaged one: the stage runs again
    outcome = Outcome(
        stage=stage.name,
        status=Status.KEPT,
        seconds=0.0,
        gates=gates,
        made=tuple(made),
        inputs_digest=inputs_digest,
    )
    if outcome.verdict is Verdict.UNPROVEN or not intact:
        return None
    return (outcome, value) if all(_matches(path, digest) for path, digest in made.items()) else None


def _matches(path: Path, digest: str) -> bool:
    return path.is_file() and sha256_file(path) == digest
