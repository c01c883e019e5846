import dataclasses

import numpy as np
import pytest

from ci.law import Walk
from ci.models.exact_pair import HYBRID, LARGE, PAIRS, SMALL
from ci.models.pair_spec import PairSpec, make_law
from ci.outcome import JsonMap


@pytest.mark.parametrize("spec", PAIRS.values(), ids=lambda spec: spec.name)
def test_laws_are_laws(spec: PairSpec) -> None:
    law = make_law(spec)
    for log_law in (law.log_p, law.log_q):
        assert log_law.shape == (spec.n_state, spec.n_state)
        assert np.exp(log_law).sum(axis=1) == pytest.approx(np.ones(spec.n_state))
    assert ((law.confidence > 0) & (law.confidence < 1)).all()


def test_the_large_pair_keeps_compact_laws() -> None:
    assert LARGE.vocab == 151_936
    assert make_law(LARGE).log_p.shape == (24, 24)


def test_only_the_hybrid_has_a_history() -> None:
    assert make_law(SMALL).history is None
    assert make_law(HYBRID).history is not None


def test_confidence_is_the_targets_probability_of_the_drafts_token() -> None:
    law = make_law(SMALL)
    rows = np.arange(law.n_state)
    assert law.confidence == pytest.approx(np.exp(law.log_p)[rows, law.successor])


def test_without_divergence_the_draft_is_the_target() -> None:
    law = make_law(dataclasses.replace(SMALL, diverge=0.0))
    assert law.log_q == pytest.approx(law.log_p)


def test_the_pair_disagrees_somewhere_so_that_drafts_are_rejected() -> None:
    law = make_law(SMALL)
    agreement = (law.log_p.argmax(axis=1) == law.successor).mean()
    assert 0.3 < agreement < 1.0


def test_the_seed_decides_the_law() -> None:
    assert make_law(SMALL).log_p == pytest.approx(make_law(SMALL).log_p, abs=0)
    other = make_law(dataclasses.replace(SMALL, seed=2))
    assert not np.allclose(other.log_p, make_law(SMALL).log_p)


def test_a_hybrids_law_depends_on_what_was_said_before() -> None:
    law = make_law(HYBRID)
    rows = []
    for before in (1, 2):
        walk = Walk(law, before)
        walk.step(0)
        rows.append(walk.log_law())
    assert not np.allclose(rows[0], rows[1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_state": 90}, "do not fit a vocabulary of 96"),
        ({"first": 2}, "do not fit"),
        ({"n_embd": 20}, "need n_embd 25, found 20"),
        ({"order2": 1.0}, "only a hybrid target has a history"),
        ({"arch": "qwen35moe"}, "only a hybrid target has a history"),
        ({"arch": "qwen35moe", "order2": 1.0, "n_state": 40, "n_embd": 256}, "at most 32 states"),
    ],
)
def test_an_impossible_specification_is_refused(change: JsonMap, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dataclasses.replace(SMALL, **change)


def test_the_name_is_not_part_of_the_identity_but_everything_else_is() -> None:
    assert dataclasses.replace(SMALL, name="other").identity == SMALL.identity
    changed = dataclasses.replace(SMALL, confidence_temperature=0.7)
    assert changed.identity != SMALL.identity
