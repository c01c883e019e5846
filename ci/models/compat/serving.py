"""The command line of llama-server for one model on one card, and the words that go with it.

Only options that stock llama-server b11434 has. The series has no confidence scheduler, so nothing turns one off.
"""

from collections.abc import Iterator
from pathlib import Path

from ci.models.compat.answers import Answer, Fit
from ci.models.compat.drafts import BLOCK_TYPES
from ci.models.compat.memory import Placement
from ci.models.compat.use import BATCH, BATCH_K, UBATCH, Use

DRAFT_LAYERS = 999  # llama.cpp takes fewer where a draft has fewer
RULE = "drafted tokens"


def k_answer(use: Use, spec_type: str, longest: int | None) -> Answer:
    """How many tokens a round drafts: what was asked for, no more than the draft's block.

    Args:
        use: with the wish.
        spec_type: how the draft drafts.
        longest: most that the draft proposes; None where it has no block.
    """
    asked = use.wanted_k(spec_type)
    if longest is None or asked <= longest:
        return Answer(rule=RULE, fit=Fit.OK, reason=f"k = {asked}", found=str(asked))
    reason = f"k = {asked} is above the draft's block: llama-server clamps it to {longest}, and so does this line"
    return Answer(rule=RULE, fit=Fit.OK, reason=reason, found=str(asked), expected=f"at most {longest}")


def drafted(use: Use, spec_type: str, longest: int | None) -> int:
    """Tokens drafted in a round; 0 where nothing drafts."""
    asked = use.wanted_k(spec_type) if spec_type else 0
    return asked if longest is None else min(asked, longest)


def server_words(
    model: Path, draft: Path | None, use: Use, placement: Placement, *, spec_type: str, k: int
) -> tuple[str, ...]:
    """The command line, program first.

    Args:
        model: the target's file.
        draft: the draft's, where there is one.
        use: how it is served.
        placement: what goes onto the card.
        spec_type: value of `--spec-type`; empty for plain decoding.
        k: tokens drafted in a round.
    """
    return (
        *("llama-server", "--model", str(model), "--gpu-layers", str(placement.gpu_layers)),
        *(("--n-cpu-moe", str(placement.cpu_moe)) if placement.cpu_moe else ()),
        *("--fit", "off", "--flash-attn", "on"),
        *("--parallel", str(use.slots), "--ctx-size", str(use.ctx * use.slots), "--no-kv-unified"),
        *("--cache-type-k", use.kv, "--cache-type-v", use.kv),
        *_batch_words(use),
        *(_draft_words(draft, spec_type, k) if spec_type else ()),
    )


def _batch_words(use: Use) -> Iterator[str]:
    """At many slots: no cache of prompts in host memory, and whole draft blocks of all slots in one batch."""
    if use.many:
        yield from ("--cache-ram", "0")
    if use.ubatch > UBATCH:
        yield from ("--ubatch-size", str(use.ubatch))
    if use.batch > BATCH:
        yield from ("--batch-size", str(use.batch))


def _draft_words(draft: Path | None, spec_type: str, k: int) -> Iterator[str]:
    yield from ("--spec-type", spec_type)
    if draft is not None:
        yield from ("--spec-draft-model", str(draft), "--spec-draft-ngl", str(DRAFT_LAYERS))
    yield from ("--spec-draft-n-max", str(k))


def rules_of(use: Use, spec_type: str) -> tuple[str, ...]:
    """The model card's serving rules that a line follows, for people."""
    if spec_type not in BLOCK_TYPES:
        return ()
    if not use.many:
        return ("one user: k = 8 with --parallel 1",)
    low, high = BATCH_K
    return (
        f"many users: k = {low} to {high} (this line has {use.wanted_k(spec_type)}); try both",
        f"a physical batch of at least 8 tokens a slot: {use.ubatch} for {use.slots} slots",
        "--cache-ram 0; the confidence scheduler stays off (this series has none)",
    )
