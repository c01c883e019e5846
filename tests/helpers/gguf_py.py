"""gguf-py's reader of headers in our values, for comparison with ours. The one door to it in tests."""

from pathlib import Path
from typing import Any

from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType

from ci.models.header.values import ArrayValue, Header, Tensor, Value

ELEMENT = 3
"""Part of an array's field that says the type of its elements, there even when the array is empty."""

TYPES = frozenset(int(kind) for kind in GGMLQuantizationType)
"""Numbers of the tensor types that it knows."""


def read_with_gguf_py(path: Path) -> Header:
    """Every value, tensor and offset that gguf-py finds, with all array elements made."""
    reader = GGUFReader(path)
    fields = {name: field for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    return Header(
        path=path,
        version=int(reader.fields["GGUF.version"].contents()),
        byte_order="big" if reader.byte_order == "S" else "little",
        metadata={name: _value(field) for name, field in fields.items()},
        tensors=tuple(_tensor(tensor, int(reader.data_offset)) for tensor in reader.tensors),
        data_offset=int(reader.data_offset),
        file_size=len(reader.data),
    )


def sizes_of_gguf_py(path: Path) -> list[int]:
    """Bytes of each tensor, by gguf-py's table of types."""
    return [int(tensor.n_bytes) for tensor in GGUFReader(path).tensors]


def everything(header: Header) -> tuple[object, ...]:
    """A header with all elements made, such that equal means equal in type and in every bit that Python shows."""
    values = {name: _made(value) for name, value in header.metadata.items()}
    return (
        header.version,
        header.byte_order,
        header.data_offset,
        header.file_size,
        list(values.items()),
        header.tensors,
    )


def _made(value: Value) -> tuple[str, str]:
    if isinstance(value, ArrayValue):
        return value.element, repr(list(value.items))
    return type(value).__name__, repr(value)


def _value(field: Any) -> Value:
    content = field.contents()
    if field.types[0] is GGUFValueType.ARRAY:
        return ArrayValue(element=GGUFValueType(int(field.parts[ELEMENT][0])).name, items=tuple(content))
    value: bool | int | float | str = content
    return value


def _tensor(tensor: Any, data_offset: int) -> Tensor:
    return Tensor(
        name=tensor.name,
        shape=tuple(tensor.shape.tolist()),
        number=int(tensor.tensor_type),
        offset=tensor.data_offset - data_offset,
    )
