"""What a person wants to know of a model, from its header: size, types, context, vocabulary, draft."""

from collections.abc import Iterable
from dataclasses import dataclass

from ci.models.header.types import REMOVED, TENSOR_TYPES
from ci.models.header.values import ModelHeader, Tensor

DRAFT_ARCH = "dflash"
"""Architecture of DFlash drafts; one with a Markov head is a DSpark draft."""

MARKOV, CONFIDENCE = "markov_w1.weight", "conf_proj.weight"

MOST_LAYERS = 512
"""Target layers that are told: llama.cpp loads no model that has more (LLAMA_MAX_LAYERS)."""


@dataclass(frozen=True, kw_only=True)
class TypeCount:
    """The tensors of one type.

    Attributes:
        number: as in the files.
        name: upstream's; says so where the type is unknown or removed.
        tensors: how many.
        elements: of all of them.
        bytes: likewise; None where the size of a block is unknown.
    """

    number: int
    name: str
    tensors: int
    elements: int
    bytes: int | None


@dataclass(frozen=True, kw_only=True)
class VocabularyFacts:
    """The tokenizer, as far as the model says it; None, or empty text, where it does not.

    Attributes:
        count: tokens.
        model: kind of tokenizer, such as `gpt2` or `llama`.
        pre: kind of pre-tokenizer.
        bos: id of the token at the beginning.
        eos: id of the token at the end.
        mask: id of the token that stands for one to be drafted.
    """

    count: int | None
    model: str
    pre: str
    bos: int | None
    eos: int | None
    mask: int | None


@dataclass(frozen=True, kw_only=True)
class DraftFacts:
    """A DFlash draft; DSpark when there is a Markov head.

    Attributes:
        block_size: positions of a block; None where it is not said.
        target_layers: layers of the target whose features it reads; of a hostile list the first ones.
        markov_rank: rank of the Markov head; None without one.
        confidence_head: whether it tells how likely each token is to be accepted.
        sample_from_anchor: whether the first position of a block already drafts; else it is a bonus token.
    """

    block_size: int | None
    target_layers: tuple[int, ...]
    markov_rank: int | None
    confidence_head: bool
    sample_from_anchor: bool


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """A model at a glance; None, or empty text, for what it does not say.

    Attributes:
        arch: architecture, such as `qwen3`.
        name: what its maker calls it.
        file_size: bytes of all files.
        parameters: elements of all tensors.
        context_length: tokens that it was trained for.
        n_layer: layers.
        n_embd: width of the residual stream.
        vocabulary: tokenizer.
        types: tensors by type, most bytes first.
        dspark: what a DFlash or DSpark draft says; None for any other model.
    """

    arch: str
    name: str
    file_size: int
    parameters: int
    context_length: int | None
    n_layer: int | None
    n_embd: int | None
    vocabulary: VocabularyFacts
    types: tuple[TypeCount, ...]
    dspark: DraftFacts | None


def facts_of(model: ModelHeader) -> ModelFacts:
    """The facts of a model; from tensors and metadata alone, never from its name."""
    return ModelFacts(
        arch=model.arch,
        name=model.text("general.name"),
        file_size=model.file_size,
        parameters=sum(tensor.elements for tensor in model.tensors),
        context_length=model.integer("{arch}.context_length"),
        n_layer=model.integer("{arch}.block_count"),
        n_embd=model.integer("{arch}.embedding_length"),
        vocabulary=_vocabulary(model),
        types=type_counts(model.tensors),
        dspark=_draft(model) if model.arch == DRAFT_ARCH else None,
    )


def type_counts(tensors: Iterable[Tensor]) -> tuple[TypeCount, ...]:
    """Tensors by type, most bytes first; types of unknown size before all others, as nobody should miss them."""
    groups: dict[int, list[Tensor]] = {}
    for tensor in tensors:
        groups.setdefault(tensor.number, []).append(tensor)
    counts = [_count(number, group) for number, group in groups.items()]
    return tuple(sorted(counts, key=lambda count: (count.bytes is not None, -(count.bytes or 0), count.number)))


def _count(number: int, group: list[Tensor]) -> TypeCount:
    known = number in TENSOR_TYPES
    return TypeCount(
        number=number,
        name=TENSOR_TYPES[number].name if known else _strange(number),
        tensors=len(group),
        elements=sum(tensor.elements for tensor in group),
        bytes=sum(tensor.size or 0 for tensor in group) if known else None,
    )


def _strange(number: int) -> str:
    return f"{REMOVED[number]} (removed)" if number in REMOVED else "unknown to this build"


def _vocabulary(model: ModelHeader) -> VocabularyFacts:
    tokens = model.array("tokenizer.ggml.tokens")
    return VocabularyFacts(
        count=model.integer("{arch}.vocab_size") if tokens is None else len(tokens),
        model=model.text("tokenizer.ggml.model"),
        pre=model.text("tokenizer.ggml.pre"),
        bos=model.integer("tokenizer.ggml.bos_token_id"),
        eos=model.integer("tokenizer.ggml.eos_token_id"),
        mask=model.integer("tokenizer.ggml.mask_token_id"),
    )


def _draft(model: ModelHeader) -> DraftFacts:
    markov = model.tensor(MARKOV)
    layers = (model.array("{arch}.target_layers") or ())[:MOST_LAYERS]
    return DraftFacts(
        block_size=model.integer("{arch}.block_size"),
        target_layers=tuple(layer for layer in layers if isinstance(layer, int) and not isinstance(layer, bool)),
        markov_rank=markov.shape[0] if markov and markov.shape else None,
        confidence_head=model.tensor(CONFIDENCE) is not None,
        sample_from_anchor=model.get("{arch}.sample_from_anchor") in (None, True),
    )
