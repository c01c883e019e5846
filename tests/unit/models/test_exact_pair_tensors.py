import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from ci.law import Array, Walk
from ci.models.exact_pair import HYBRID, LARGE, MOE, SECOND_ORDER, SMALL
from ci.models.exact_pair_blocks import EPS, N_EXPERT_USED, ROPE_BASE, Tensor, experts_of
from ci.models.exact_pair_tensors import codes_of, dspark_tensors, simple_tensors, target_tensors
from ci.models.pair_spec import HEAD_DIM, N_EXPERT, PairSpec, make_law


def dense_logits(tensors: dict[str, Tensor], token: int) -> np.ndarray:
    """What a model whose residual branches are zero says after a token: head @ rmsnorm(embedding)."""
    x = tensors["token_embd.weight"][token].astype(np.float64)
    normed = x / np.sqrt((x * x).mean() + EPS)
    logits: np.ndarray = tensors["output.weight"].astype(np.float64) @ normed
    return logits


@pytest.mark.parametrize("token", [SMALL.first, SMALL.first + 7])
def test_the_target_says_its_law(token: int) -> None:
    law = make_law(SMALL)
    logits = dense_logits(dict(target_tensors(SMALL, law)), token)
    states = slice(SMALL.first, SMALL.first + SMALL.n_state)
    assert logits[states] == pytest.approx(law.log_p[token - SMALL.first], abs=1e-5)
    outside = np.delete(logits, np.arange(SMALL.vocab)[states])
    assert outside == pytest.approx(np.full(SMALL.vocab - SMALL.n_state, -40.0), abs=1e-4)


def test_every_token_outside_jumps_uniformly_to_a_state() -> None:
    law = make_law(SMALL)
    tensors = dict(target_tensors(SMALL, law))
    for token in (0, 5, SMALL.vocab - 1):
        logits = dense_logits(tensors, token)[SMALL.first : SMALL.first + SMALL.n_state]
        assert logits == pytest.approx(np.full(SMALL.n_state, -np.log(SMALL.n_state)), abs=1e-5)


def test_the_simple_draft_says_q() -> None:
    law = make_law(SMALL)
    logits = dense_logits(dict(simple_tensors(SMALL, law)), SMALL.first + 3)
    assert logits[SMALL.first : SMALL.first + SMALL.n_state] == pytest.approx(law.log_q[3], abs=1e-5)


def test_the_markov_head_of_the_draft_is_q_and_its_own_head_is_silent() -> None:
    law = make_law(SMALL)
    tensors = dict(dspark_tensors(SMALL, law))
    bias = tensors["markov_w2.weight"] @ tensors["markov_w1.weight"][SMALL.first + 3]
    assert bias[SMALL.first : SMALL.first + SMALL.n_state] == pytest.approx(law.log_q[3], abs=1e-5)
    assert not tensors["output.weight"].any()


def test_the_confidence_head_reads_the_previous_token_only() -> None:
    law = make_law(SMALL)
    tensors = dict(dspark_tensors(SMALL, law))
    weights = tensors["conf_proj.weight"][0]
    assert not weights[: SMALL.n_embd].any()
    logit = weights[SMALL.n_embd :] @ tensors["markov_w1.weight"][SMALL.first + 5]
    assert 1 / (1 + np.exp(-logit)) == pytest.approx(law.confidence[5], abs=1e-6)


WRITERS = ("attn_output", "down", "ssm_out")
WRITTEN = {
    "SMALL": set(),
    "HYBRID": {"blk.0.ssm_out.weight"},
    "SECOND_ORDER": {"blk.0.attn_output.weight"},
    "MOE": {"blk.0.ffn_down_exps.weight"},
}


@pytest.mark.parametrize("spec", [SMALL, HYBRID, SECOND_ORDER, MOE], ids=lambda spec: spec.name)
def test_nothing_but_memory_and_votes_writes_to_the_residual_stream(spec: PairSpec) -> None:
    tensors = dict(target_tensors(spec, make_law(spec)))
    written = {name for name, values in tensors.items() if any(word in name for word in WRITERS) and values.any()}
    assert written == WRITTEN[spec.name]


def normed(x: Array) -> Array:
    scaled: Array = x / np.sqrt((x * x).mean() + EPS)
    return scaled


def expert_logits(tensors: dict[str, Tensor], token: int) -> Array:
    """What a mixture of experts says after a token: a plain reference of its first layer and its head."""
    router, gate, up, down = (
        tensors[f"blk.0.ffn_{name}.weight"].astype(np.float64)
        for name in ("gate_inp", "gate_exps", "up_exps", "down_exps")
    )
    x = tensors["token_embd.weight"][token].astype(np.float64)
    inner = normed(x)
    routed = router @ inner
    chosen = np.argsort(-routed)[:N_EXPERT_USED]
    weights = np.exp(routed[chosen] - routed.max())
    for expert, weight in zip(chosen, weights / weights.sum(), strict=True):
        z = gate[expert] @ inner
        x = x + weight * (down[expert] @ (z / (1 + np.exp(-z)) * (up[expert] @ inner)))
    logits: Array = tensors["output.weight"].astype(np.float64) @ normed(x)
    return logits


