"""What a block draft (DFlash, DSpark) must say about itself and its target, and how many tokens it proposes.

Rules as src/models/dflash.cpp, src/llama-context.cpp and common/speculative.cpp of b11434 have them: missing target
layers stop the load, as does a Markov head without a block size or whose matrices are missing or of other shapes; a
missing mask token or a layer that the target does not hand out stops the server at its first request.
"""

from collections.abc import Iterator, Sequence

from ci.models.compat.answers import Answer, Fit
from ci.models.compat.weights import MAX_LAYERS
from ci.models.header.values import ModelHeader, Scalar
from ci.models.header.words import plain

DEFAULT_BLOCK = 16
HAND_OUT_LAYERS = frozenset(
    (
        *("bailingmoe3", "deepseek4", "gemma4", "gpt-oss", "hunyuan_vl", "lfm2", "lfm2moe", "llama", "mimo2"),
        *("minimax-01", "minimax-m2", "muse-glimmer", "nanbeige", "nemotron_h", "nemotron_h_moe"),
        *("qwen3", "qwen35", "qwen35moe", "qwen3moe", "qwen3next", "qwen4exp"),
    )
)
"""Architectures whose graphs in b11434 hand out the input of each layer (`t_layer_inp`)."""

HAND_OUT_LAST = frozenset(("deepseek4", "mimo2", "nemotron_h", "nemotron_h_moe"))
"""Those that also hand out what the last layer gives, under the number of layers."""

LAYERS, BLOCK, MASK, FUSION = "target layers", "block size", "mask token", "feature matrix"
MARKOV = "Markov head"


def block_answers(target: ModelHeader, draft: ModelHeader, *, markov: bool) -> Iterator[Answer]:
    """Every rule about the fields of a block draft.

    Args:
        target: the model that it drafts for.
        draft: of architecture `dflash`.
        markov: whether it has a Markov head: then its block size must be said.
    """
    yield _block(draft, markov=markov)
    yield _mask(draft)
    if markov:
        yield _markov(draft)
    layers = draft.array("dflash.target_layers")
    if not layers:
        yield Answer(
            rule=LAYERS, fit=Fit.REFUSED, reason="dflash.target_layers is missing: llama-server does not load it"
        )
        return
    yield _layers(target, layers)
    yield _fusion(draft, len(layers))


def longest_draft(draft: ModelHeader) -> int | None:
    """Most tokens that a block draft proposes in a round; None where it is none, or does not say its block.

    DSpark proposes its whole block; where the first place is a bonus token (`sample_from_anchor` false), and in
    plain DFlash, one less.
    """
    if draft.arch != "dflash":
        return None
    markov = draft.tensor("markov_w1.weight") is not None
    block = draft.integer("dflash.block_size") or (None if markov else DEFAULT_BLOCK)
    anchored = markov and draft.metadata.get("dflash.sample_from_anchor", True) is True
    return block if block is None or anchored else block - 1


def _block(draft: ModelHeader, *, markov: bool) -> Answer:
    block = draft.integer("dflash.block_size")
    if block is None and not markov:
        return Answer(rule=BLOCK, fit=Fit.OK, reason=f"not said: llama-server takes {DEFAULT_BLOCK}")
    if block is None or block < 1:
        reason = "dflash.block_size is missing or no positive number: llama-server stops while loading"
        return Answer(rule=BLOCK, fit=Fit.REFUSED, reason=reason, found=str(block))
    longest = longest_draft(draft)
    if not longest:
        reason = "the block has a place for the bonus token only: it proposes nothing"
        return Answer(rule=BLOCK, fit=Fit.REFUSED, reason=reason, found=str(block), expected="2 or more")
    return Answer(rule=BLOCK, fit=Fit.OK, reason=f"up to {longest} tokens a round", found=str(block))


def _mask(draft: ModelHeader) -> Answer:
    mask, tokens = draft.integer("tokenizer.ggml.mask_token_id"), draft.array("tokenizer.ggml.tokens")
    if mask is None:
        reason = "tokenizer.ggml.mask_token_id is missing: llama-server stops at the first request"
        return Answer(rule=MASK, fit=Fit.REFUSED, reason=reason)
    if tokens and not 0 <= mask < len(tokens):
        reason = "the mask token is none of the vocabulary"
        return Answer(rule=MASK, fit=Fit.REFUSED, reason=reason, found=str(mask), expected=f"below {len(tokens)}")
    return Answer(rule=MASK, fit=Fit.OK, reason=f"token {mask}")


