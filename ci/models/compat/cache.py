"""What a context keeps per layer: keys and values, or the state of a recurrent layer.

Formulas as llama-kv-cache.cpp, llama-kv-cache-iswa.cpp, llama-memory-recurrent.cpp and llama-hparams.cpp of b11434
have them. Kinds of attention that keep something else are not modelled, and that is the answer then.
"""

from collections.abc import Sequence

from ci.models.compat.use import Use
from ci.models.compat.weights import MAX_LAYERS
from ci.models.header.types import TensorType
from ci.models.header.values import ArrayValue, ModelHeader, Scalar
from ci.models.header.words import plain

PAD = 256  # cells of a sequence are a multiple of this
FLOAT = 4  # recurrent state is float32
OTHER_KINDS = (
    ("{arch}.attention.kv_lora_rank", "latent attention (MLA)"),
    ("{arch}.attention.compress_ratios", "compressed attention"),
    ("{arch}.attention.indexer.head_count", "sparse attention with an indexer"),
    ("{arch}.wkv.head_size", "RWKV state"),
    ("{arch}.shortconv.l_cache", "short convolutions"),
    ("{arch}.kda.head_dim", "KDA state"),
)
ROLLS_BACK = frozenset(("qwen35", "qwen35moe", "qwen4exp", "nemotron_h", "nemotron_h_moe"))
"""Recurrent architectures that keep one state per drafted token (`llm_arch_supports_rs_rollback`)."""

WINDOWS = {"cohere2": 4, "exaone4": 4, "gemma2": 2, "gemma3": 6, "gemma3n": 5, "gpt-oss": 2, "llama4": 4, "olmo2": 4}
"""One in so many layers sees everything where the file does not say it (`load_swa_pattern`)."""

INTERVAL = {"qwen35": 4, "qwen35moe": 4, "qwen3next": 4, "qwen4exp": 4}
"""Every so-manieth layer attends where the file does not say it."""


