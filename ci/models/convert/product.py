"""Whether a GGUF file is the DSpark draft that a checkpoint promises."""

from collections.abc import Iterator

from ci.models.convert.agree import DraftShape
from ci.models.header.values import ModelHeader

ARCH = "dflash"
MARKOV = ("markov_w1.weight", "markov_w2.weight")
CONFIDENCE = "conf_proj.weight"


def faults_of(found: ModelHeader, draft: DraftShape) -> Iterator[str]:
    """Everything that is missing or other than the checkpoint says, with both values; nothing for its draft."""
    if found.arch != ARCH:
        yield f"general.architecture is {found.arch!r}, expected {ARCH!r}"
        return
    facts = {
        "{arch}.block_size": (found.integer("{arch}.block_size"), draft.block_size),
        "{arch}.target_layers": (tuple(found.array("{arch}.target_layers") or ()), draft.target_layers),
        "{arch}.embedding_length": (found.integer("{arch}.embedding_length"), draft.width),
        "tokenizer.ggml.tokens": (len(found.array("tokenizer.ggml.tokens") or ()), draft.vocabulary),
        "{arch}.has_confidence_head": (found.get("{arch}.has_confidence_head"), draft.confidence),
    }
    for key, (value, expected) in facts.items():
        if value != expected:
            yield f"{key.replace('{arch}', ARCH)} is {value}, the checkpoint has {expected}"
    for name in (*MARKOV, *((CONFIDENCE,) if draft.confidence else ())):
        if found.tensor(name) is None:
            yield f"no tensor {name}"
