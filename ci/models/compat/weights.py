"""Where a model's tensors go: host, a layer, or the output layer, as llama.cpp b11434 places them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ci.models.header.values import ModelHeader, Tensor

LAYER = re.compile(r"blk\.(\d+)\.")
EXPERTS = re.compile(r"\.ffn_(up|down|gate|gate_up)_(ch|)exps")
"""What `--n-cpu-moe` keeps on the host (common/common.h)."""

INPUT = ("token_embd.weight", "token_types.weight", "position_embd.weight", "per_layer_token_embd.weight")
"""Looked up row by row on the host, whatever `--gpu-layers` says."""

MAX_LAYERS = 512
"""More than that llama.cpp does not load (LLAMA_MAX_LAYERS)."""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Bytes of a model's tensors by place.

    Attributes:
        host: always on the host.
        layers: of each layer.
        experts: the part of each layer that `--n-cpu-moe` can keep on the host.
        output: the output layer; with a copy of the embeddings where they serve as output matrix too.
        file: all tensors of the file, each once.
    """

    host: int
    layers: tuple[int, ...]
    experts: tuple[int, ...]
    output: int
    file: int

    @property
    def moe(self) -> bool:
        """Whether there are experts."""
        return any(self.experts)


def weights_of(model: ModelHeader) -> Weights | None:
    """The weights by place; None where a tensor's type is unknown, and so its size, or layers are past counting."""
    tensors = model.tensors
    if any(tensor.size is None for tensor in tensors):
        return None
    by_layer: dict[int, list[Tensor]] = {}
    elsewhere: list[Tensor] = []
    for tensor in tensors:
        match = LAYER.match(tensor.name)
        (by_layer.setdefault(int(match[1]), []) if match else elsewhere).append(tensor)
    depth = max((*by_layer, (model.integer("{arch}.block_count") or 0) - 1)) + 1
    if depth > MAX_LAYERS:
        return None
    layers = [by_layer.get(at, []) for at in range(depth)]
    inputs = [tensor for tensor in elsewhere if tensor.name in INPUT]
    return Weights(
        host=_total(inputs),
        layers=tuple(_total(layer) for layer in layers),
        experts=tuple(_total(tensor for tensor in layer if EXPERTS.search(tensor.name)) for layer in layers),
        output=_total(elsewhere) - _total(inputs) + _copied(elsewhere),
        file=_total(tensors),
    )


def _copied(tensors: Iterable[Tensor]) -> int:
    """The embeddings, where they serve as output matrix too: the card then holds a copy."""
    sizes = {tensor.name: tensor.size or 0 for tensor in tensors}
    return 0 if "output.weight" in sizes else sizes.get("token_embd.weight", 0)


def _total(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.size or 0 for tensor in tensors)
