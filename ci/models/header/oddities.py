"""What is odd about a header that could be read: most of it makes llama.cpp refuse the file."""

from collections.abc import Callable, Iterator, Sequence

from ci.models.header.types import REMOVED
from ci.models.header.values import Header, Tensor
from ci.models.header.words import some

LONGEST_NAME = 63
"""Bytes of a tensor's name that llama.cpp has room for."""

REFUSED = "which llama.cpp refuses"
"""Ends the words, before any name, of what makes its loader stop."""

MOST_TYPES = 8
"""Unknown types that are named; a list of more is no model."""


def is_refused(note: str) -> bool:
    """Whether a note says that llama.cpp loads no such file; names in it, which are a stranger's, do not count."""
    return note.partition(":")[0].endswith(REFUSED)


def tensor_notes(tensors: Sequence[Tensor], alignment: int) -> Iterator[str]:
    """One note for each kind of oddity, with the first names; a hostile list makes no long answer."""
    yield from _type_notes(tensors)
    for words, is_odd in _RULES:
        odd = [tensor.name for tensor in tensors if is_odd(tensor)]
        if odd:
            yield f"{words}: {some(odd)}"
    misplaced = [tensor.name for tensor, due in _due(tensors, alignment) if tensor.offset != due]
    if misplaced:
        yield f"data does not begin where the tensor before it ends, {REFUSED}: {some(misplaced)}"


def file_notes(header: Header, alignment: int) -> Iterator[str]:
    """Whether the file holds the data that its tensor list promises."""
    if header.missing:
        yield f"cut short: {header.missing} bytes of tensor data are missing at the end"
    beyond = header.file_size - header.data_end
    if beyond >= alignment and all(tensor.kind for tensor in header.tensors):
        yield f"{beyond} bytes follow the data of the last tensor"


def _type_notes(tensors: Sequence[Tensor]) -> Iterator[str]:
    names: dict[int, list[str]] = {}
    for tensor in tensors:
        if tensor.kind is None:
            names.setdefault(tensor.number, []).append(tensor.name)
    for number in list(names)[:MOST_TYPES]:
        said = f"{REMOVED[number]}, removed from llama.cpp" if number in REMOVED else "unknown to this build"
        yield f"tensor type {number} ({said}): {some(names[number])}"
    if len(names) > MOST_TYPES:
        yield f"{len(names) - MOST_TYPES} more tensor types that are unknown to this build"


def _due(tensors: Sequence[Tensor], alignment: int) -> Iterator[tuple[Tensor, int]]:
    """Each tensor and where its data should begin; nothing is said about one behind a type of unknown size."""
    due: int | None = 0
    for tensor in tensors:
        if due is not None:
            yield tensor, due
        size = tensor.size
        due = None if size is None else tensor.offset + size + -(tensor.offset + size) % alignment


_RULES: tuple[tuple[str, Callable[[Tensor], bool]], ...] = (
    (
        f"rows that are not a whole number of their type's blocks, {REFUSED}",
        lambda tensor: tensor.kind is not None and (*tensor.shape, 1)[0] % tensor.kind.block != 0,
    ),
    (
        f"names longer than {LONGEST_NAME} bytes, {REFUSED}",
        lambda tensor: len(tensor.name.encode()) > LONGEST_NAME,
    ),
    ("no dimensions: read as one number", lambda tensor: not tensor.shape),
)
