"""Whether a card computes the attention of a model, whose line says `--flash-attn on`.

Lists as b11434 has them in ggml-cuda/fattn.cu (`ggml_cuda_get_best_fattn_kernel`, `..._fattn_kv_type_supported`) and
ggml/CMakeLists.txt (`GGML_CUDA_FA_QUANTS`, which no recipe of ours sets). Where there is no kernel the server
starts all the same: the processor computes the attention, with buffers and at a speed that nobody here measured.
"""

from collections.abc import Iterator

from ci.models.compat.answers import Answer, Fit
from ci.models.compat.cache import head_shapes
from ci.models.header.values import ModelHeader

TYPE_RULE, HEAD_RULE = "cache type", "attention heads"
ON_CARDS = ("f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0")
COMPILED = ("f16", "bf16", "q4_0", "q8_0")
"""Types of keys and values alike for which a default build has kernels; it turns the others into f16 as it goes."""

EQUAL = (40, 64, 72, 80, 96, 112, 128, 256)
"""Widths of heads whose keys are as wide as their values."""

SHARED = {(192, 128): 8, (320, 256): 32, (512, 512): 1, (576, 512): 1}
"""Widths of keys and values that need at least two heads to share them, and a multiple of so many."""

OFF = frozenset(("grok",))
"""Architectures for which llama.cpp turns flash attention off, whatever the line says."""


def attention_answers(model: ModelHeader, kv: str) -> Iterator[Answer]:
    """CANNOT TELL for whatever would be computed on the processor; a note for a type that costs time.

    Args:
        model: target or draft.
        kv: type of its keys and values.
    """
    if kv not in ON_CARDS:
        reason = f"no flash attention for {kv} on a card: the processor would compute it, unmeasured"
        expected, hint = ", ".join(ON_CARDS), "invoke compat --kv q4_0"
        yield Answer(rule=TYPE_RULE, fit=Fit.UNKNOWN, reason=reason, found=kv, expected=expected, hint=hint)
    elif kv not in COMPILED:
        reason = (
            f"a default build, and so ours, has no vector kernel for {kv}: it turns keys and values into f16: slow"
        )
        yield Answer(rule=TYPE_RULE, fit=Fit.OK, reason=reason, found=kv, expected=", ".join(COMPILED))
    if model.arch in OFF:
        reason = (
            f"llama.cpp has no flash attention for {model.arch}: no formula here for the buffers of the other kind"
        )
        yield Answer(rule=HEAD_RULE, fit=Fit.UNKNOWN, reason=reason)
    odd = min((shape for shape in head_shapes(model) if not _on_cards(*shape)), default=None)
    if odd:
        keys, values, sharing = odd
        yield Answer(
            rule=HEAD_RULE,
            fit=Fit.UNKNOWN,
            reason="no flash attention for such heads on a card: the processor would compute it, unmeasured",
            found=f"keys {keys} wide, values {values}, {sharing} head(s) to one of them",
            expected=f"both {', '.join(map(str, EQUAL))}; or {_shared_words()}",
        )


def _on_cards(keys: int, values: int, sharing: int) -> bool:
    if keys == values and keys in EQUAL:
        return True
    step = SHARED.get((keys, values))
    return step is not None and sharing > 1 and sharing % step == 0


def _shared_words() -> str:
    return ", ".join(
        f"{keys} and {values} with {f'a multiple of {step}' if step > 1 else '2 or more'} heads to one"
        for (keys, values), step in SHARED.items()
    )
