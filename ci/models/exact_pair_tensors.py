"""The weights of an exact pair, in numpy: tiny models whose next-token law is chosen beforehand.

How a target follows its law: the embedding of a state is a unit vector of its own, scaled so that the final norm is
the identity up to sqrt(1 + eps); every branch that writes to the residual stream is zero; the output matrix holds
log P. All other tokens share one code and jump uniformly to a state, so the width does not grow with the vocabulary.
Matrices whose values must not matter are random. Shapes are numpy's: reversed ggml order.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ci.law import Array, PairLaw
from ci.models.pair_spec import DECAY, MEMORY, SSM_STATE, PairSpec

Tensor = npt.NDArray[np.float32]
Named = tuple[str, Tensor]

NEVER = -40.0  # log-probability of an impossible token: e^-40 vanishes beside 1 in float32
EPS = 1e-6
N_LAYER, N_HEAD, HEAD_DIM, N_FF = 2, 2, 64, 128
N_EXPERT, N_EXPERT_USED, N_FF_EXPERT = 4, 2, 64
SSM_HEADS, SSM_CONV = 2, 4
CURRENT, CONSTANT = 0.8, 0.6  # residual amplitudes / sqrt(n_embd) of a hybrid: together of unit norm
VALUE_GAIN, GATE = 10.0, 10.0  # large enough to sit on the linear side of silu


class _Noise:
    """Random weights for matrices whose values must not matter."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> Tensor:
        return _f32(self._rng.normal(0.0, 0.5 / np.sqrt(shape[-1]), shape))


def _f32(values: npt.ArrayLike) -> Tensor:
    return np.ascontiguousarray(values, dtype=np.float32)


def _ones(*shape: int) -> Tensor:
    return np.ones(shape, np.float32)


def _zeros(*shape: int) -> Tensor:
    return np.zeros(shape, np.float32)


def codes_of(spec: PairSpec) -> npt.NDArray[np.int64]:
    """[vocab]: the code of each token: its state, or `n_state` for every token outside."""
    codes = np.full(spec.vocab, spec.n_state)
    codes[spec.first : spec.first + spec.n_state] = np.arange(spec.n_state)
    return codes


def _one_hot(spec: PairSpec, width: int, size: float) -> Tensor:
    table = _zeros(spec.vocab, width)
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


# ---- models ------------------------------------------------------------------------------------------------------


def target_tensors(spec: PairSpec, law: PairLaw) -> Iterator[Named]:
    """The target: law P, and the history term when it is a hybrid."""
    noise = _Noise(spec.seed + 1)
    if law.history is None:
        yield from first_order_tensors(spec, law.log_p, noise)
        return
    root = np.sqrt(spec.n_embd)
    embedding = _one_hot(spec, spec.n_embd, CURRENT * root)
    embedding[:, spec.n_state + 1] = CONSTANT * root
    rms = np.sqrt(1.0 + MEMORY**2 + EPS)
    head = _law_table(spec, law.log_p, spec.n_embd) * rms / (root * CURRENT)
    remembered = slice(spec.n_state + 2, spec.n_state + 2 + spec.n_state)
    head[spec.first : spec.first + spec.n_state, remembered] = law.history.T * rms / (root * MEMORY)
    yield "token_embd.weight", embedding
    yield "output_norm.weight", _ones(spec.n_embd)
    yield "output.weight", _f32(head)
    yield from _delta_net(spec, "blk.0.", noise)
    yield from _experts(spec, "blk.0.", noise)
    for i in range(1, N_LAYER):
        yield from _attention(spec, f"blk.{i}.", noise, gated=True)
        yield from _experts(spec, f"blk.{i}.", noise)


def simple_tensors(spec: PairSpec, law: PairLaw) -> Iterator[Named]:
    """An ordinary small model with law Q, for draft-simple."""
    return first_order_tensors(spec, law.log_q, _Noise(spec.seed + 2))


def first_order_tensors(spec: PairSpec, log_law: Array, noise: _Noise) -> Iterator[Named]:
    """A qwen3 model that follows a first-order law."""
    root = np.sqrt(spec.n_embd)
    yield "token_embd.weight", _one_hot(spec, spec.n_embd, root)
    yield "output_norm.weight", _ones(spec.n_embd)
    yield "output.weight", _f32(_law_table(spec, log_law, spec.n_embd) * np.sqrt(1.0 + EPS) / root)
    for i in range(N_LAYER):
        yield from _dense_block(spec, f"blk.{i}.", noise)


def dspark_tensors(spec: PairSpec, law: PairLaw) -> Iterator[Named]:
    """The DSpark draft: block logits are the Markov bias log Q alone, confidence depends on the last token."""
    noise, width = _Noise(spec.seed + 3), spec.n_embd
    yield "fc.weight", noise(width, width)
    yield "enc.output_norm.weight", _ones(width)
    yield "output_norm.weight", _ones(width)
    # own embeddings and an all-zero head: without them the target's logits would be added to the bias
    yield "token_embd.weight", _one_hot(spec, width, np.sqrt(width))
    yield "output.weight", _zeros(spec.vocab, width)
    yield from _dense_block(spec, "blk.0.", noise)
    yield "markov_w1.weight", _one_hot(spec, spec.rank, 1.0)
    yield "markov_w2.weight", _f32(_law_table(spec, law.log_q, spec.rank))
    confidence = np.zeros((1, width + spec.rank))
    confidence[0, width : width + spec.n_state] = np.log(law.confidence) - np.log1p(-law.confidence)
    yield "conf_proj.weight", _f32(confidence)
    yield "conf_proj.bias", _zeros(1)


