"""Whether a model and its draft fit on a card, and with how many layers or experts on the host.

Sums: weights by place, caches per layer, compute buffers, a reserve. Weights and caches are exact; the formula of the
compute buffers is ours, fitted to what llama-server b11434 reports (never under, see `compute_bytes`); beside it are
a recurrent layer's states, which a graph holds a second time, and keys and values turned into another type.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ci.models.compat.cache import cache_bytes, padded, states_bytes
from ci.models.compat.drafts import BLOCK_TYPES
from ci.models.compat.use import KV_TYPES, Use
from ci.models.compat.weights import MAX_LAYERS, Weights, weights_of
from ci.models.header.types import TENSOR_TYPES
from ci.models.header.values import ModelHeader

MIB, GIB = 1 << 20, 1 << 30
RESERVE = 1024 * MIB
"""Left free on a card: what llama-server itself leaves by default (`--fit-target`)."""

SMALLEST_CTX = 512
FLOAT, HALF = 4, 2


@dataclass(frozen=True, kw_only=True)
class Part:
    """One model as it is loaded.

    Attributes:
        weights: by place.
        cache: bytes that each layer keeps.
        compute: bytes of the compute buffer.
    """

    weights: Weights
    cache: tuple[int, ...]
    compute: int

    @property
    def whole(self) -> int:
        """Bytes on a card that holds every layer."""
        return sum(self.weights.layers) + self.weights.output + sum(self.cache) + self.compute


@dataclass(frozen=True, kw_only=True)
class Placement:
    """What goes onto the card.

    Attributes:
        gpu_layers: for `--gpu-layers`.
        cpu_moe: for `--n-cpu-moe`; 0 for none.
        card: bytes there, the draft with them.
        host: bytes of weights and cache on the host.
        layers: how many the model has, the output layer with them.
    """

    gpu_layers: int
    cpu_moe: int
    card: int
    host: int
    layers: int

    @property
    def whole(self) -> bool:
        """Whether everything that can is on the card."""
        return self.gpu_layers == self.layers and not self.cpu_moe


def part_of(
    model: ModelHeader, use: Use, *, kv: str, drafted: int = 0, spec_type: str = "", outputs: int = 1
) -> Part | str:
    """A model as it is loaded; in words, why its size cannot be told.

    Args:
        model: target or draft.
        use: how it is served.
        kv: type of its keys and values, a key of KV_TYPES.
        drafted: tokens drafted in a round, for the states that a recurrent target keeps.
        spec_type: for a draft, how it drafts; empty for a target.
        outputs: rows of logits that one batch of the target gives.
    """
    weights = weights_of(model)
    if weights is None:
        return f"a tensor's type is unknown, and so its size; or there are more than {MAX_LAYERS} layers"
    depth, extra = (model.integer(f"{{arch}}.{key}") or 0 for key in ("block_count", "nextn_predict_layers"))
    if len(weights.layers) > depth or 0 in weights.layers[: depth - extra]:
        return f"the file says that it has {depth} layers, and lists tensors of others, or of some none"
    cache = cache_bytes(model, use, TENSOR_TYPES[KV_TYPES[kv]], drafted=drafted)
    if isinstance(cache, str):
        return cache
    rows = _block_rows(model, use, spec_type) if spec_type in BLOCK_TYPES else outputs
    compute = compute_bytes(model, use, rows) + max(states_bytes(model, use, drafted), 0) + _turned(model, use, kv)
    return Part(weights=weights, cache=cache, compute=compute)


def _block_rows(draft: ModelHeader, use: Use, spec_type: str) -> int:
    """Rows of logits in a block draft's buffer: two a token of a batch; with Markov logits four a token, one a block.

    The Markov head is there only where a batch holds blocks of all slots (build_dspark_markov_head of b11434).
    """
    block = draft.integer("dflash.block_size") or 0
    chained = min(use.ubatch, use.slots * block) if spec_type == "draft-dspark" else 0
    return max(2 * use.ubatch, 4 * chained + use.slots)


def _turned(model: ModelHeader, use: Use, kv: str) -> int:
    """One layer's keys and values in half precision, which a card turns those of other types into."""
    turned = cache_bytes(model, use, TENSOR_TYPES[KV_TYPES["f16"]]) if kv != "f16" else ()
    return 0 if isinstance(turned, str) else max(turned, default=0)


