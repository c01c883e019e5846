"""The layers of an exact pair, in numpy: they write nothing to the residual stream, or exactly what is said here.

Shapes are numpy's: reversed ggml order. Directions of the residual stream: the codes of tokens first, then a constant
and the memory slots of a target that remembers, or the ballots of experts.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ci.law import Ints
from ci.models.pair_spec import DECAY, HEAD_DIM, MEMORY, N_EXPERT, SSM_STATE, PairSpec

Tensor = npt.NDArray[np.float32]
Named = tuple[str, Tensor]

EPS = 1e-6
N_LAYER, N_HEAD, N_FF = 2, 2, 128
N_EXPERT_USED, N_FF_EXPERT = 2, 64
SSM_HEADS, SSM_CONV = 2, 4
CURRENT, CONSTANT = 0.8, 0.6  # residual amplitudes / sqrt(n_embd) of a target that remembers: together of unit norm
VALUE_GAIN, GATE = 10.0, 10.0  # large enough to sit on the linear side of silu
ROPE_BASE, FAST_TURNS = 10_000.0, 8  # the fastest rotations tell neighbouring positions apart
SHARPNESS = 160.0  # of the attention to the token before: e^-20 of it goes to the next best position
ROUTE = 10.0  # logit of a chosen expert, minus that of another: e^-20 of the weight goes astray
EXPERT_MATRICES = ("gate_inp", "gate_exps", "up_exps", "down_exps")
VOTE = 1.0  # residual amplitude of an expert alone, / sqrt(n_embd)


class Noise:
    """Random weights for matrices whose values must not matter."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> Tensor:
        """The next matrix, of a size that keeps products near 1."""
        return float32(self._rng.normal(0.0, 0.5 / np.sqrt(shape[-1]), shape))


def float32(values: npt.ArrayLike) -> Tensor:
    """As contiguous float32."""
    return np.ascontiguousarray(values, dtype=np.float32)


def ones(*shape: int) -> Tensor:
    """Float32 ones."""
    return np.ones(shape, np.float32)


def zeros(*shape: int) -> Tensor:
    """Float32 zeros."""
    return np.zeros(shape, np.float32)


def experts_of(spec: PairSpec) -> Ints:
    """[codes, 2]: the experts that every code of a `qwen3moe` target goes to; each pair of them has its turn."""
    pairs = np.array(list(combinations(range(N_EXPERT), N_EXPERT_USED)))
    return pairs[np.arange(spec.n_state + 1) % len(pairs)]


def ballots(spec: PairSpec) -> slice:
    """The residual directions that experts write to."""
    return slice(spec.n_state + 1, spec.n_state + 1 + N_EXPERT)


def attention(spec: PairSpec, prefix: str, noise: Noise, *, gated: bool = False) -> Iterator[Named]:
    """Attention with a zero output; gated as in a hybrid, or plain."""
    width = N_HEAD * HEAD_DIM
    yield prefix + "attn_norm.weight", ones(spec.n_embd)
    if gated:
        yield prefix + "post_attention_norm.weight", ones(spec.n_embd)
    yield prefix + "attn_q.weight", noise(2 * width if gated else width, spec.n_embd)  # gated: query and gate
    yield prefix + "attn_k.weight", noise(width, spec.n_embd)
    yield prefix + "attn_v.weight", noise(width, spec.n_embd)
    yield prefix + "attn_output.weight", zeros(spec.n_embd, width)
    yield prefix + "attn_q_norm.weight", ones(HEAD_DIM)
    yield prefix + "attn_k_norm.weight", ones(HEAD_DIM)


def recalling_attention(spec: PairSpec, prefix: str, noise: Noise) -> Iterator[Named]:
    """Attention whose first head looks at the token before, whatever it is.

    Queries and keys are constant, and keys are turned back by one position (rotary embedding turns dimensions j and
    j + half together), so a key d positions back scores in proportion to sum over j of cos(theta_j (d - 1)), which is
    largest at d = 1. The first token of a text has no other position to look at than its own.
    """
    named = dict(attention(spec, prefix, noise))
    query, key, value, out = (named[f"{prefix}attn_{name}.weight"] for name in ("q", "k", "v", "output"))
    root, half, constant, states = np.sqrt(spec.n_embd), HEAD_DIM // 2, spec.n_state + 1, np.arange(spec.n_state)
    theta = ROPE_BASE ** (-np.arange(half) / half)
    for matrix in (query, key, value):
        matrix[:HEAD_DIM] = 0
    query[:half, constant] = 1 / (root * CONSTANT)
    key[:half, constant] = np.cos(theta) / (root * CONSTANT)
    key[half:HEAD_DIM, constant] = np.sin(theta) / (root * CONSTANT)
    value[states, states] = 1 / (root * CURRENT)
    out[constant + 1 + states, states] = root * MEMORY
    for name in ("q", "k"):  # both vectors have mean square 1/2 before these norms
        norm = named[f"{prefix}attn_{name}_norm.weight"]
        norm[:] = 0
        norm[:FAST_TURNS] = norm[half : half + FAST_TURNS] = np.sqrt(SHARPNESS / 2)
    yield from named.items()


