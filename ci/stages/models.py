"""Put the models of the suites on the shelf: the pinned real one and the exact pairs."""

from collections.abc import Mapping
from pathlib import Path

from ci.digest import digest_json
from ci.errors import DigestMismatch
from ci.files import sha256_file
from ci.models.exact_pair import MODEL_FILES, PAIRS, Pair, ensure_pair
from ci.models.fetch import ensure_files
from ci.models.lock import Generated, ModelEntry, load_models, require_pinned
from ci.outcome import JsonMap
from ci.stage import Context, Stage, StageResult
from ci.stages.values import Shelved


def used() -> dict[str, ModelEntry]:
    """The models that the suites use, by id; every other one is fetched only when somebody asks for it.

    Raises:
        ConfigProblem: one of them is not pinned.
    """
    return {name: require_pinned(entry) for name, entry in load_models().items() if entry.suites}


def plan(_: Context) -> JsonMap:
    """The pins of the suites' models."""
    return {name: pin_of(entry) for name, entry in used().items()}


def pin_of(entry: ModelEntry) -> str:
    """What an entry's bytes must be, in the form of `digest_of`."""
    if entry.generated is not None:
        return digest_json(dict(entry.generated.sha256))
    return _one({shard.name: shard.sha256 for shard in entry.shards})


def digest_of(entry: ModelEntry, files: tuple[Path, ...]) -> str:
    """What an entry's bytes are: SHA-256 of its only file, or over the SHA-256 by name of several GGUF files."""
    if entry.generated is not None:
        return digest_json({path.name: sha256_file(path) for path in files if path.name in MODEL_FILES})
    return _one({path.name: sha256_file(path) for path in files})


def _one(digests: Mapping[str, str]) -> str:
    return next(iter(digests.values())) if len(digests) == 1 else digest_json(dict(digests))


def ensure(context: Context, entry: ModelEntry, *, again: bool = False) -> tuple[Path, ...]:
    """The verified files of one model; with `again` hashed even where a stamp says that they were.

    Raises:
        DigestMismatch: a generated file does not have its pinned bytes.
        SpeedforkError: from the download or the generation.
    """
    if entry.generated is None:
        return ensure_files(context.home, entry, context.console, again=again)
    pair = ensure_pair(context.home, PAIRS[entry.generated.pair], context.console)
    check_pins(entry.id, pair, entry.generated)
    return tuple(pair.dir / name for name in sorted(pair.digests))


def check_pins(model_id: str, pair: Pair, pinned: Generated) -> None:
    """A pair's files have the pinned bytes: the gates' figures hold for these and no others.

    Raises:
        DigestMismatch: lists every file that is not pinned or has another digest.
    """
    faults = [fault for name in MODEL_FILES if (fault := _fault(name, pair.digests[name], pinned.sha256))]
    if faults:
        listed = "".join(f"\n    {fault}" for fault in faults)
        raise DigestMismatch(
            f"{pair.dir}: not the pinned files of {model_id}{listed}",
            hint="bring back ci/models and the pinned versions of numpy and gguf, or pin the new digests "
            "in ci/config/models.toml",
        )


def _fault(name: str, found: str, pins: Mapping[str, str]) -> str:
    if name not in pins:
        return f"{name}: has no pin; its sha256 is {found}"
    return "" if found == pins[name] else f"{name}: sha256 is {found}, the pin is {pins[name]}"


def run(context: Context) -> StageResult:
    """Fetch and generate what is missing."""
    entries = used()
    files = {name: ensure(context, entry) for name, entry in entries.items()}
    value = Shelved(digests={name: digest_of(entry, files[name]) for name, entry in entries.items()})
    return StageResult(value=value, made=tuple(path for paths in files.values() for path in paths))


STAGE = Stage(name="models", about="the pinned model and the exact pairs", value=Shelved, plan=plan, run=run)