# ---- blocks ------------------------------------------------------------------------------------------------------


def _attention(spec: PairSpec, prefix: str, noise: _Noise, *, gated: bool = False) -> Iterator[Named]:
    width = N_HEAD * HEAD_DIM
    yield prefix + "attn_norm.weight", _ones(spec.n_embd)
    if gated:
        yield prefix + "post_attention_norm.weight", _ones(spec.n_embd)
    yield prefix + "attn_q.weight", noise(2 * width if gated else width, spec.n_embd)  # gated: query and gate
    yield prefix + "attn_k.weight", noise(width, spec.n_embd)
    yield prefix + "attn_v.weight", noise(width, spec.n_embd)
    yield prefix + "attn_output.weight", _zeros(spec.n_embd, width)
    yield prefix + "attn_q_norm.weight", _ones(HEAD_DIM)
    yield prefix + "attn_k_norm.weight", _ones(HEAD_DIM)


def _dense_block(spec: PairSpec, prefix: str, noise: _Noise) -> Iterator[Named]:
    yield from _attention(spec, prefix, noise)
    yield prefix + "ffn_norm.weight", _ones(spec.n_embd)
    yield prefix + "ffn_gate.weight", noise(N_FF, spec.n_embd)
    yield prefix + "ffn_up.weight", noise(N_FF, spec.n_embd)
    yield prefix + "ffn_down.weight", _zeros(spec.n_embd, N_FF)


def _experts(spec: PairSpec, prefix: str, noise: _Noise) -> Iterator[Named]:
    yield prefix + "ffn_gate_inp.weight", noise(N_EXPERT, spec.n_embd)
    yield prefix + "ffn_gate_exps.weight", noise(N_EXPERT, N_FF_EXPERT, spec.n_embd)
    yield prefix + "ffn_up_exps.weight", noise(N_EXPERT, N_FF_EXPERT, spec.n_embd)
    yield prefix + "ffn_down_exps.weight", _zeros(N_EXPERT, spec.n_embd, N_FF_EXPERT)
    yield prefix + "ffn_gate_inp_shexp.weight", noise(spec.n_embd)
    yield prefix + "ffn_gate_shexp.weight", noise(N_FF_EXPERT, spec.n_embd)
    yield prefix + "ffn_up_shexp.weight", noise(N_FF_EXPERT, spec.n_embd)
    yield prefix + "ffn_down_shexp.weight", _zeros(spec.n_embd, N_FF_EXPERT)


def _delta_net(spec: PairSpec, prefix: str, noise: _Noise) -> Iterator[Named]:
    """Layer 0 of a hybrid: the convolution hands over the previous token, the recurrent state averages over all."""
    root, d, heads, states = np.sqrt(spec.n_embd), SSM_STATE, SSM_HEADS, np.arange(spec.n_state)
    constant = spec.n_state + 1
    qkv, conv = _zeros(2 * d + d * heads, spec.n_embd), _zeros(2 * d + d * heads, SSM_CONV)
    qkv[[0, d], constant] = 1 / (root * CONSTANT)  # q = k = the first unit vector after the l2 norm
    conv[: 2 * d, 3] = 1  # taps are x[t-3] .. x[t]: q and k read the current token,
    qkv[2 * d + states, states] = VALUE_GAIN / (root * CURRENT)
    conv[2 * d : 3 * d, 2] = 1  # the values of head 0 the one before
    qkv[3 * d :] = noise(d * (heads - 1), spec.n_embd)
    conv[3 * d :] = 0.5
    gate = noise(d * heads, spec.n_embd)
    gate[:d] = 0
    gate[:d, constant] = GATE / (root * CONSTANT)
    out = _zeros(spec.n_embd, d * heads)
    out[constant + 1 + states, states] = MEMORY * root / (np.sqrt(d) * _silu(GATE))
    yield prefix + "attn_norm.weight", _ones(spec.n_embd)
    yield prefix + "post_attention_norm.weight", _ones(spec.n_embd)
    yield prefix + "attn_qkv.weight", qkv
    yield prefix + "attn_gate.weight", gate
    yield prefix + "ssm_conv1d.weight", conv
    yield prefix + "ssm_dt.bias", _zeros(heads)
    yield prefix + "ssm_a", _f32(np.full(heads, np.log(DECAY) / np.log(2.0)))  # softplus(0) = ln 2
    yield prefix + "ssm_beta.weight", _zeros(heads, spec.n_embd)  # sigmoid(0) = 1/2, the BETA of the law
    yield prefix + "ssm_alpha.weight", _zeros(heads, spec.n_embd)
    yield prefix + "ssm_norm.weight", _ones(d)
    yield prefix + "ssm_out.weight", out


def _silu(x: float) -> float:
    return float(x / (1 + np.exp(-x)))
