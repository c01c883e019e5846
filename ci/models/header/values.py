"""A GGUF header as values: metadata, tensor list, and what one model's files say together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Literal, TypeAlias

from ci.models.header.types import TENSOR_TYPES, TensorType

Scalar: TypeAlias = bool | int | float | str


@dataclass(frozen=True, kw_only=True)
class ArrayValue:
    """An array of the metadata.

    Attributes:
        element: type of its elements in the format's own words, such as `STRING` or `INT32`.
        items: the elements, made when they are first asked for; its length is known without that.
    """

    element: str
    items: Sequence[Scalar]

    def __len__(self) -> int:
        """Number of elements."""
        return len(self.items)


Value: TypeAlias = Scalar | ArrayValue


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """One entry of the tensor list.

    Attributes:
        name: such as `blk.0.attn_q.weight`.
        shape: ggml's order: the length of a row first.
        number: of its type, as the file says it.
        offset: of its data from the beginning of the data, bytes.
    """

    name: str
    shape: tuple[int, ...]
    number: int
    offset: int

    @property
    def kind(self) -> TensorType | None:
        """Its type; None for a number that is not known here."""
        return TENSOR_TYPES.get(self.number)

    @property
    def elements(self) -> int:
        """Number of weights."""
        return prod(self.shape)

    @property
    def size(self) -> int | None:
        """Bytes of its data; None where the type is not known."""
        return None if self.kind is None else self.kind.size_of(self.elements)


@dataclass(frozen=True, kw_only=True)
class Header:
    """The header of one file.

    Attributes:
        path: the file.
        version: of the format, 2 or 3.
        byte_order: `little` or `big`.
        metadata: value by key, in file order.
        tensors: in file order.
        data_offset: where tensor data begins, bytes from the start of the file.
        file_size: bytes.
        notes: oddities that do not stop anyone from reading on, such as a tensor type that is not known here.
    """

    path: Path
    version: int
    byte_order: Literal["little", "big"]
    metadata: Mapping[str, Value]
    tensors: tuple[Tensor, ...]
    data_offset: int
    file_size: int
    notes: tuple[str, ...] = ()

    @property
    def data_end(self) -> int:
        """Where the data of the last tensor ends, bytes from the start of the file; of known types only."""
        ends = (tensor.offset + tensor.size for tensor in self.tensors if tensor.size is not None)
        return self.data_offset + max(ends, default=0)

    @property
    def missing(self) -> int:
        """Bytes of tensor data that the file should have at its end and has not."""
        return max(0, self.data_end - self.file_size) if self.tensors else 0


@dataclass(frozen=True, kw_only=True)
class ModelHeader:
    """What the files of one model say together: one file, or all its shards in order.

    Attributes:
        shards: the headers; metadata counts in the first one only, as llama.cpp takes it.
    """

    shards: tuple[Header, ...]

    @property
    def path(self) -> Path:
        """The file that a person names: the first shard."""
        return self.shards[0].path

    @property
    def metadata(self) -> Mapping[str, Value]:
        """Value by key."""
        return self.shards[0].metadata

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Tensors of all shards."""
        return tuple(tensor for shard in self.shards for tensor in shard.tensors)

    @property
    def file_size(self) -> int:
        """Bytes of all files."""
        return sum(shard.file_size for shard in self.shards)

    @property
    def notes(self) -> tuple[str, ...]:
        """Oddities of all files; of a model in shards each names its file."""
        if len(self.shards) == 1:
            return self.shards[0].notes
        return tuple(f"{shard.path.name}: {note}" for shard in self.shards for note in shard.notes)

    @property
    def arch(self) -> str:
        """`general.architecture`; empty where it is missing or no text."""
        return self.text("general.architecture")

    def get(self, key: str) -> Value | None:
        """The value of a key; `{arch}.` at its beginning stands for the architecture's own prefix."""
        return self.metadata.get(key.replace("{arch}", self.arch, 1))

    def text(self, key: str) -> str:
        """A text value; empty where there is none."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else ""

    def integer(self, key: str) -> int | None:
        """A whole-number value (`{arch}.` as in `get`); None where there is none."""
        value = self.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def array(self, key: str) -> Sequence[Scalar] | None:
        """The elements of an array value (`{arch}.` as in `get`); None where there is none."""
        value = self.get(key)
        return value.items if isinstance(value, ArrayValue) else None

    def tensor(self, name: str) -> Tensor | None:
        """The tensor of a name; None where there is none."""
        return next((tensor for tensor in self.tensors if tensor.name == name), None)
