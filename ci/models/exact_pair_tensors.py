"""The weights of an exact pair, in numpy: tiny models whose next-token law is chosen beforehand.

How a target follows its law: the embedding of a state is a unit vector of its own, scaled so that the final norm is
the identity up to sqrt(1 + eps); every branch that writes to the residual stream is zero; the output matrix holds
log P. All other tokens share one code and jump uniformly to a state, so the width does not grow with the vocabulary.
Two things write after all: what a target remembers, and what its experts vote for. Matrices whose values must not
matter are random. Shapes are numpy's: reversed ggml order.
"""

from collections.abc import Iterator

import numpy as np

from ci.law import Array, Ints, PairLaw
from ci.models.exact_pair_blocks import (
    CONSTANT,
    CURRENT,
    EPS,
    N_EXPERT_USED,
    N_LAYER,
    VOTE,
    Named,
    Noise,
    Tensor,
    attention,
    ballots,
    delta_net,
    dense_block,
    experts,
    experts_of,
    feed_forward,
    float32,
    ones,
    recalling_attention,
    shared_expert,
    voting_experts,
    zeros,
)
from ci.models.pair_spec import MEMORY, N_EXPERT, PairSpec

NEVER = -40.0  # log-probability of an impossible token: e^-40 vanishes beside 1 in float32
VOTES_SPREAD = 1.5  # standard deviation of what experts vote for, in logits: another expert changes the law by far


def codes_of(spec: PairSpec) -> Ints:
    """[vocab]: the code of each token: its state, or `n_state` for every token outside."""
    codes = np.full(spec.vocab, spec.n_state)
    codes[spec.first : spec.first + spec.n_state] = np.arange(spec.n_state)
    return codes


def _one_hot(spec: PairSpec, width: int, size: float) -> Tensor:
    table = zeros(spec.vocab, width)
    table[np.arange(spec.vocab), codes_of(spec)] = size
    return table


def _law_table(spec: PairSpec, log_law: Array, width: int) -> Array:
    """[vocab, width]: column = code of the current token, row = next token; only states are ever next."""
    table = np.zeros((spec.vocab, width))
    table[:, : spec.n_state + 1] = NEVER
    states = slice(spec.first, spec.first + spec.n_state)
    table[states, : spec.n_state] = log_law.T
    table[states, spec.n_state] = -np.log(spec.n_state)
    return table


def target_tensors(spec: PairSpec, law: PairLaw) -> Iterator[Named]:
    """The target: law P, by way of its memory or its experts where it has them."""
    noise = Noise(spec.seed + 1)
    if law.history is not None:
        yield from _remembering_tensors(spec, law, law.history, noise)
    elif spec.arch == "qwen3moe":
        yield from _voting_tensors(spec, law, noise)
    else:
        yield from first_order_tensors(spec, law.log_p, noise)


def _remembering_tensors(spec: PairSpec, law: PairLaw, history: Array, noise: Noise) -> Iterator[Named]:
    """A target whose first layer puts what it remembers beside the current token."""
    root = np.sqrt(spec.n_embd)
    embedding = _one_hot(spec, spec.n_embd, CURRENT * root)
    embedding[:, spec.n_state + 1] = CONSTANT * root
    rms = np.sqrt(1.0 + MEMORY**2 + EPS)
    head = _law_table(spec, law.log_p, spec.n_embd) * rms / (root * CURRENT)
    remembered = slice(spec.n_state + 2, spec.n_state + 2 + spec.n_state)
    head[spec.first : spec.first + spec.n_state, remembered] = history.T * rms / (root * MEMORY)
    yield "token_embd.weight", embedding
    yield "output_norm.weight", ones(spec.n_embd)
    yield "output.weight", float32(head)
    if spec.hybrid:
        yield from _hybrid_blocks(spec, noise)
        return
    yield from recalling_attention(spec, "blk.0.", noise)
    yield from feed_forward(spec, "blk.0.", noise)
    for i in range(1, N_LAYER):
        yield from dense_block(spec, f"blk.{i}.", noise)


