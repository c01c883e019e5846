"""inspect-model: what a GGUF model says about itself, from its header; its tensor data is never read."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from ci.console import Console
from ci.errors import UsageProblem
from ci.home import Home
from ci.models.fetch import ensure_model
from ci.models.header.facts import DraftFacts, ModelFacts, TypeCount, VocabularyFacts, facts_of
from ci.models.header.shards import read_model
from ci.models.header.values import ArrayValue, ModelHeader, Scalar, Value
from ci.models.header.words import plain
from ci.outcome import JsonValue

FEW, LONG, PATH = 4, 200, 4096
"""Elements of an array, and letters of a text and of a line with a path, that are shown."""

MOST_ROWS = 200
"""Rows of one table; real models have about fifty keys and ten types."""

TYPE_HEADINGS = ("type", "number", "tensors", "elements", "bytes", "share of bytes")


def inspect_model(home: Home, console: Console, file: str = "", model: str = "") -> int:
    """Print a model's facts, its tensors by type, its metadata, and what is odd about it.

    Args:
        home: where fetched models are.
        console: where to print.
        file: a GGUF file; any shard of a model in shards.
        model: an id of `models.toml` instead; it is fetched when it is not here.

    Raises:
        UsageProblem: neither or both are given, or no such id.
        ModelUnreadable: not a GGUF model, or a shard is missing.
    """
    if bool(file) == bool(model):
        hint = "invoke inspect-model --file FILE, or invoke inspect-model --model ID"
        raise UsageProblem("name one model: a file, or an id of ci/config/models.toml", hint=hint)
    found = read_model(Path(file) if file else ensure_model(home, model, console))
    facts = facts_of(found)
    tell(console, found, facts)
    console.document(to_json(found, facts))
    return 0


def tell(console: Console, model: ModelHeader, facts: ModelFacts) -> None:
    """Facts, tensors by type, metadata, notes: as tables, for a person."""
    console.table(("fact", "value"), list(fact_rows(model, facts)), title=plain(str(model.path), PATH))
    _table(console, TYPE_HEADINGS, type_rows(facts), title="tensors by type")
    rows = [(plain(key), shown(value)) for key, value in islice(model.metadata.items(), MOST_ROWS + 1)]
    _table(console, ("key", "value"), rows, title=f"metadata, {len(model.metadata)} keys")
    for note in model.notes:
        console.result(f"note: {plain(note, PATH)}")


def _table(console: Console, headings: Sequence[str], rows: Sequence[Sequence[str]], *, title: str) -> None:
    """A table where there is anything to show, and never a longer one than a person reads."""
    if rows:
        console.table(headings, rows[:MOST_ROWS], title=title)
    if len(rows) > MOST_ROWS:
        console.result(f"only the first {MOST_ROWS} are shown; --json has all")


def fact_rows(model: ModelHeader, facts: ModelFacts) -> Iterator[tuple[str, str]]:
    """One row a fact."""
    first = model.shards[0]
    yield "architecture", plain(facts.arch) or "not said"
    yield "name", plain(facts.name) or "not said"
    yield "size", f"{facts.file_size:,} bytes" + (f" in {len(model.shards)} shards" if model.shards[1:] else "")
    yield "parameters", f"{facts.parameters:,}"
    yield "layers, width", f"{_said(facts.n_layer)}, {_said(facts.n_embd)}"
    yield "context", f"{_said(facts.context_length)} tokens"
    yield "vocabulary", _vocabulary_words(facts.vocabulary)
    if facts.dspark:
        yield "draft", _draft_words(facts.dspark)
    yield "format", f"GGUF version {first.version}, {first.byte_order}-endian, {len(model.tensors)} tensors"


def _vocabulary_words(vocabulary: VocabularyFacts) -> str:
    kind = " ".join(word for word in (plain(vocabulary.model), plain(vocabulary.pre)) if word) or "not said"
    ids = {"bos": vocabulary.bos, "eos": vocabulary.eos, "mask": vocabulary.mask}
    marks = "".join(f", {name} {number}" for name, number in ids.items() if number is not None)
    return f"{_said(vocabulary.count)} tokens, tokenizer {kind}{marks}"


def _draft_words(draft: DraftFacts) -> str:
    head = "DFlash without Markov head" if draft.markov_rank is None else f"DSpark, Markov rank {draft.markov_rank}"
    layers = ", ".join(map(str, draft.target_layers[:16])) or "not said"
    confidence = "with" if draft.confidence_head else "without"
    start = "the anchor" if draft.sample_from_anchor else "a bonus token"
    return (
        f"{head}; block size {_said(draft.block_size)}; target layers {layers}; "
        f"{confidence} confidence head; a block begins at {start}"
    )


def _said(value: int | None) -> str:
    return "not said" if value is None else f"{value:,}"


def type_rows(facts: ModelFacts) -> list[tuple[str, ...]]:
    """One row a tensor type."""
    total = sum(count.bytes or 0 for count in facts.types)
    return [
        (count.name, str(count.number), str(count.tensors), f"{count.elements:,}", *_size_cells(count, total))
        for count in facts.types
    ]


def _size_cells(count: TypeCount, total: int) -> tuple[str, str]:
    if count.bytes is None:
        return "unknown", "unknown"
    return f"{count.bytes:,}", f"{count.bytes / total:.1%}" if total else "none"


def shown(value: Value) -> str:
    """A metadata value on one line: long texts cut, of long arrays the first elements and how many there are."""
    if isinstance(value, ArrayValue):
        return _array_words(value.items, value.element)
    return plain(_words(value), LONG)


def _words(value: Scalar) -> str:
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def _array_words(items: Sequence[Scalar], element: str) -> str:
    few = ", ".join(plain(_words(item), LONG // FEW) for item in items[:FEW])
    return f"{len(items):,} x {element}: {few}{', ...' if len(items) > FEW else ''}"


def to_json(model: ModelHeader, facts: ModelFacts) -> dict[str, JsonValue]:
    """Facts, metadata as it is shown to people (numbers stay numbers), tensors and notes."""
    return {
        **_clean(dataclasses.asdict(facts)),
        "files": [str(shard.path) for shard in model.shards],
        "version": model.shards[0].version,
        "byte_order": model.shards[0].byte_order,
        "metadata": {
            plain(key, len(key)): shown(value) if isinstance(value, str | ArrayValue) else _finite(value)
            for key, value in model.metadata.items()
        },
        "tensors": [
            {"name": plain(tensor.name), "shape": list(tensor.shape), "type": tensor.number, "bytes": tensor.size}
            for tensor in model.tensors
        ],
        "notes": list(model.notes),
    }


def _clean(value: JsonValue) -> JsonValue:
    """The same with all texts plain."""
    if isinstance(value, dict):
        return {key: _clean(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(inner) for inner in value]
    return plain(value, LONG) if isinstance(value, str) else value


def _finite(value: bool | int | float) -> bool | int | float | str:
    """Infinity and NaN are no JSON."""
    return value if math.isfinite(value) else str(value)
