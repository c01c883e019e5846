"""What a DSpark checkpoint and its target say of themselves, and whether one was made for the other.

Upstream's converter checks the type of the Markov head and the names of the tensors. It does not compare draft and
target, and it assumes a block of 16 where none is given; a server then fails at its first request, or drafts badly.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from reprlib import repr as brief

from ci.errors import CheckpointProblem
from ci.models.convert.safetensors import Stored
from ci.outcome import JsonMap, JsonValue

MARKOV = ("markov_head.markov_w1.weight", "markov_head.markov_w2.weight")
FUSION = "fc.weight"
LAST_TOO = ("DeepseekV4", "MiMoV2", "NemotronH")
"""Architectures that also hand out what comes after their last layer, as src/models of b11434 has it."""

LARGEST_BLOCK = 1024
"""Tokens of the longest block that is believed; upstream takes any, those published have up to 16."""
BITS = 31
"""Of a number in a GGUF file's header or in upstream's programs; a larger one is no size of a model."""


@dataclass(frozen=True, kw_only=True)
class DraftShape:
    """A draft as its checkpoint says it.

    Attributes:
        architecture: of `config.json`.
        width: of its residual stream, which is the target's.
        vocabulary: tokens.
        block_size: tokens of one draft.
        target_layers: layers of the target whose input it reads, counted as GGUF does: one more than in the config.
        rank: of the Markov head.
        confidence: whether there is a confidence head.
    """

    architecture: str
    width: int
    vocabulary: int
    block_size: int
    target_layers: tuple[int, ...]
    rank: int
    confidence: bool


@dataclass(frozen=True, kw_only=True)
class TargetShape:
    """A target as its `config.json` says it."""

    architecture: str
    width: int
    vocabulary: int
    layers: int


def draft_shape(config: JsonMap, tensors: Mapping[str, Stored], *, shown: str) -> DraftShape:
    """The draft's facts out of its `config.json` and its tensors.

    Raises:
        CheckpointProblem: it is no DSpark draft, or facts are missing or contradict each other; lists all faults.
    """
    flat, plain = _flat(config), {name.removeprefix("model."): tensor for name, tensor in tensors.items()}
    markov = [plain[name] for name in MARKOV if name in plain]
    if len(markov) < len(MARKOV):
        raise CheckpointProblem(
            f"{shown}: no DSpark draft: {_architecture(config)} without {MARKOV[0]} and {MARKOV[1]} "
            f"among its {len(plain)} tensors"
        )
    numbers = _numbers(flat, ("hidden_size", "vocab_size", "block_size", "mask_token_id"), shown=shown)
    shape = DraftShape(
        architecture=_architecture(config),
        width=numbers["hidden_size"],
        vocabulary=numbers["vocab_size"],
        block_size=numbers["block_size"],
        target_layers=_target_layers(flat),
        rank=markov[0].shape[-1] if markov[0].shape else 0,
        confidence="confidence_head.proj.weight" in plain,
    )
    _refuse(_draft_faults(shape, numbers["mask_token_id"], flat.get("draft_vocab_size"), plain), shown)
    return shape


def target_shape(config: JsonMap, *, shown: str) -> TargetShape:
    """The target's facts out of its `config.json`.

    Raises:
        CheckpointProblem: facts are missing.
    """
    flat = {**config, **_map(config.get("text_config"))}
    numbers = _numbers(flat, ("hidden_size", "vocab_size", "num_hidden_layers"), shown=shown)
    return TargetShape(
        architecture=_architecture(config),
        width=numbers["hidden_size"],
        vocabulary=numbers["vocab_size"],
        layers=numbers["num_hidden_layers"],
    )


def refuse_strangers(draft: DraftShape, target: TargetShape, *, shown: str) -> None:
    """Nothing, when the draft was made for a target of this shape.

    Raises:
        CheckpointProblem: lists every mismatch with both values.
    """
    _refuse(_mismatches(draft, target), shown, hint="name the target that the draft's model card names")


def _mismatches(draft: DraftShape, target: TargetShape) -> Iterator[str]:
    if draft.width != target.width:
        yield f"hidden_size: the draft has {draft.width}, the target {target.width}"
    if draft.vocabulary != target.vocabulary:
        yield f"vocab_size: the draft has {draft.vocabulary}, the target {target.vocabulary}"
    last = target.layers - (0 if target.architecture.startswith(LAST_TOO) else 1)
    beyond = [layer - 1 for layer in draft.target_layers if layer > last]
    if beyond:
        gives = f"a {target.architecture} of {target.layers} layers gives those below {last}"
        yield f"target_layer_ids: the draft reads {beyond}, {gives}"


def _draft_faults(
    shape: DraftShape, mask: int, draft_vocabulary: JsonValue, tensors: Mapping[str, Stored]
) -> Iterator[str]:
    if not 1 <= shape.block_size <= LARGEST_BLOCK:
        yield f"block_size is {shape.block_size}, expected 1 to {LARGEST_BLOCK}"
    if not 0 <= mask < shape.vocabulary:
        yield f"mask_token_id is {mask}, expected one of {shape.vocabulary} tokens"
    if not shape.target_layers:
        yield "config.json has no target_layer_ids"
    said = draft_vocabulary or shape.vocabulary
    expected = dict(zip(MARKOV, ((shape.vocabulary, shape.rank), (said, shape.rank)), strict=True))
    expected[FUSION] = (shape.width, shape.width * len(shape.target_layers))
    for name, wanted in expected.items():
        found = tensors[name].shape if name in tensors else None
        if found != wanted:
            yield f"{name} has shape {list(found or ())}, config.json asks for {list(wanted)}"


def _refuse(faults: Iterator[str], shown: str, *, hint: str | None = None) -> None:
    found = list(faults)
    if found:
        raise CheckpointProblem("".join([f"{shown}:", *(f"\n    {fault}" for fault in found)]), hint=hint)


def _flat(config: JsonMap) -> JsonMap:
    """Both ways in which drafts are published, as one: sizes may be nested, and so may what DSpark adds."""
    return {**config, **_map(config.get("transformer_layer_config")), **_map(config.get("dflash_config"))}


def _map(value: JsonValue) -> JsonMap:
    return value if isinstance(value, dict) else {}


def _target_layers(flat: JsonMap) -> tuple[int, ...]:
    """As GGUF counts, by a layer's input: so does `aux_hidden_state_layer_ids`; the other counts by the output."""
    for key, step in (("aux_hidden_state_layer_ids", 0), ("target_layer_ids", 1)):
        found = flat.get(key)
        if isinstance(found, list) and found and all(_is_number(one) and one >= 0 for one in found):
            return tuple(one + step for one in found)
    return ()


def _architecture(config: JsonMap) -> str:
    found = config.get("architectures")
    return str(found[0]) if isinstance(found, list) and found else "a model that names no architecture"


def _numbers(config: JsonMap, keys: tuple[str, ...], *, shown: str) -> dict[str, int]:
    found = {key: config[key] for key in keys if _is_number(config.get(key))}
    absent = [f"{key} ({brief(config[key])})" if key in config else key for key in keys if key not in found]
    if absent:
        raise CheckpointProblem(f"{shown}: config.json gives no whole number of {BITS} bits for {', '.join(absent)}")
    return found


def _is_number(value: JsonValue) -> bool:
    return type(value) is int and value.bit_length() <= BITS