@pytest.mark.parametrize("state", [0, 5, 23])
def test_experts_complete_the_law(state: int) -> None:
    law = make_law(MOE)
    logits = expert_logits(dict(target_tensors(MOE, law)), MOE.first + state)
    states = slice(MOE.first, MOE.first + MOE.n_state)
    assert logits[states] == pytest.approx(law.log_p[state], abs=1e-5)
    assert np.delete(logits, np.arange(MOE.vocab)[states]) == pytest.approx(-40.0, abs=1e-4)


def test_experts_let_every_other_token_jump_uniformly() -> None:
    logits = expert_logits(dict(target_tensors(MOE, make_law(MOE))), ord("a"))
    assert logits[MOE.first : MOE.first + MOE.n_state] == pytest.approx(-np.log(MOE.n_state), abs=1e-5)


def test_wrong_experts_give_another_law() -> None:
    law = make_law(MOE)
    tensors = dict(target_tensors(MOE, law))
    tensors["blk.0.ffn_gate_inp.weight"] = np.roll(tensors["blk.0.ffn_gate_inp.weight"], 1, axis=0)
    states = slice(MOE.first, MOE.first + MOE.n_state)
    errors = [
        np.abs(expert_logits(tensors, MOE.first + state)[states] - law.log_p[state]).max()
        for state in range(MOE.n_state)
    ]
    assert min(errors) > 0.3


def test_every_pair_of_experts_has_its_turn() -> None:
    chosen = {tuple(pair) for pair in experts_of(MOE).tolist()}
    assert len(chosen) == N_EXPERT * (N_EXPERT - 1) // 2


def turned(vectors: Array) -> Array:
    """Rotary embedding of [positions, HEAD_DIM]: dimensions j and j + half turn together."""
    half = HEAD_DIM // 2
    angles = np.arange(len(vectors))[:, None] * ROPE_BASE ** (-np.arange(half) / half)
    a, b = vectors[:, :half], vectors[:, half:]
    return np.hstack([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)])


def attending_logits(tensors: dict[str, Tensor], tokens: Sequence[int]) -> Array:
    """[positions, vocab]: what a target with a recalling head says; a plain reference of that head and the output."""
    query, key, value, out, q_norm, k_norm = (
        tensors[f"blk.0.attn_{name}.weight"].astype(np.float64)
        for name in ("q", "k", "v", "output", "q_norm", "k_norm")
    )
    x = tensors["token_embd.weight"][list(tokens)].astype(np.float64)
    inner = np.array([normed(row) for row in x])
    q = turned(np.array([normed(query[:HEAD_DIM] @ row) * q_norm for row in inner]))
    k = turned(np.array([normed(key[:HEAD_DIM] @ row) * k_norm for row in inner]))
    scores = np.where(np.tri(len(x), dtype=bool), q @ k.T / np.sqrt(HEAD_DIM), -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    heads = weights / weights.sum(axis=1, keepdims=True) @ (inner @ value[:HEAD_DIM].T)
    x = x + heads @ out[:, :HEAD_DIM].T
    logits: Array = np.array([normed(row) for row in x]) @ tensors["output.weight"].astype(np.float64).T
    return logits


def test_a_second_order_target_says_its_law_along_a_text() -> None:
    law = make_law(SECOND_ORDER)
    states = np.random.default_rng(3).integers(0, law.n_state, 300).tolist()
    logits = attending_logits(dict(target_tensors(SECOND_ORDER, law)), law.tokens_of(states))
    walk = Walk(law, states[0])
    for state, row in zip([*states[1:], 0], logits, strict=True):
        said = row - np.log(np.exp(row).sum())
        assert said[law.first : law.first + law.n_state] == pytest.approx(walk.log_law(), abs=1e-5)
        walk.step(state)


def test_a_shared_head_is_left_out_and_reads_zeros() -> None:
    spec = dataclasses.replace(SMALL, shared_head=True)
    tensors = dict(dspark_tensors(spec, make_law(spec)))
    assert not {"token_embd.weight", "output.weight"} & set(tensors)
    assert not tensors["output_norm.weight"].any()


def test_a_draft_may_lack_its_confidence_head() -> None:
    spec = dataclasses.replace(SMALL, confidence_head=False)
    assert not [name for name, _ in dspark_tensors(spec, make_law(spec)) if name.startswith("conf_proj")]


def test_the_large_vocabulary_shares_one_code() -> None:
    codes = codes_of(LARGE)
    assert len(codes) == LARGE.vocab
    assert (codes == LARGE.n_state).sum() == LARGE.vocab - LARGE.n_state
    assert LARGE.rank == 32
    assert LARGE.n_embd == 64