def _markov(draft: ModelHeader) -> Answer:
    """Both matrices have a row for each token and columns of one rank; the second, rows of the draft's own tokens."""
    first, second = (_shape(draft, f"markov_{name}.weight") for name in ("w1", "w2"))
    rank, tokens = (first or (1,))[0], len(draft.array("tokenizer.ggml.tokens") or ())
    own = _shape(draft, "d2t")
    rows = tokens or (first or (1, 1))[1]
    expected = ((rank, rows, 1, 1), (rank, own[0] if own else rows, 1, 1))
    if (first, second) == expected:
        return Answer(rule=MARKOV, fit=Fit.OK, reason=f"rank {rank}, {rows} tokens")
    return Answer(
        rule=MARKOV,
        fit=Fit.REFUSED,
        reason="markov_w1 and markov_w2 are not a rank by the tokens: llama-server does not load it",
        found=" and ".join(map(_dimensions, (first, second))),
        expected=" and ".join(map(_dimensions, expected)),
    )


def _shape(model: ModelHeader, name: str) -> tuple[int, ...] | None:
    """Four dimensions, as llama.cpp compares them; None where the tensor is not there."""
    found = model.tensor(name)
    return (*found.shape, 1, 1, 1, 1)[:4] if found else None


def _dimensions(shape: tuple[int, ...] | None) -> str:
    """Such as `256 x 151936`; at least two numbers, and more where they are not one."""
    if shape is None:
        return "none"
    return " x ".join(str(size) for at, size in enumerate(shape) if at < 2 or shape[at:] != (1,) * (4 - at))


def _layers(target: ModelHeader, layers: Sequence[Scalar]) -> Answer:
    blocks = target.integer("{arch}.block_count")
    if blocks is None:
        return Answer(rule=LAYERS, fit=Fit.UNKNOWN, reason="the target does not say how many layers it has")
    depth = blocks - (target.integer("{arch}.nextn_predict_layers") or 0)
    last = depth if target.arch in HAND_OUT_LAST else depth - 1
    if len(layers) > MAX_LAYERS:
        reason = "more layers than any model has that llama.cpp loads"
        return Answer(rule=LAYERS, fit=Fit.REFUSED, reason=reason, found=str(len(layers)), expected=f"0 to {last}")
    beyond = [layer for layer in layers if not isinstance(layer, int) or not 0 <= layer <= last]
    listed = plain(", ".join(str(layer) for layer in layers[:64]))
    if beyond:
        reason = f"layer {plain(str(beyond[0]))} is none that the target hands out"
        return Answer(rule=LAYERS, fit=Fit.REFUSED, reason=reason, found=listed, expected=f"0 to {last}")
    if target.arch not in HAND_OUT_LAYERS:
        reason = f"nobody saw {plain(target.arch) or 'a nameless architecture'} hand out its layers in b11434"
        return Answer(rule=LAYERS, fit=Fit.UNKNOWN, reason=reason, found=listed)
    return Answer(rule=LAYERS, fit=Fit.OK, reason=f"{listed} of {depth}")


def _fusion(draft: ModelHeader, n_layers: int) -> Answer:
    """`fc.weight` takes the hidden states of all those layers side by side."""
    width, fusion = draft.integer("dflash.embedding_length"), draft.tensor("fc.weight")
    if width is None or fusion is None:
        missing = "dflash.embedding_length" if width is None else "fc.weight"
        return Answer(rule=FUSION, fit=Fit.REFUSED, reason=f"{missing} is missing: llama-server does not load it")
    row = (*fusion.shape, 1)[0]
    if row != width * n_layers:
        return Answer(
            rule=FUSION,
            fit=Fit.REFUSED,
            reason=f"fc.weight does not take {n_layers} layers of width {width}",
            found=str(row),
            expected=str(width * n_layers),
        )
    return Answer(rule=FUSION, fit=Fit.OK, reason=f"{n_layers} layer(s) of width {width}")