def _hybrid_blocks(spec: PairSpec, noise: Noise) -> Iterator[Named]:
    yield from delta_net(spec, "blk.0.", noise)
    yield from experts(spec, "blk.0.", noise)
    yield from shared_expert(spec, "blk.0.", noise)
    for i in range(1, N_LAYER):
        yield from attention(spec, f"blk.{i}.", noise, gated=True)
        yield from experts(spec, f"blk.{i}.", noise)
        yield from shared_expert(spec, f"blk.{i}.", noise)


def _voting_tensors(spec: PairSpec, law: PairLaw, noise: Noise) -> Iterator[Named]:
    """A target whose own logits lack what the experts of a token vote for: wrong experts give another law."""
    root, rms = np.sqrt(spec.n_embd), np.sqrt(1.0 + VOTE**2 / N_EXPERT_USED + EPS)
    votes = np.random.default_rng(spec.seed + 4).normal(0.0, VOTES_SPREAD, (N_EXPERT, spec.n_state))
    states = slice(spec.first, spec.first + spec.n_state)
    table = _law_table(spec, law.log_p, spec.n_embd)
    table[states, : spec.n_state + 1] -= votes[experts_of(spec)].mean(axis=1).T
    table[states, ballots(spec)] = votes.T / VOTE
    yield "token_embd.weight", _one_hot(spec, spec.n_embd, root)
    yield "output_norm.weight", ones(spec.n_embd)
    yield "output.weight", float32(table * rms / root)
    for i in range(N_LAYER):
        yield from attention(spec, f"blk.{i}.", noise)
        yield f"blk.{i}.ffn_norm.weight", ones(spec.n_embd)
        yield from (voting_experts if i == 0 else experts)(spec, f"blk.{i}.", noise)


def simple_tensors(spec: PairSpec, law: PairLaw) -> Iterator[Named]:
    """An ordinary small model with law Q, for draft-simple."""
    return first_order_tensors(spec, law.log_q, Noise(spec.seed + 2))


def first_order_tensors(spec: PairSpec, log_law: Array, noise: Noise) -> Iterator[Named]:
    """A qwen3 model that follows a first-order law."""
    root = np.sqrt(spec.n_embd)
    yield "token_embd.weight", _one_hot(spec, spec.n_embd, root)
    yield "output_norm.weight", ones(spec.n_embd)
    yield "output.weight", float32(_law_table(spec, log_law, spec.n_embd) * np.sqrt(1.0 + EPS) / root)
    for i in range(N_LAYER):
        yield from dense_block(spec, f"blk.{i}.", noise)


def dspark_tensors(spec: PairSpec, law: PairLaw) -> Iterator[Named]:
    """The DSpark draft: block logits are the Markov bias log Q alone, confidence depends on the last token."""
    noise, width = Noise(spec.seed + 3), spec.n_embd
    yield "fc.weight", noise(width, width)
    yield "enc.output_norm.weight", ones(width)
    # the target's output matrix reads zeros, so that it adds nothing to the bias
    yield "output_norm.weight", zeros(width) if spec.shared_head else ones(width)
    if not spec.shared_head:  # own embeddings and an all-zero head do the same
        yield "token_embd.weight", _one_hot(spec, width, np.sqrt(width))
        yield "output.weight", zeros(spec.vocab, width)
    yield from dense_block(spec, "blk.0.", noise)
    yield "markov_w1.weight", _one_hot(spec, spec.rank, 1.0)
    yield "markov_w2.weight", float32(_law_table(spec, law.log_q, spec.rank))
    if spec.confidence_head:
        confidence = np.zeros((1, width + spec.rank))
        confidence[0, width : width + spec.n_state] = np.log(law.confidence) - np.log1p(-law.confidence)
        yield "conf_proj.weight", float32(confidence)
        yield "conf_proj.bias", zeros(1)
