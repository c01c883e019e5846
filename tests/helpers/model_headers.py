"""Headers made up as values: small targets and drafts for rules that never look at tensor data."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ci.models.header.values import ArrayValue, Header, ModelHeader, Scalar, Tensor, Value

WORDS = tuple(f"word{at}" for at in range(32))
F32, F16 = 0, 1


def array(items: Sequence[Scalar], element: str = "INT32") -> ArrayValue:
    return ArrayValue(element=element, items=tuple(items))


def tensor(name: str, *shape: int, number: int = F32) -> Tensor:
    return Tensor(name=name, shape=shape, number=number, offset=0)


def model(
    metadata: Mapping[str, Value | None], tensors: Sequence[Tensor] = (), *, name: str = "m.gguf"
) -> ModelHeader:
    """A model of one file; a key whose value is None is left out."""
    header = Header(
        path=Path("/models") / name,
        version=3,
        byte_order="little",
        metadata={key: value for key, value in metadata.items() if value is not None},
        tensors=tuple(tensors),
        data_offset=0,
        file_size=sum(one.size or 0 for one in tensors),
    )
    return ModelHeader(shards=(header,))


def vocabulary(tokens: Sequence[str] = WORDS) -> dict[str, Value | None]:
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": array(tokens, "STRING"),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }


def target(arch: str = "qwen3", tensors: Sequence[Tensor] | None = None, /, **changed: Value | None) -> ModelHeader:
    """Two layers of width 64, two heads of 32, 32 tokens; `changed` by key, see `_keys`."""
    told: dict[str, Value | None] = {
        "general.architecture": arch,
        f"{arch}.block_count": 2,
        f"{arch}.embedding_length": 64,
        f"{arch}.feed_forward_length": 128,
        f"{arch}.attention.head_count": 2,
        f"{arch}.attention.head_count_kv": 1,
        f"{arch}.attention.key_length": 32,
        f"{arch}.attention.value_length": 32,
        f"{arch}.context_length": 4096,
        **vocabulary(),
        **_keys(arch, changed),
    }
    return model(told, target_tensors() if tensors is None else tensors, name="target.gguf")


def target_tensors() -> tuple[Tensor, ...]:
    layers = (
        tensor(f"blk.{at}.{name}.weight", *shape)
        for at in range(2)
        for name, shape in {"attn_q": (64, 64), "ffn_up": (64, 128), "ffn_down": (128, 64)}.items()
    )
    return (tensor("token_embd.weight", 64, 32), tensor("output.weight", 64, 32), *layers)


def draft(tensors: Sequence[Tensor] | None = None, /, **changed: Value | None) -> ModelHeader:
    """A DSpark draft for `target`: block of eight, target layer 1, mask token 31."""
    told: dict[str, Value | None] = {
        "general.architecture": "dflash",
        "dflash.block_count": 1,
        "dflash.embedding_length": 64,
        "dflash.feed_forward_length": 128,
        "dflash.attention.head_count": 2,
        "dflash.attention.head_count_kv": 2,
        "dflash.attention.key_length": 32,
        "dflash.attention.value_length": 32,
        "dflash.block_size": 8,
        "dflash.target_layers": array([1]),
        **vocabulary(),
        "tokenizer.ggml.mask_token_id": 31,
        **_keys("dflash", changed),
    }
    return model(told, draft_tensors() if tensors is None else tensors, name="draft.gguf")


def draft_tensors() -> tuple[Tensor, ...]:
    return (
        tensor("token_embd.weight", 64, 32),
        tensor("output.weight", 64, 32),
        tensor("fc.weight", 64, 64),
        tensor("markov_w1.weight", 32, 32),
        tensor("markov_w2.weight", 32, 32),
        tensor("blk.0.attn_q.weight", 64, 64),
    )


def _keys(arch: str, changed: Mapping[str, Value | None]) -> dict[str, Value | None]:
    """`arch__attention__head_count` is `qwen3.attention.head_count`; `ggml__pre` is `tokenizer.ggml.pre`."""
    prefixes = {"arch": arch, "ggml": "tokenizer.ggml", "general": "general"}
    parts = (key.split("__") for key in changed)
    names = (".".join((prefixes[first], *rest)) for first, *rest in parts)
    return dict(zip(names, changed.values(), strict=True))
