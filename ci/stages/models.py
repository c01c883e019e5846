"""Put the pinned model and the exact pairs on the shelf."""

from pathlib import Path

from ci.models.exact_pair import PAIRS, ensure_pair
from ci.models.fetch import ensure_model
from ci.models.lock import ModelEntry, load_models
from ci.outcome import JsonMap
from ci.stage import Context, Stage, StageResult
from ci.stages.values import Shelved


def plan(_: Context) -> JsonMap:
    """The pins of all models."""
    return {name: pin_of(entry) for name, entry in load_models().items()}


def pin_of(entry: ModelEntry) -> str:
    """What an entry's bytes must be: SHA-256 of the file, or of the pair's target."""
    if entry.index is not None:
        return entry.index.sha256
    return entry.generated.sha256["target.gguf"] if entry.generated else ""


def ensure(context: Context, entry: ModelEntry) -> tuple[Path, ...]:
    """The verified files of one model."""
    if entry.generated is None:
        return (ensure_model(context.home, entry.id, context.console),)
    pair = ensure_pair(context.home, PAIRS[entry.generated.pair], context.console)
    return tuple(pair.dir / name for name in sorted(pair.digests))


def run(context: Context) -> StageResult:
    """Fetch and generate what is missing."""
    entries = load_models()
    made = tuple(path for entry in entries.values() for path in ensure(context, entry))
    value = Shelved(digests={name: pin_of(entry) for name, entry in entries.items()})
    return StageResult(value=value, made=made)


STAGE = Stage(name="models", about="the pinned model and the exact pairs", value=Shelved, plan=plan, run=run)
