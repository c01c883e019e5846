"""The text of models.toml with another pin in it: one entry changes, every comment and all else stay as they are."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from ci.errors import ConfigProblem
from ci.models.lock import Shard

_MODEL = re.compile(r"[ \t]*\[\[[ \t]*model[ \t]*\]\]")
_TABLE = re.compile(r"[ \t]*\[{1,2}[^\[\]]+\]{1,2}[ \t]*(#.*)?")


def shard_toml(source: str, shard: Shard) -> str:
    """One file of a pin as it stands in the lock."""
    lines = (
        f"[[model.{source}.shard]]",
        f"file = {quoted(shard.file)}",
        f"size = {shard.size}",
        f"sha256 = {quoted(shard.sha256)}",
    )
    return "\n".join(lines) + "\n"


def quoted(value: str) -> str:
    """A TOML string."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def with_pin(
    text: str, at: int, source: str, *, own: Mapping[str, str], keys: Mapping[str, str], shards: Sequence[Shard]
) -> str:
    """The lock's text with the pin of one entry.

    Args:
        text: the lock's file.
        at: which entry, counted from 0.
        source: the kind of its source, which has a table `[model.SOURCE]`.
        own: keys of the entry itself to set, such as its licence.
        keys: keys of the source's table to set, such as its revision.
        shards: the files that the entry gets instead of those that it has.

    Raises:
        ConfigProblem: the entry is not written as `[[model]]` and `[model.SOURCE]`.
    """
    lines = _lines(text)
    begin, end = _block(lines, at)
    ending = "\r" if 2 * text.count("\r\n") > text.count("\n") else ""
    block = _without_shards([line.removesuffix("\r") for line in lines[begin:end]], source)
    block = _with_keys(block, "[[model]]", own)
    block = _with_keys(block, f"[model.{source}]", keys)
    added = [line for shard in shards for line in ("", *_lines(shard_toml(source, shard)))]
    new = [line + ending for line in (*_stripped(block), *added, *_gap(lines[end:]))]
    return "\n".join([*lines[:begin], *new, *lines[end:]]) + "\n"


def entry_text(text: str, at: int) -> str:
    """One entry as it stands in the lock, without what stands around it."""
    lines = [line.removesuffix("\r") for line in _lines(text)]
    begin, end = _block(lines, at)
    return "\n".join(_stripped(lines[begin:end])) + "\n"


def _lines(text: str) -> list[str]:
    """The lines as TOML counts them: U+2028 and the like stand inside of strings and comments."""
    return text.removesuffix("\n").split("\n")


def _gap(rest: Sequence[str]) -> tuple[str, ...]:
    return ("",) if rest and rest[0].strip() else ()


def _stripped(lines: Sequence[str]) -> list[str]:
    return "\n".join(lines).rstrip().split("\n")


def _block(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Where an entry begins and ends; comments above the next entry belong to that one."""
    headers = [number for number, line in enumerate(lines) if _MODEL.match(line)]
    if at >= len(headers):
        raise ConfigProblem(
            f"entry {at + 1} has no [[model]] header of its own", hint="write entries as [[model]] tables"
        )
    end = headers[at + 1] if at + 1 < len(headers) else len(lines)
    while end < len(lines) and end > headers[at] + 1 and _is_aside(lines[end - 1]):
        end -= 1
    return headers[at], end


def _is_aside(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _name(line: str) -> str | None:
    """The table that a line opens, without blanks and comment; None for another line."""
    return re.sub(r"\s", "", line.partition("#")[0]) if _TABLE.fullmatch(line) else None


def _without_shards(block: Iterable[str], source: str) -> list[str]:
    kept, dropping = list[str](), False
    for line in block:
        name = _name(line)
        if name is not None:
            dropping = name == f"[[model.{source}.shard]]"
        if not dropping:
            kept.append(line)
    return kept


def _with_keys(block: Sequence[str], table: str, keys: Mapping[str, str]) -> list[str]:
    """The block with keys of one of its tables set: in their place, or after the table's last key."""
    begin = next((at for at, line in enumerate(block) if _name(line) == table), None)
    if begin is None:
        raise ConfigProblem(f"the entry has no {table} table of its own", hint=f"write its source as {table}")
    end = next((at for at in range(begin + 1, len(block)) if _name(block[at]) is not None), len(block))
    body = list(block[begin:end])
    for key, value in keys.items():
        _set(body, key, f"{key} = {quoted(value)}")
    return [*block[:begin], *body, *block[end:]]


def _set(body: list[str], key: str, line: str) -> None:
    at = next((at for at, old in enumerate(body) if re.match(rf"[ \t]*{key}[ \t]*=", old)), None)
    if at is not None:
        body[at] = line
        return
    last = max(at for at, old in enumerate(body) if not _is_aside(old))
    body.insert(last + 1, line)