def padded(tokens: int) -> int:
    """Cells for so many tokens of one sequence."""
    return -(-tokens // PAD) * PAD


def cache_bytes(model: ModelHeader, use: Use, kind: TensorType, *, drafted: int = 0) -> tuple[int, ...] | str:
    """Bytes that each layer keeps, all slots together; in words, why it cannot be told.

    Args:
        model: target or draft.
        use: context of a slot, slots, batch.
        kind: type of keys and values.
        drafted: tokens drafted in a round: a recurrent target keeps a state for each beside its own.
    """
    depth = model.integer("{arch}.block_count")
    other = [words for key, words in OTHER_KINDS if model.get(key) is not None]
    told = [model.integer("{arch}.embedding_length"), _of_layer(model, "{arch}.attention.head_count", 0)]
    if not depth or not 0 < depth <= MAX_LAYERS or not all(told):
        return f"the file does not say its width, its heads and its layers (1 to {MAX_LAYERS})"
    if other:
        return f"no formula here for {other[0]}"
    recurrent = _recurrent(model, depth)
    if recurrent is None:
        return f"no formula here for the recurrent layers of {plain(model.arch)}"
    state = states_bytes(model, use, drafted)
    sizes = tuple(state if recurrent[at] else _attention(model, at, use, kind) * use.slots for at in range(depth))
    return "the file's widths or heads are negative" if min(sizes) < 0 else sizes


def states_bytes(model: ModelHeader, use: Use, drafted: int) -> int:
    """Bytes that a recurrent layer keeps, all slots together; 0 where a model has none."""
    rows = use.slots * (1 + (drafted if model.arch in ROLLS_BACK else 0))
    return FLOAT * _state(model) * rows


def cut_head(model: ModelHeader, kind: TensorType) -> int | None:
    """A head's width that is no whole number of a cache type's blocks; None where every one is.

    llama-server stops then (`llama_init_from_model`: "does not divide n_embd_head_k").
    """
    widths = {_head_width(model, name, windowed=windowed) for name in ("key", "value") for windowed in (False, True)}
    return next((width for width in sorted(widths) if width % kind.block), None)


def head_shapes(model: ModelHeader) -> frozenset[tuple[int, int, int]]:
    """Width of a head's keys, of its values, and heads that share one of them; every combination among the layers."""
    depth = min(model.integer("{arch}.block_count") or 0, MAX_LAYERS)
    layers = ((at, _of_layer(model, "{arch}.attention.head_count", at), _kv_heads(model, at)) for at in range(depth))
    return frozenset(
        (*_widths(model, at), heads // shared) for at, heads, shared in layers if heads > 0 and shared > 0
    )


def _attention(model: ModelHeader, layer: int, use: Use, kind: TensorType) -> int:
    """Bytes of one layer's keys and values for one slot."""
    depth = model.integer("{arch}.block_count") or 0
    if layer >= depth - (model.integer("{arch}.attention.shared_kv_layers") or 0):
        return 0  # reads another layer's
    heads, windowed = _kv_heads(model, layer), slides(model, layer)
    cells = padded(use.ctx)
    if windowed:
        cells = padded(min(cells, (model.integer("{arch}.attention.sliding_window") or 0) + use.ubatch))
    widths = (_head_width(model, name, windowed=windowed) for name in ("key", "value"))
    return sum(kind.size_of(heads * width) * cells for width in widths)


def _widths(model: ModelHeader, layer: int) -> tuple[int, int]:
    """Of a head's keys and of its values."""
    windowed = slides(model, layer)
    return _head_width(model, "key", windowed=windowed), _head_width(model, "value", windowed=windowed)


def _kv_heads(model: ModelHeader, layer: int) -> int:
    said = model.get("{arch}.attention.head_count_kv") is not None
    return _of_layer(model, "{arch}.attention.head_count_kv" if said else "{arch}.attention.head_count", layer)


def _head_width(model: ModelHeader, name: str, *, windowed: bool) -> int:
    own = model.integer(f"{{arch}}.attention.{name}_length_swa") if windowed else None
    usual = model.integer(f"{{arch}}.attention.{name}_length")
    heads = max(_of_layer(model, "{arch}.attention.head_count", 0), 1)
    return own or usual or (model.integer("{arch}.embedding_length") or 0) // heads


def slides(model: ModelHeader, layer: int) -> bool:
    """Whether a layer sees a window only. Where neither the file nor we know it, it does not: never too little."""
    if not model.integer("{arch}.attention.sliding_window"):
        return False
    pattern = model.get("{arch}.attention.sliding_window_pattern") or WINDOWS.get(model.arch)
    if isinstance(pattern, ArrayValue):
        return layer < len(pattern) and bool(pattern.items[layer])
    return isinstance(pattern, int) and pattern > 0 and layer % pattern < pattern - 1


def _of_layer(model: ModelHeader, key: str, layer: int) -> int:
    """A number that stands once for all layers, or for each in an array."""
    value = model.get(key)
    if isinstance(value, ArrayValue):
        value = value.items[layer] if layer < len(value) else 0
    return value if isinstance(value, int) else 0


def _recurrent(model: ModelHeader, depth: int) -> Sequence[bool] | None:
    """Which layers are recurrent; None where the file leaves it open."""
    listed: Sequence[Scalar] | None = model.array("{arch}.attention.recurrent_layers")
    if not model.integer("{arch}.ssm.inner_size"):
        hinted = listed or model.integer("{arch}.full_attention_interval")
        return None if hinted else [False] * depth
    if listed:
        return [bool(flag) for flag in (*listed, *[False] * depth)][:depth]
    trunk = depth - (model.integer("{arch}.nextn_predict_layers") or 0)
    interval = model.integer("{arch}.full_attention_interval") or INTERVAL.get(model.arch)
    if interval:
        return [at < trunk and (at + 1) % interval != 0 for at in range(depth)]
    heads = model.array("{arch}.attention.head_count_kv")
    return [count == 0 for count in (*heads, *[1] * depth)][:depth] if heads and 0 in heads else None


def _state(model: ModelHeader) -> int:
    """Numbers in one recurrent layer's state: rolling convolution inputs, and the state itself."""
    names = ("conv_kernel", "inner_size", "group_count", "state_size")
    conv, inner, groups, size = (model.integer(f"{{arch}}.ssm.{name}") or 0 for name in names)
    return max(conv - 1, 0) * (inner + 2 * groups * size) + size * inner
