"""Whether two models speak of the same tokens: kind of tokenizer, special ids, number of tokens, their texts.

Tolerances are upstream's own for draft-simple (common/speculative.cpp of b11434): sizes may differ by up to 128
(padding), and the texts of the first five tokens, which are often special, are not compared.
"""

from collections.abc import Iterator, Sequence

from ci.models.compat.answers import Answer, Fit, same, shown
from ci.models.header.values import ArrayValue, ModelHeader, Scalar, Value

MAX_PADDING = 128
FIRST_COMPARED = 5
TOKENS = "tokenizer.ggml.tokens"
SIZE, TEXTS = "vocabulary size", "token texts"
KINDS = {"tokenizer kind": "model", "tokenizer pre": "pre", "bos token": "bos_token_id", "eos token": "eos_token_id"}
FLAGS = {"bos added": "add_bos_token", "eos added": "add_eos_token"}


def vocabulary_answers(target: ModelHeader, draft: ModelHeader, *, simple: bool) -> tuple[Answer, ...]:
    """Every rule about the two vocabularies; one CANNOT TELL where a file brings none.

    Args:
        target: the model.
        draft: its draft.
        simple: whether the draft reads text of its own accord (draft-simple), so that the tokens which a tokenizer
            adds by itself count too.
    """
    theirs, ours = target.array(TOKENS), draft.array(TOKENS)
    if not theirs or not ours:
        which = "draft" if theirs else "target" if ours else "target and draft"
        reason = f"the {which} brings no vocabulary: nobody can compare the tokens"
        return (Answer(rule=TEXTS, fit=Fit.UNKNOWN, reason=reason, found=_count(ours), expected=_count(theirs)),)
    return (*_tokenizers(target, draft, simple=simple), _sizes(draft, len(theirs), len(ours)), _texts(theirs, ours))


def _count(tokens: Sequence[Scalar] | None) -> str:
    return f"{len(tokens)} tokens" if tokens else "none"


def _tokenizers(target: ModelHeader, draft: ModelHeader, *, simple: bool) -> Iterator[Answer]:
    for rule, key in {**KINDS, **(FLAGS if simple else {})}.items():
        found, expected = (_plain(model.metadata.get(f"tokenizer.ggml.{key}")) for model in (draft, target))
        yield same(rule, found, expected, differ="the same text gives other tokens")


def _plain(value: Value | None) -> Scalar | None:
    """A value that can be compared; an array, which none of these is, counts as none."""
    return None if isinstance(value, ArrayValue) else value


def _sizes(draft: ModelHeader, theirs: int, ours: int) -> Answer:
    apart = abs(ours - theirs)
    if not apart:
        return Answer(rule=SIZE, fit=Fit.OK, reason="the same")
    fit, reason = Fit.OK, f"they differ by {apart}: padding"
    if apart > MAX_PADDING:
        fit, reason = Fit.REFUSED, f"they differ by {apart}, and padding explains at most {MAX_PADDING}"
    elif _borrows_head(draft):
        fit, reason = Fit.REFUSED, "the draft computes with its target's output matrix, which has other rows"
    return Answer(rule=SIZE, fit=fit, reason=reason, found=str(ours), expected=str(theirs))


def _borrows_head(draft: ModelHeader) -> bool:
    """Whether a block draft has neither an output matrix nor embeddings of its own."""
    own = any(draft.tensor(name) for name in ("output.weight", "token_embd.weight"))
    return draft.arch == "dflash" and not own


def _texts(theirs: Sequence[Scalar], ours: Sequence[Scalar]) -> Answer:
    common = min(len(theirs), len(ours))
    at = _first_difference(theirs, ours, common)
    if at is not None:
        found, expected = shown(repr(ours[at])), shown(repr(theirs[at]))
        reason = f"token {at} reads differently"
        return Answer(rule=TEXTS, fit=Fit.REFUSED, reason=reason, found=found, expected=expected)
    special = any(theirs[at] != ours[at] for at in range(min(FIRST_COMPARED, common)))
    note = f"; some of the first {FIRST_COMPARED} differ, which upstream allows" if special else ""
    return Answer(rule=TEXTS, fit=Fit.OK, reason=f"{common} tokens read the same{note}")


def _first_difference(theirs: Sequence[Scalar], ours: Sequence[Scalar], common: int) -> int | None:
    pairs = zip(theirs, ours, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other and FIRST_COMPARED <= at < common), None)
