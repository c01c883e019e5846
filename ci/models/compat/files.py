"""Whether a model's files are whole and well-formed, as far as their headers tell: llama.cpp loads no others."""

from collections.abc import Iterator

from ci.models.compat.answers import Answer, Fit
from ci.models.header.oddities import is_refused
from ci.models.header.values import Header, ModelHeader
from ci.models.header.words import plain

RULE = "file"
NAME = 120
"""Letters of a file's name, and of what is odd about it."""


def file_answers(model: ModelHeader) -> tuple[Answer, ...]:
    """One REFUSED for every reason why llama-server would stop while loading; none where there is none."""
    return tuple(
        Answer(rule=RULE, fit=Fit.REFUSED, reason=f"{plain(shard.path.name, NAME)}: {fault}")
        for shard in model.shards
        for fault in _faults(shard)
    )


def _faults(shard: Header) -> Iterator[str]:
    if shard.missing:
        yield f"cut short: {shard.missing} bytes of tensor data are missing at the end"
    if shard.byte_order == "big":
        yield "big-endian, which llama.cpp does not load on the machines that these cards are in"
    yield from (plain(note, NAME) for note in shard.notes if is_refused(note))
