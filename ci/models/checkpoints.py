"""Which files of a published checkpoint count: what a conversion reads, and nothing that could be run."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
WEIGHTS = "model*.safetensors"
"""What upstream's converter takes for weights."""
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json")
"""Any of them is a tokenizer."""
READ = (".json", ".jinja", ".md", ".model", ".txt")
"""Endings of what the converter may read beside the weights; the model card gives licence and author."""
MASK = "mask_embedding.pt"
"""What the converter would load beside the weights of some drafts."""
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*", re.ASCII)
"""Names of files that stand in the folder itself and are not hidden."""
NUMBERED = re.compile(r"model-(\d{5})-of-(\d{5})\.safetensors")


def texts_of(names: Iterable[str]) -> tuple[str, ...]:
    """Config, tokenizer and whatever else the converter may read beside weights."""
    return tuple(name for name in names if PLAIN.fullmatch(name) and name.endswith(READ))


def weights_of(names: Iterable[str]) -> tuple[str, ...]:
    """Files of weights, by name."""
    return tuple(sorted(name for name in names if PLAIN.fullmatch(name) and fnmatchcase(name, WEIGHTS)))


def wanted(names: Sequence[str], *, weights: bool) -> tuple[str, ...]:
    """The files that make a checkpoint, the config first; without weights neither these nor their index."""
    texts = sorted(texts_of(names), key=lambda name: (name != CONFIG, name))
    return (*texts, *weights_of(names)) if weights else tuple(name for name in texts if name != INDEX)


def announced(names: Iterable[str]) -> Iterator[str]:
    """All files of a numbered set that one of them announces."""
    for number in {match[2] for match in map(NUMBERED.fullmatch, names) if match}:
        yield from (f"model-{at:05d}-of-{number}.safetensors" for at in range(1, int(number) + 1))


def weights_fault(names: Sequence[str]) -> str | None:
    """Why files of these names hold no whole weights that may be read; None when they do."""
    found = weights_of(names)
    if not found:
        other = [name for name in sorted(names) if name.endswith((*PICKLED, ".safetensors"))]
        return f"no {WEIGHTS}" + (f"; found only {', '.join(other)}" if other else "")
    if MASK in names:
        return f"{MASK}: pickled, so it is not read; without it the draft would be another"
    missing = [name for name in announced(found) if name not in found]
    return f"{len(missing)} files of weights are missing: {', '.join(missing[:4])}" if missing else None


def fault_of(names: Sequence[str], *, weights: bool) -> str | None:
    """Why files of these names, with others beside them or not, are no checkpoint; None when they are one."""
    if CONFIG not in names:
        return f"no {CONFIG}"
    if weights:
        return weights_fault(names)
    return None if set(TOKENIZERS) & set(names) else f"no tokenizer: none of {', '.join(TOKENIZERS)}"
