"""Whether a draft belongs to its target: everything that both say about width, vocabulary and layers.

Upstream itself compares vocabularies for draft-simple only (common/speculative.cpp of b11434,
`common_speculative_are_compatible`); a block draft of another model is served, and rejected token by token.
"""

from collections.abc import Iterator

from ci.models.compat.answers import Answer, Fit, same
from ci.models.compat.blocks import block_answers
from ci.models.compat.vocabulary import vocabulary_answers
from ci.models.header.values import ModelHeader
from ci.models.header.words import plain

BLOCK_ARCH, EAGLE_ARCH = "dflash", "eagle3"
BLOCK_TYPES = ("draft-dspark", "draft-dflash")
DRAFT_ARCHS = (BLOCK_ARCH, EAGLE_ARCH)
ROLES = "roles"


def has_own_draft(target: ModelHeader) -> bool:
    """Whether a model carries layers that predict further tokens (MTP), as llama-server recognises them."""
    last = (target.integer("{arch}.block_count") or 0) - 1
    return target.tensor(f"blk.{last}.nextn.eh_proj.weight") is not None


def speculation_type(target: ModelHeader, draft: ModelHeader | None) -> str:
    """The value of `--spec-type` for a target and its draft, as llama-server itself would find it; empty for plain.

    A Markov head makes DSpark of DFlash; a target that brings MTP layers needs no draft file.
    """
    if draft is None:
        return "draft-mtp" if has_own_draft(target) else ""
    if draft.arch == BLOCK_ARCH:
        return "draft-dspark" if draft.tensor("markov_w1.weight") else "draft-dflash"
    return "draft-eagle3" if draft.arch == EAGLE_ARCH else "draft-simple"


def draft_answers(target: ModelHeader, draft: ModelHeader) -> tuple[Answer, ...]:
    """Every rule about a target and its draft; in answers, `found` is the draft's value and `expected` the target's.

    Arguments in the wrong places make all other answers meaningless, so that one stands alone.
    """
    swapped = _swapped(target, draft)
    return (swapped,) if swapped else tuple(_answers(target, draft))


def _swapped(target: ModelHeader, draft: ModelHeader) -> Answer | None:
    if target.arch in DRAFT_ARCHS:
        both = draft.arch in DRAFT_ARCHS
        reason = "both files are drafts" if both else "target and draft are swapped: the target is a draft model"
        return Answer(
            rule=ROLES, fit=Fit.REFUSED, reason=reason, found=plain(draft.arch), expected=plain(target.arch)
        )
    if target.path.resolve() == draft.path.resolve():
        reason = "the model is its own draft, which gains nothing: name another file with --draft, or none"
        names = [plain(model.path.name) for model in (draft, target)]
        return Answer(rule=ROLES, fit=Fit.REFUSED, reason=reason, found=names[0], expected=f"another than {names[1]}")
    sizes = [model.file_size for model in (draft, target)]
    if draft.arch not in DRAFT_ARCHS and _scale(draft) > _scale(target):
        reason = "target and draft are swapped: a simple draft is larger than its target"
        found, expected = (f"{size} bytes" for size in sizes)
        return Answer(rule=ROLES, fit=Fit.REFUSED, reason=reason, found=found, expected=expected)
    return None


def _scale(model: ModelHeader) -> int:
    """Width times depth: what decoding one token costs, whatever the vocabulary and the quantisation are."""
    return (model.integer("{arch}.embedding_length") or 0) * (model.integer("{arch}.block_count") or 0)


def _answers(target: ModelHeader, draft: ModelHeader) -> Iterator[Answer]:
    kind = speculation_type(target, draft)
    words = f"{plain(draft.arch) or 'nameless'} drafts for {plain(target.arch) or 'nameless'}: {kind}"
    yield Answer(rule=ROLES, fit=Fit.OK, reason=words)
    if kind in BLOCK_TYPES:
        yield same(
            "embedding width",
            draft.integer("{arch}.embedding_length"),
            target.integer("{arch}.embedding_length"),
            differ="the draft reads the target's hidden states, and they have another width",
        )
    yield from vocabulary_answers(target, draft, simple=kind == "draft-simple")
    if kind in BLOCK_TYPES:
        yield from block_answers(target, draft, markov=kind == "draft-dspark")
    if kind == "draft-eagle3":
        yield Answer(rule="draft fields", fit=Fit.UNKNOWN, reason="no rules here for the fields of an EAGLE-3 draft")