def dense_block(spec: PairSpec, prefix: str, noise: Noise) -> Iterator[Named]:
    """A whole `qwen3` layer that writes nothing."""
    yield from attention(spec, prefix, noise)
    yield from feed_forward(spec, prefix, noise)


def feed_forward(spec: PairSpec, prefix: str, noise: Noise) -> Iterator[Named]:
    """A dense feed-forward part with a zero output."""
    yield prefix + "ffn_norm.weight", ones(spec.n_embd)
    yield prefix + "ffn_gate.weight", noise(N_FF, spec.n_embd)
    yield prefix + "ffn_up.weight", noise(N_FF, spec.n_embd)
    yield prefix + "ffn_down.weight", zeros(spec.n_embd, N_FF)


def experts(spec: PairSpec, prefix: str, noise: Noise) -> Iterator[Named]:
    """Experts with zero outputs, and a random router."""
    yield prefix + "ffn_gate_inp.weight", noise(N_EXPERT, spec.n_embd)
    yield prefix + "ffn_gate_exps.weight", noise(N_EXPERT, N_FF_EXPERT, spec.n_embd)
    yield prefix + "ffn_up_exps.weight", noise(N_EXPERT, N_FF_EXPERT, spec.n_embd)
    yield prefix + "ffn_down_exps.weight", zeros(N_EXPERT, spec.n_embd, N_FF_EXPERT)


def voting_experts(spec: PairSpec, prefix: str, noise: Noise) -> Iterator[Named]:
    """Experts of which each raises a direction of its own; a token goes to the two of its code, at equal weights."""
    named = dict(experts(spec, prefix, noise))
    router, gate, up, down = (named[f"{prefix}ffn_{name}.weight"] for name in EXPERT_MATRICES)
    root, codes, every = np.sqrt(spec.n_embd), np.arange(spec.n_state + 1), np.arange(N_EXPERT)
    router[:] = 0
    router[np.ix_(every, codes)] = -ROUTE / root
    router[experts_of(spec).T, codes] = ROUTE / root
    for matrix, size in ((gate, GATE), (up, 1.0)):  # the first inner unit says the same after every token
        matrix[:, 0, :] = 0
        matrix[:, 0, codes] = size / root
    down[every, np.arange(spec.width)[ballots(spec)], 0] = VOTE * root / _silu(GATE)
    yield from named.items()


def shared_expert(spec: PairSpec, prefix: str, noise: Noise) -> Iterator[Named]:
    """The expert of every token of a hybrid, with a zero output."""
    yield prefix + "ffn_gate_inp_shexp.weight", noise(spec.n_embd)
    yield prefix + "ffn_gate_shexp.weight", noise(N_FF_EXPERT, spec.n_embd)
    yield prefix + "ffn_up_shexp.weight", noise(N_FF_EXPERT, spec.n_embd)
    yield prefix + "ffn_down_shexp.weight", zeros(spec.n_embd, N_FF_EXPERT)


def delta_net(spec: PairSpec, prefix: str, noise: Noise) -> Iterator[Named]:
    """Layer 0 of a hybrid: the convolution hands over the previous token, the recurrent state averages over all."""
    root, d, heads, states = np.sqrt(spec.n_embd), SSM_STATE, SSM_HEADS, np.arange(spec.n_state)
    constant = spec.n_state + 1
    qkv, conv = zeros(2 * d + d * heads, spec.n_embd), zeros(2 * d + d * heads, SSM_CONV)
    qkv[[0, d], constant] = 1 / (root * CONSTANT)  # q = k = the first unit vector after the l2 norm
    conv[: 2 * d, 3] = 1  # taps are x[t-3] .. x[t]: q and k read the current token,
    qkv[2 * d + states, states] = VALUE_GAIN / (root * CURRENT)
    conv[2 * d : 3 * d, 2] = 1  # the values of head 0 the one before
    qkv[3 * d :] = noise(d * (heads - 1), spec.n_embd)
    conv[3 * d :] = 0.5
    gate = noise(d * heads, spec.n_embd)
    gate[:d] = 0
    gate[:d, constant] = GATE / (root * CONSTANT)
    out = zeros(spec.n_embd, d * heads)
    out[constant + 1 + states, states] = MEMORY * root / (np.sqrt(d) * _silu(GATE))
    yield prefix + "attn_norm.weight", ones(spec.n_embd)
    yield prefix + "post_attention_norm.weight", ones(spec.n_embd)
    yield prefix + "attn_qkv.weight", qkv
    yield prefix + "attn_gate.weight", gate
    yield prefix + "ssm_conv1d.weight", conv
    yield prefix + "ssm_dt.bias", zeros(heads)
    yield prefix + "ssm_a", float32(np.full(heads, np.log(DECAY) / np.log(2.0)))  # softplus(0) = ln 2
    yield prefix + "ssm_beta.weight", zeros(heads, spec.n_embd)  # sigmoid(0) = 1/2, the BETA of the law
    yield prefix + "ssm_alpha.weight", zeros(heads, spec.n_embd)
    yield prefix + "ssm_norm.weight", ones(d)
    yield prefix + "ssm_out.weight", out


def _silu(x: float) -> float:
    return float(x / (1 + np.exp(-x)))
