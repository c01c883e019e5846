"""A model in one file or in shards, `NAME-00001-of-0000N.gguf`; any of them may be named, all are read.

As in llama.cpp, the metadata says how many shards there are, and the file names only where the others are.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ci.errors import ModelUnreadable
from ci.models.header.reading import LIMITS, read_header
from ci.models.header.values import Header, ModelHeader
from ci.models.header.words import some

COUNT, PLACE, TENSORS = "split.count", "split.no", "split.tensors.count"
NAME = re.compile(r"(?P<stem>.+)-(?P<place>\d{5})-of-(?P<count>\d{5})\.gguf")
MOST_SHARDS = 1024
REST = "fetch the missing files into the same folder, then run the command again"
WHOLE = "take all shards of one model from one source, under their own names"


def read_model(path: Path) -> ModelHeader:
    """The headers of a model: of one file, or of all its shards in order.

    Args:
        path: the file, or any one of the shards.

    Raises:
        ModelUnreadable: a file that is no readable GGUF file; a shard that is not there, or belongs to another model.
    """
    named = read_header(path)
    count = _number(named, COUNT, default=1)
    if count <= 1:
        return ModelHeader(shards=(named,))
    if count > MOST_SHARDS:
        raise ModelUnreadable(f"{path}: {COUNT} is {count}; no model that we believe has more than {MOST_SHARDS}")
    files = _files(path, _number(named, PLACE, default=0), count)
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise ModelUnreadable(f"{path}: {len(missing)} of {count} shards are missing: {some(missing)}", hint=REST)
    del named  # its arrays need not stay while all are read
    shards = tuple(_read(files))
    _check(shards)
    return ModelHeader(shards=shards)


def _read(files: Sequence[Path]) -> Iterator[Header]:
    """Each shard; all together have the memory of one, so only the first keeps all its metadata.

    Raises:
        ModelUnreadable: together they list more tensors than any model that we believe.
    """
    n_tensors = 0
    for place, file in enumerate(files):
        shard = read_header(file)
        n_tensors += len(shard.tensors)
        if n_tensors > LIMITS.tensors:
            raise ModelUnreadable(f"{file}: {n_tensors} tensors up to here; no model that we believe has so many")
        said = {key: value for key, value in shard.metadata.items() if place == 0 or key in (PLACE, COUNT, TENSORS)}
        yield replace(shard, metadata=said)


def _number(header: Header, key: str, *, default: int) -> int:
    value = header.metadata.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ModelUnreadable(f"{header.path}: {key} is {value!r}, expected a number")
    return value


def _files(path: Path, place: int, count: int) -> tuple[Path, ...]:
    """All shards' names, made from one of them, which must be the right one for its place."""
    found = NAME.fullmatch(path.name)
    if found is None or (int(found["place"]), int(found["count"])) != (place + 1, count):
        wanted = f"NAME-{place + 1:05}-of-{count:05}.gguf"
        raise ModelUnreadable(f"{path}: it is shard {place + 1} of {count}, so its name must be {wanted}", hint=WHOLE)
    return tuple(path.with_name(f"{found['stem']}-{number:05}-of-{count:05}.gguf") for number in range(1, count + 1))


def _check(shards: Sequence[Header]) -> None:
    for place, shard in enumerate(shards):
        said = _number(shard, PLACE, default=0), _number(shard, COUNT, default=1)
        if said != (place, len(shards)):
            fault = f"it says that it is shard {said[0] + 1} of {said[1]}, not {place + 1} of {len(shards)}"
            raise ModelUnreadable(f"{shard.path}: {fault}", hint=WHOLE)
    _check_tensors(shards)


def _check_tensors(shards: Sequence[Header]) -> None:
    counts = Counter(tensor.name for shard in shards for tensor in shard.tensors)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise ModelUnreadable(f"{shards[0].path}: tensors in more than one shard: {some(twice)}", hint=WHOLE)
    promised = _number(shards[0], TENSORS, default=len(counts))
    if promised != len(counts):
        fault = f"{TENSORS} is {promised}, the shards hold {len(counts)}"
        raise ModelUnreadable(f"{shards[0].path}: {fault}", hint=WHOLE)
