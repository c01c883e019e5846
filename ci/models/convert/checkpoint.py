"""Checkpoints on disk: which files count, what they say, and a folder without anything that could be run.

Only JSON, tokenizer files and safetensors are ever read. The converter gets a folder of links to these alone, so a
repository's own code and its pickled files are not there to be loaded, whatever its `config.json` asks for.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from ci.errors import CheckpointProblem, ConfigProblem
from ci.files import read_json
from ci.models.checkpoints import (
    CONFIG,
    INDEX,
    PICKLED,
    TOKENIZERS,
    texts_of,
    weights_fault,
    weights_of,
)
from ci.models.convert.safetensors import PREFIX, Stored, header_length, parse_header
from ci.outcome import JsonMap

LARGEST = {CONFIG: 4 << 20, INDEX: 32 << 20}
"""Bytes up to which a JSON file is read; real ones have some thousand and some million."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """A folder that holds a model as its authors publish it.

    Attributes:
        folder: where.
        config: its `config.json`.
        texts: what may be read of it beside weights.
        files: its weights; none where only config and tokenizer are needed.
        tensors: what the headers of the weights say, by name.
    """

    folder: Path
    config: JsonMap
    texts: tuple[Path, ...]
    files: tuple[Path, ...] = ()
    tensors: Mapping[str, Stored]

    @property
    def size(self) -> int:
        """Bytes of the weights."""
        return sum(file.stat().st_size for file in self.files)

    @property
    def plain_size(self) -> int:
        """Bytes of the weights with 16 bits a value, as the converter writes them: about what it makes."""
        return 2 * sum(prod(stored.shape) for stored in self.tensors.values())


def read_draft(folder: Path, only: Collection[str] | None = None) -> Checkpoint:
    """A draft with all its weights; their values are not read.

    Args:
        folder: where it is.
        only: names of the files that count; None for all that are there.

    Raises:
        CheckpointProblem: names the file that is missing, cut short or of another kind.
    """
    config, names = read_config(folder), _names(folder, only)
    files = _weights(folder, names)
    tensors = {name: stored for file in files for name, stored in read_tensors(file).items()}
    return Checkpoint(folder=folder, config=config, texts=_texts(folder, names), files=files, tensors=tensors)


def read_target(folder: Path, only: Collection[str] | None = None) -> Checkpoint:
    """What a conversion needs of a target: its config and a tokenizer; weights need not be there.

    Raises:
        CheckpointProblem: one of the two is missing or cannot be read.
    """
    config, names = read_config(folder), _names(folder, only)
    if not set(TOKENIZERS) & set(names):
        raise CheckpointProblem(f"{folder}: no tokenizer: none of {', '.join(TOKENIZERS)}")
    return Checkpoint(folder=folder, config=config, texts=_texts(folder, names), tensors={})


def read_config(folder: Path) -> JsonMap:
    """The `config.json` of a checkpoint.

    Raises:
        CheckpointProblem: there is none, it is too large to be one, or it is no JSON object.
    """
    if not (folder / CONFIG).is_file():
        raise CheckpointProblem(f"{folder}: no {CONFIG}, so no checkpoint", hint="name the folder that holds it")
    return _json(folder / CONFIG)


def read_tensors(file: Path) -> dict[str, Stored]:
    """What the header of one safetensors file says.

    Raises:
        CheckpointProblem: see `ci.models.convert.safetensors`.
    """
    size, shown = file.stat().st_size, str(file)
    with file.open("rb") as stream:
        length = header_length(stream.read(PREFIX), size, shown=shown)
        return parse_header(stream.read(length), size - PREFIX - length, shown=shown)


def link_data(checkpoint: Checkpoint, into: Path) -> Path:
    """A folder of links to the files of a checkpoint that may be read; it keeps the name, which becomes the model's.

    Returns:
        The folder, below `into`.
    """
    place = into / checkpoint.folder.resolve().name
    place.mkdir(parents=True)
    for path in (*checkpoint.texts, *checkpoint.files):
        (place / path.name).symlink_to(path.resolve())
    return place


def _texts(folder: Path, names: Sequence[str]) -> tuple[Path, ...]:
    return tuple(folder / name for name in texts_of(names))


def _weights(folder: Path, names: Sequence[str]) -> tuple[Path, ...]:
    found = tuple(_indexed(folder, names)) or weights_of(names)
    missing = [name for name in found if name not in names]
    if missing:
        raise CheckpointProblem(f"{folder}: {len(missing)} files of weights are missing: {', '.join(missing[:4])}")
    if fault := weights_fault(names):
        pickled = not found and any(name.endswith(PICKLED) for name in names)
        hint = "take the repository's safetensors files: loading pickled ones would run code" if pickled else None
        raise CheckpointProblem(f"{folder}: {fault}", hint=hint)
    return tuple(folder / name for name in found)


def _indexed(folder: Path, names: Sequence[str]) -> Iterator[str]:
    """File names of the index, when there is one."""
    if INDEX not in names:
        return
    where = _json(folder / INDEX).get("weight_map")
    if not isinstance(where, dict) or not where:
        raise CheckpointProblem(f"{folder / INDEX}: no weight_map")
    for name in sorted({str(name) for name in where.values()}):
        if "/" in name or not name.endswith(".safetensors"):
            raise CheckpointProblem(f"{folder / INDEX}: {name!r} is no safetensors file beside it")
        yield name


def _names(folder: Path, only: Collection[str] | None) -> tuple[str, ...]:
    """Plain files of the folder, as far as they count."""
    there = sorted(path.name for path in folder.iterdir() if path.is_file())
    return tuple(name for name in there if only is None or name in only)


def _json(file: Path) -> JsonMap:
    """A JSON object whose size is looked at before it is read."""
    size, most = file.stat().st_size, LARGEST[file.name]
    if size > most:
        raise CheckpointProblem(f"{file}: has {size} bytes, expected at most {most}")
    try:
        return read_json(file)
    except ConfigProblem as bad:
        raise CheckpointProblem(bad.message) from bad
