"""Tensor types of GGUF: number, name, elements and bytes of a block, as in ggml.h and ggml-common.h of b11434."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

MXFP4, NVFP4 = 39, 40
"""The four-bit float types, which Blackwell cards multiply and others cannot."""

REMOVED: Mapping[int, str] = MappingProxyType(
    {4: "Q4_2", 5: "Q4_3", 31: "Q4_0_4_4", 32: "Q4_0_4_8", 33: "Q4_0_8_8"}
    | {36: "IQ4_NL_4_4", 37: "IQ4_NL_4_8", 38: "IQ4_NL_8_8"}
)
"""Types that upstream once had and reads no more."""


@dataclass(frozen=True)
class TensorType:
    """One type.

    Attributes:
        number: as in the file.
        name: upstream's.
        block: elements of one block; a row holds whole blocks.
        size: bytes of one block.
    """

    number: int
    name: str
    block: int
    size: int

    def size_of(self, elements: int) -> int:
        """Bytes of so many elements; a block that is begun counts whole."""
        return -(-elements // self.block) * self.size


_KNOWN = (
    TensorType(0, "F32", 1, 4),
    TensorType(1, "F16", 1, 2),
    TensorType(2, "Q4_0", 32, 18),
    TensorType(3, "Q4_1", 32, 20),
    TensorType(6, "Q5_0", 32, 22),
    TensorType(7, "Q5_1", 32, 24),
    TensorType(8, "Q8_0", 32, 34),
    TensorType(9, "Q8_1", 32, 36),
    TensorType(10, "Q2_K", 256, 84),
    TensorType(11, "Q3_K", 256, 110),
    TensorType(12, "Q4_K", 256, 144),
    TensorType(13, "Q5_K", 256, 176),
    TensorType(14, "Q6_K", 256, 210),
    TensorType(15, "Q8_K", 256, 292),
    TensorType(16, "IQ2_XXS", 256, 66),
    TensorType(17, "IQ2_XS", 256, 74),
    TensorType(18, "IQ3_XXS", 256, 98),
    TensorType(19, "IQ1_S", 256, 50),
    TensorType(20, "IQ4_NL", 32, 18),
    TensorType(21, "IQ3_S", 256, 110),
    TensorType(22, "IQ2_S", 256, 82),
    TensorType(23, "IQ4_XS", 256, 136),
    TensorType(24, "I8", 1, 1),
    TensorType(25, "I16", 1, 2),
    TensorType(26, "I32", 1, 4),
    TensorType(27, "I64", 1, 8),
    TensorType(28, "F64", 1, 8),
    TensorType(29, "IQ1_M", 256, 56),
    TensorType(30, "BF16", 1, 2),
    TensorType(34, "TQ1_0", 256, 54),
    TensorType(35, "TQ2_0", 256, 66),
    TensorType(MXFP4, "MXFP4", 32, 17),
    TensorType(NVFP4, "NVFP4", 64, 36),
    TensorType(41, "Q1_0", 128, 18),
    TensorType(42, "Q2_0", 64, 18),
)
TENSOR_TYPES: Mapping[int, TensorType] = MappingProxyType({kind.number: kind for kind in _KNOWN})
