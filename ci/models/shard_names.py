"""How the files of a model that is split are named."""

import re

SHARD_NAME = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<ending>\.[a-z]+)", re.ASCII)
"""How llama.cpp names the files of a model that is split: counted from 00001."""


def split_names(name: str) -> tuple[str, ...]:
    """All file names of the model that a file of that name belongs to, in order.

    The name itself when it is not split, and when it cannot be one of a split: number 3 of 2, or one of none.
    """
    shape = SHARD_NAME.fullmatch(name)
    if shape is None or is_impossible(name):
        return (name,)
    count = int(shape["count"])
    return tuple(f"{shape['stem']}-{at:05}-of-{count:05}{shape['ending']}" for at in range(1, count + 1))


def is_impossible(name: str) -> bool:
    """Whether a file is named as one of a split model, and cannot be one."""
    shape = SHARD_NAME.fullmatch(name)
    return shape is not None and not 1 <= int(shape["number"]) <= int(shape["count"])


def shards_fault(names: list[str]) -> str | None:
    """Why files of these names are not the files of one model, in order; None when they are."""
    if is_impossible(names[0]):
        return f"{names[0]} is named as a file of a split model, and cannot be one"
    expected = list(split_names(names[0]))
    if names == expected:
        return None
    few = ", ".join(expected[:3])
    return f"the shards are {', '.join(names)}; the files of that model are {few} ({len(expected)} in all)"
