import numpy as np
import pytest

from ci.models.exact_pair import HYBRID, LARGE, SMALL
from ci.models.exact_pair_tensors import EPS, Tensor, codes_of, dspark_tensors, simple_tensors, target_tensors
from ci.models.pair_spec import PairSpec, make_law


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


@pytest.mark.parametrize("spec", [SMALL, HYBRID], ids=lambda spec: spec.name)
def test_nothing_but_the_memory_writes_to_the_residual_stream(spec: PairSpec) -> None:
    written = {
        name
        for name, values in target_tensors(spec, make_law(spec))
        if ("attn_output" in name or "down" in name or "ssm_out" in name) and values.any()
    }
    assert written == ({"blk.0.ssm_out.weight"} if spec.hybrid else set())


def test_the_large_vocabulary_shares_one_code() -> None:
    codes = codes_of(LARGE)
    assert len(codes) == LARGE.vocab
    assert (codes == LARGE.n_state).sum() == LARGE.vocab - LARGE.n_state
    assert LARGE.rank == 32
    assert LARGE.n_embd == 64
