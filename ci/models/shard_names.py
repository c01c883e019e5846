"""How the files of a model that is split are named."""

import re

SHARD_NAME = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<ending>\.[a-z]+)", re.ASCII)
"""How llama.cpp names the files of a model that is split: counted from 00001."""


def split_names(name: str) -> tuple[str, ...]:
    """All file names of the model whose first file has that name, in order; the name itself when it is not split."""
    shape = SHARD_NAME.fullmatch(name)
    if shape is None:
        return (name,)
    count = int(shape["count"])
    return tuple(f"{shape['stem']}-{at:05}-of-{count:05}{shape['ending']}" for at in range(1, count + 1))


def shards_fault(names: list[str]) -> str | None:
    """Why files of these names are not the files of one model, in order; None when they are."""
    expected = list(split_names(names[0]))
    if names == expected:
        return None
    few = ", ".join(expected[:3])
    return f"the shards are {', '.join(names)}; the files of that model are {few} ({len(expected)} in all)"