def compute_bytes(model: ModelHeader, use: Use, rows: int) -> int:
    """An upper estimate of a compute buffer, bytes.

    The attention mask in half precision (context x batch), `rows` rows of logits, and about three feed-forward and
    seven hidden activations of a batch in single precision. Fitted on the processor's back end with 1 to 256 slots:
    at most a quarter over, and 4 MiB for every 512 tokens of the batch; a card's may differ by some MiB, for which
    the reserve stands.
    """
    mask = HALF * padded(use.ctx) * use.ubatch
    activations = FLOAT * use.ubatch * (3 * _feed_forward(model) + 7 * _width(model))
    return mask + FLOAT * _vocabulary(model) * rows + activations


def _vocabulary(model: ModelHeader) -> int:
    """Tokens, by the vocabulary or by the rows of a matrix, whichever says more."""
    matrices = (model.tensor(name) for name in ("output.weight", "token_embd.weight", "markov_w1.weight"))
    rows = (one.shape[1] for one in matrices if one is not None and len(one.shape) > 1)
    return max(len(model.array("tokenizer.ggml.tokens") or ()), *rows, 0)


def _feed_forward(model: ModelHeader) -> int:
    def said(name: str) -> int:
        value = model.get(f"{{arch}}.{name}")
        numbers = [value] if isinstance(value, int) else model.array(f"{{arch}}.{name}") or ()
        return max((number for number in numbers if isinstance(number, int)), default=0)

    experts = said("expert_used_count") * said("expert_feed_forward_length")
    found = max(said("feed_forward_length"), experts + said("expert_shared_feed_forward_length"))
    return found if found > 0 else 4 * _width(model)


def _width(model: ModelHeader) -> int:
    heads = model.integer("{arch}.attention.head_count") or 0
    attention = heads * (model.integer("{arch}.attention.key_length") or 0)
    return max(model.integer("{arch}.embedding_length") or 0, attention, model.integer("{arch}.ssm.inner_size") or 0)


def place(target: Part, beside: int, capacity: int) -> Placement | None:
    """The placement that leaves the least on the host; None where not even one layer fits.

    Experts go to the host first (a few of them work on each token), whole layers only where that is not enough.

    Args:
        target: the model.
        beside: bytes of the draft, which goes onto the card whole.
        capacity: bytes that may be used there.
    """
    return next((found for found in _placements(target, beside) if found.card <= capacity), None)


def _placements(target: Part, beside: int) -> Iterator[Placement]:
    """From everything on the card down to one layer."""
    depth = len(target.weights.layers)
    most = depth if target.weights.moe else 0
    for cpu_moe in range(most + 1):
        if cpu_moe == 0 or target.weights.experts[cpu_moe - 1]:
            yield _placement(target, beside, depth + 1, cpu_moe)
    for gpu_layers in range(depth, 0, -1):
        yield _placement(target, beside, gpu_layers, most)


def _placement(target: Part, beside: int, gpu_layers: int, cpu_moe: int) -> Placement:
    """The sums; layers fill the card from the last one, the output layer before all others."""
    weights, first = target.weights, max(len(target.weights.layers) + 1 - gpu_layers, 0)
    kept = [
        size if at < first else weights.experts[at] if at < cpu_moe else 0 for at, size in enumerate(weights.layers)
    ]
    on_card = sum(weights.layers) - sum(kept) + weights.output + sum(target.cache[first:])
    staging = max(kept, default=0)  # a large batch multiplies host weights on the card, a layer at a time
    return Placement(
        gpu_layers=gpu_layers,
        cpu_moe=cpu_moe,
        card=on_card + target.compute + staging + beside,
        host=weights.host + sum(kept) + sum(target.cache[:first]),
        layers=len(weights.layers) + 1,
    )


def smaller_context(fits: Callable[[int], bool], asked: int) -> int | None:
    """The largest context that fits among the halves of the one asked for; None when there is none."""
    ctx = asked // 2
    while ctx >= SMALLEST_CTX:
        if fits(ctx):
            return ctx
        ctx //= 2
    return None
