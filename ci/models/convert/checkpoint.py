"""Checkpoints on disk: which files count, what they say, and a folder without anything that could be run.

Only JSON, tokenizer files and safetensors are ever read. The converter gets a folder of links to these alone, so a
repository's own code and its pickled files are not there to be loaded, whatever its `config.json` asks for.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from ci.errors import CheckpointProblem, ConfigProblem
from ci.files import read_json
from ci.models.convert.safetensors import PREFIX, Stored, header_length, parse_header
from ci.outcome import JsonMap

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
WEIGHTS = "model*.safetensors"
"""What upstream's converter takes for weights."""
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json")
"""Any of them is a tokenizer."""
READ = (".json", ".jinja", ".md", ".model", ".txt")
"""Endings of what the converter may read beside the weights; the model card gives licence and author."""
MASK = "mask_embedding.pt"
"""What the converter would load beside the weights of some drafts."""
PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
NUMBERED = re.compile(r"model-(\d{5})-of-(\d{5})\.safetensors")


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """A folder that holds a model as its authors publish it.

    Attributes:
        folder: where.
        config: its `config.json`.
        files: its weights; none where only config and tokenizer are needed.
        tensors: what the headers of the weights say, by name.
    """

    folder: Path
    config: JsonMap
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


def read_draft(folder: Path) -> Checkpoint:
    """A draft with all its weights; their values are not read.

    Raises:
        CheckpointProblem: names the file that is missing, cut short or of another kind.
    """
    config, files = read_config(folder), _weights(folder)
    if (folder / MASK).is_file():
        raise CheckpointProblem(f"{folder / MASK}: pickled, so it is not read; without it the draft would be another")
    tensors = {name: stored for file in files for name, stored in read_tensors(file).items()}
    return Checkpoint(folder=folder, config=config, files=files, tensors=tensors)


def read_target(folder: Path) -> Checkpoint:
    """What a conversion needs of a target: its config and a tokenizer; weights need not be there.

    Raises:
        CheckpointProblem: one of the two is missing or cannot be read.
    """
    config = read_config(folder)
    if not _names(folder, TOKENIZERS):
        raise CheckpointProblem(f"{folder}: no tokenizer: none of {', '.join(TOKENIZERS)}")
    return Checkpoint(folder=folder, config=config, tensors={})


def read_config(folder: Path) -> JsonMap:
    """The `config.json` of a checkpoint.

    Raises:
        CheckpointProblem: there is none, or it is no JSON object.
    """
    if not (folder / CONFIG).is_file():
        raise CheckpointProblem(f"{folder}: no {CONFIG}, so no checkpoint", hint="name the folder that holds it")
    try:
        return read_json(folder / CONFIG)
    except ConfigProblem as bad:
        raise CheckpointProblem(bad.message) from bad


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
    texts = (path for path in checkpoint.folder.iterdir() if path.suffix in READ and path.is_file())
    for path in (*texts, *checkpoint.files):
        (place / path.name).symlink_to(path.resolve())
    return place


def _weights(folder: Path) -> tuple[Path, ...]:
    names = tuple(_indexed(folder)) or tuple(_names(folder, (WEIGHTS,)))
    if not names:
        raise _without_weights(folder)
    missing = [name for name in dict.fromkeys((*names, *_announced(names))) if not (folder / name).is_file()]
    if missing:
        raise CheckpointProblem(f"{folder}: {len(missing)} files of weights are missing: {', '.join(missing[:4])}")
    return tuple(folder / name for name in names)


def _without_weights(folder: Path) -> CheckpointProblem:
    pickled, other = _names(folder, PICKLED), _names(folder, ("*.safetensors",))
    found = f"; found only {', '.join((*pickled, *other))}" if pickled or other else ""
    hint = "take the repository's safetensors files: loading pickled ones would run code" if pickled else None
    return CheckpointProblem(f"{folder}: no {WEIGHTS}{found}", hint=hint)


def _indexed(folder: Path) -> Iterator[str]:
    """File names of the index, when there is one."""
    if not (folder / INDEX).is_file():
        return
    try:
        where = read_json(folder / INDEX).get("weight_map")
    except ConfigProblem as bad:
        raise CheckpointProblem(bad.message) from bad
    if not isinstance(where, dict) or not where:
        raise CheckpointProblem(f"{folder / INDEX}: no weight_map")
    for name in sorted({str(name) for name in where.values()}):
        if "/" in name or not name.endswith(".safetensors"):
            raise CheckpointProblem(f"{folder / INDEX}: {name!r} is no safetensors file beside it")
        yield name


def _announced(names: Sequence[str]) -> Iterator[str]:
    """All files of a numbered set that one of them announces."""
    for number in {match[2] for match in map(NUMBERED.fullmatch, names) if match}:
        yield from (f"model-{at:05d}-of-{number}.safetensors" for at in range(1, int(number) + 1))


def _names(folder: Path, patterns: Sequence[str]) -> list[str]:
    return sorted(path.name for pattern in patterns for path in folder.glob(pattern) if path.is_file())
