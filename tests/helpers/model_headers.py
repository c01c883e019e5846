"""Headers made up as values: small targets and drafts for rules that never look at tensor data."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ci.models.header.values import ArrayValue, Header, ModelHeader, Scalar, Tensor, Value
from tests.helpers.made_gguf import TensorIn, Typed, ValueIn, write_gguf

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
    """Two layers of width 64, two heads of 64, 32 tokens; `changed` by key, see `_keys`."""
    told: dict[str, Value | None] = {
        "general.architecture": arch,
        f"{arch}.block_count": 2,
        f"{arch}.embedding_length": 64,
        f"{arch}.feed_forward_length": 128,
        f"{arch}.attention.head_count": 2,
        f"{arch}.attention.head_count_kv": 1,
        f"{arch}.attention.key_length": 64,
        f"{arch}.attention.value_length": 64,
        f"{arch}.context_length": 4096,
        **vocabulary(),
        **_keys(arch, changed),
    }
    return model(told, target_tensors() if tensors is None else tensors, name="target.gguf")


def simple(arch: str = "qwen3", /, **changed: Value | None) -> ModelHeader:
    """A draft without a block: such a model as `target`, in a file of its own."""
    made = target(arch, None, **changed)
    return model(made.metadata, made.tensors, name="simple.gguf")


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
        "dflash.attention.key_length": 64,
        "dflash.attention.value_length": 64,
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


def grafted_moe() -> ModelHeader:
    """A hybrid of experts as large as Ornith-1.0-35B in IQ4_XS, with a layer that predicts further tokens."""
    embd, experts, width, iq4_xs, q6_k = 2048, 256, 512, 23, 14
    tensors = [
        tensor("token_embd.weight", embd, 151_936, number=q6_k),
        tensor("output.weight", embd, 151_936, number=q6_k),
    ]
    for at in range(41):
        tensors += [
            tensor(f"blk.{at}.attn_q.weight", embd, 8192, number=q6_k),
            tensor(f"blk.{at}.attn_norm.weight", embd),
        ]
        shapes = {"gate": (embd, width), "up": (embd, width), "down": (width, embd)}
        tensors += [
            tensor(f"blk.{at}.ffn_{name}_exps.weight", *shape, experts, number=iq4_xs)
            for name, shape in shapes.items()
        ]
    told: dict[str, Value | None] = {
        "arch__block_count": 41,
        "arch__nextn_predict_layers": 1,
        "arch__embedding_length": embd,
        "arch__context_length": 262_144,
        "arch__expert_count": experts,
        "arch__expert_used_count": 8,
        "arch__expert_feed_forward_length": width,
        "arch__attention__head_count": 16,
        "arch__attention__head_count_kv": 2,
        "arch__attention__key_length": 256,
        "arch__attention__value_length": 256,
        "arch__full_attention_interval": 4,
        "arch__ssm__conv_kernel": 4,
        "arch__ssm__inner_size": 4096,
        "arch__ssm__group_count": 16,
        "arch__ssm__state_size": 128,
    }
    return target("qwen35moe", [*tensors, tensor("blk.40.nextn.eh_proj.weight", 2 * embd, embd, number=q6_k)], **told)


def written(path: Path, made: ModelHeader) -> Path:
    """The model as a file whose tensor data is a hole."""
    tensors = [TensorIn(one.name, one.shape, one.number) for one in made.tensors]
    return write_gguf(path, {key: _value_in(value) for key, value in made.metadata.items()}, tensors)


def _value_in(value: Value) -> ValueIn:
    return Typed(value.element, list(value.items)) if isinstance(value, ArrayValue) else value  # type: ignore[arg-type] # all of the one kind named
