"""DSpark checkpoints as their authors publish them, tiny and of known weights, and the folder of their target.

The weights are an exact pair's in bfloat16. Two things differ from the pair's own draft file: upstream's converter
leaves the draft's output matrix out, so that the target's is used, and the final norm is zero, so that this matrix
adds nothing to the Markov bias. The law is the rounded one.
"""

import dataclasses
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ci.files import write_json
from ci.law import Array, PairLaw
from ci.models import exact_pair_blocks as blocks
from ci.models import exact_pair_tensors as tensors
from ci.models.exact_pair import BEGIN, CONTEXT, END, PAD, SPECIAL
from ci.models.exact_pair_blocks import Named
from ci.models.pair_spec import HEAD_DIM, PairSpec, make_law
from ci.outcome import JsonValue

Words = npt.NDArray[np.uint16]

NAMES = {
    "token_embd.weight": "embed_tokens.weight",
    "output.weight": "lm_head.weight",
    "output_norm.weight": "norm.weight",
    "enc.output_norm.weight": "hidden_norm.weight",
    "fc.weight": "fc.weight",
    "markov_w1.weight": "markov_head.markov_w1.weight",
    "markov_w2.weight": "markov_head.markov_w2.weight",
    "conf_proj.weight": "confidence_head.proj.weight",
    "conf_proj.bias": "confidence_head.proj.bias",
}
IN_LAYERS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def bfloat16(values: npt.ArrayLike) -> Words:
    """Rounded to the nearest, ties to even, as the format's 16-bit words."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def rounded(values: Array) -> Array:
    """What is left of values that are kept as bfloat16."""
    return (bfloat16(values).astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def kept_law(spec: PairSpec) -> PairLaw:
    """The pair's law as the checkpoint holds it: Q and the confidence's logits are rounded, P is the target's."""
    law = make_law(spec)
    logits = rounded(np.log(law.confidence) - np.log1p(-law.confidence))
    return dataclasses.replace(law, log_q=rounded(law.log_q), confidence=1 / (1 + np.exp(-logits)))


def write_draft(folder: Path, spec: PairSpec, *, shards: int = 1, **changes: JsonValue) -> Path:
    """The checkpoint of a pair's draft; `changes` replace entries of its `config.json`, None takes them out."""
    write_config(folder, {**draft_config(spec), **changes})
    weights = {hub_name(name): bfloat16(_silent(name, array)) for name, array in _draft_weights(spec)}
    if shards == 1:
        write_safetensors(folder / "model.safetensors", weights)
        return folder
    names = sorted(weights)
    where = {name: f"model-{at % shards + 1:05d}-of-{shards:05d}.safetensors" for at, name in enumerate(names)}
    for file in sorted(set(where.values())):
        write_safetensors(folder / file, {name: weights[name] for name in names if where[name] == file})
    size = sum(array.nbytes for array in weights.values())
    write_json(folder / "model.safetensors.index.json", {"metadata": {"total_size": size}, "weight_map": where})
    return folder


def write_target(folder: Path, spec: PairSpec, **changes: JsonValue) -> Path:
    """What a conversion needs of a target: its `config.json` and a tokenizer of the pair's tokens, no weights."""
    config = {**_shape(spec, n_layer=blocks.N_LAYER), "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}
    write_config(folder, {**config, "bos_token_id": BEGIN, "eos_token_id": END, "pad_token_id": PAD, **changes})
    (folder / "tokenizer.model").write_bytes(sentencepiece_model(spec))
    return folder


def write_weighted_target(folder: Path, spec: PairSpec, tokenizer: JsonValue) -> Path:
    """A whole target with a byte-pair tokenizer, as those that drafts are published for have it."""
    write_target(folder, spec, bos_token_id=None, eos_token_id=None, pad_token_id=None)
    (folder / "tokenizer.model").unlink()
    write_json(folder / "tokenizer.json", tokenizer)
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"})
    named = ((hub_name(name), array) for name, array in tensors.target_tensors(spec, make_law(spec)))
    weights = {name if name.startswith("lm_head") else f"model.{name}": bfloat16(array) for name, array in named}
    write_safetensors(folder / "model.safetensors", weights)
    return folder


def byte_pair_tokenizer(tokens: Sequence[str], control: Sequence[int], merges: Sequence[str]) -> dict[str, JsonValue]:
    """A `tokenizer.json` of SmolLM's kind: single digits, then the bytes of GPT-2, then the merges.

    Args:
        tokens: texts in the order of their ids.
        control: ids of control tokens.
        merges: pairs, in order.
    """
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    to_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "added_tokens": [{"id": token, "content": tokens[token], **plain} for token in control],
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, to_bytes],
        },
        "decoder": to_bytes,
        "model": {"type": "BPE", "vocab": {text: at for at, text in enumerate(tokens)}, "merges": list(merges)},
    }


def write_config(folder: Path, config: Mapping[str, JsonValue]) -> None:
    write_json(folder / "config.json", {key: value for key, value in config.items() if value is not None})


def draft_config(spec: PairSpec) -> dict[str, JsonValue]:
    return {
        **_shape(spec, n_layer=1),
        "architectures": ["Qwen3DSparkModel"],
        "model_type": "qwen3",
        "block_size": spec.block,
        "target_layer_ids": [blocks.N_LAYER - 2],
        "mask_token_id": spec.mask,
        "markov_rank": spec.rank,
        "markov_head_type": "vanilla",
        "is_causal": False,
    }


def _shape(spec: PairSpec, *, n_layer: int) -> dict[str, JsonValue]:
    return {
        "hidden_size": spec.n_embd,
        "vocab_size": spec.vocab,
        "num_hidden_layers": n_layer,
        "num_attention_heads": blocks.N_HEAD,
        "num_key_value_heads": blocks.N_HEAD,
        "head_dim": HEAD_DIM,
        "intermediate_size": blocks.N_FF,
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": blocks.EPS,
        "rope_theta": 10_000.0,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
    }


def _draft_weights(spec: PairSpec) -> Iterable[Named]:
    return tensors.dspark_tensors(spec, make_law(spec))


def _silent(name: str, values: blocks.Tensor) -> blocks.Tensor:
    return np.zeros_like(values) if name == "output_norm.weight" else values


def hub_name(name: str) -> str:
    """A tensor's name in a checkpoint, from its name in a GGUF file."""
    if name in NAMES:
        return NAMES[name]
    _, layer, place, ending = name.split(".")
    return f"layers.{layer}.{IN_LAYERS[place]}.{ending}"


def write_safetensors(path: Path, weights: Mapping[str, Words]) -> None:
    """Eight bytes with the length of a JSON header, the header, the values one after the other."""
    header, at = {}, 0
    for name, array in weights.items():
        header[name] = {"dtype": "BF16", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for array in weights.values()))


def sentencepiece_model(spec: PairSpec) -> bytes:
    """The pair's vocabulary as a SentencePiece model: a protobuf of pieces, each with text, score and type."""
    return b"".join(_field(1, _piece(*_vocabulary_entry(spec, token), token)) for token in range(spec.vocab))


def _vocabulary_entry(spec: PairSpec, token: int) -> tuple[bytes, int]:
    if token in SPECIAL:
        return SPECIAL[token]
    return (b"<mask>", 3) if token == spec.mask else (f"\u2581t{token:03d}".encode(), 1)


def _piece(text: bytes, kind: int, token: int) -> bytes:
    return _field(1, text) + b"\x15" + struct.pack("<f", -float(token)) + b"\x18" + bytes([kind])


def _field(number: int, content: bytes) -> bytes:
    """A protobuf field of bytes; lengths below 128 take one byte."""
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content
