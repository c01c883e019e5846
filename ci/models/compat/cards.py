"""Whether a card computes with a model's tensor types, seen in the tensors and never in a file's name.

What older cards do with four-bit floats is in ggml-cuda of b11434 (mmq.cu, `ggml_cuda_mmq_get_prec_src1`): only
Blackwell multiplies them as such; every other card unpacks them to eight-bit integers on the way.
"""

from collections.abc import Iterator, Sequence

from ci.builds.arch import Capability
from ci.models.compat.answers import Answer, Fit
from ci.models.header.types import MXFP4, NVFP4, REMOVED, TENSOR_TYPES
from ci.models.header.values import ModelHeader, Tensor
from ci.models.header.words import plain

RULE = "tensor types"
FOUR_BIT_FLOATS = (MXFP4, NVFP4)
NOT_ON_CARDS = (9, 34, 35)
"""Q8_1, TQ1_0, TQ2_0: `ggml_backend_cuda_device_supports_op` has no product with them; the processor computes."""

BLACKWELL = 12
"""Major compute capability of the cards with native FP4 in llama.cpp: sm_120 and sm_121."""


def type_answers(model: ModelHeader, capability: Capability | None) -> tuple[Answer, ...]:
    """One answer for every tensor type that is a reason to stop; one OK when none is.

    Args:
        model: the target or the draft.
        capability: of the card; None where nobody knows it.
    """
    by_type: dict[int, list[Tensor]] = {}
    for tensor in model.tensors:
        by_type.setdefault(tensor.number, []).append(tensor)
    if not by_type:
        return (Answer(rule=RULE, fit=Fit.UNKNOWN, reason="the header lists no tensors"),)
    doubts = tuple(doubt for number in sorted(by_type) for doubt in _doubts(number, by_type[number], capability))
    names = ", ".join(TENSOR_TYPES[number].name for number in sorted(by_type) if number in TENSOR_TYPES)
    return doubts or (Answer(rule=RULE, fit=Fit.OK, reason=f"every card computes with {names}"),)


def _doubts(number: int, tensors: Sequence[Tensor], capability: Capability | None) -> Iterator[Answer]:
    which = f"{len(tensors)} tensor(s), the first {plain(tensors[0].name)}"
    if number in REMOVED:
        words = f"{which}: type {number} ({REMOVED[number]}) is one that llama.cpp reads no more"
        yield Answer(rule=RULE, fit=Fit.REFUSED, reason=words, found=str(number))
    elif number not in TENSOR_TYPES:
        words = f"{which}: type {number} is unknown here; a newer build or another fork may know it"
        yield Answer(rule=RULE, fit=Fit.UNKNOWN, reason=words, found=str(number))
    elif number in NOT_ON_CARDS:
        words = f"{which}: llama.cpp multiplies {TENSOR_TYPES[number].name} on the processor only"
        yield Answer(rule=RULE, fit=Fit.REFUSED, reason=words, found=str(number))
    elif number in FOUR_BIT_FLOATS:
        yield from _four_bit_doubts(number, which, capability)


def _four_bit_doubts(number: int, which: str, capability: Capability | None) -> Iterator[Answer]:
    name = f"{TENSOR_TYPES[number].name} ({number})"
    expected = "compute capability 12.0 or 12.1"
    if capability is None:
        yield Answer(
            rule=RULE,
            fit=Fit.UNKNOWN,
            reason=f"{which}: {name} needs Blackwell, and nobody says what this card is",
            expected=expected,
        )
    elif capability.major != BLACKWELL:
        reason = (
            f"{which}: {name} needs the FP4 tensor cores of Blackwell; here llama.cpp would unpack it to 8-bit "
            "integers, which runs, but is not what the format and its published figures are about"
        )
        yield Answer(rule=RULE, fit=Fit.REFUSED, reason=reason, found=str(capability), expected=expected)
