import dataclasses

import numpy as np
import pytest

from ci.law import Walk
from ci.models.exact_pair import HYBRID, LARGE, PAIRS, SECOND_ORDER, SMALL
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


def test_only_targets_that_remember_have_a_history() -> None:
    laws = {name: make_law(spec) for name, spec in PAIRS.items()}
    assert {name for name, law in laws.items() if law.history is not None} == {"HYBRID", "SECOND_ORDER"}
    assert [laws[name].recalls_itself for name in ("SMALL", "HYBRID", "SECOND_ORDER")] == [False, False, True]
    assert laws["SECOND_ORDER"].decay == 0 < laws["HYBRID"].decay


def test_confidence_is_the_targets_probability_of_the_drafts_token() -> None:
    law = make_law(SMALL)
    rows = np.arange(law.n_state)
    assert law.confidence == pytest.approx(np.exp(law.log_p)[rows, law.successor])


def test_a_miscalibrated_head_errs_on_its_logit_and_nothing_else_changes() -> None:
    law, off = make_law(SMALL), make_law(dataclasses.replace(SMALL, confidence_noise=1.5))
    error = np.log(off.confidence / (1 - off.confidence)) - np.log(law.confidence / (1 - law.confidence))
    assert 0.75 < error.std() < 3
    assert np.array_equal(law.log_p, off.log_p)
    assert np.array_equal(law.log_q, off.log_q)


def test_noise_of_the_confidence_leaves_the_history_alone() -> None:
    quiet, noisy = make_law(HYBRID), make_law(dataclasses.replace(HYBRID, confidence_noise=1.0))
    assert quiet.history is not None
    assert noisy.history is not None
    assert np.array_equal(quiet.history, noisy.history)


def test_a_flatter_temperature_makes_the_head_less_sure() -> None:
    sharp, flat = (make_law(dataclasses.replace(SMALL, confidence_temperature=t)) for t in (0.5, 2.0))
    assert np.abs(sharp.confidence - 0.5).mean() > np.abs(flat.confidence - 0.5).mean()


@pytest.mark.parametrize("vocab", [96, 97, 1_000, 4_096, 50_257, 151_935, 151_936])
def test_every_vocabulary_between_the_small_and_the_large_is_a_pair(vocab: int) -> None:
    spec = dataclasses.replace(SMALL, vocab=vocab)
    assert spec.mask == vocab - 1
    assert not spec.text
    assert spec.width <= spec.n_embd


def test_text_needs_room_for_the_byte_tokens() -> None:
    assert dataclasses.replace(SMALL, first=264, vocab=289).text
    with pytest.raises(ValueError, match=r"states 264\.\.287 do not fit a vocabulary of 288"):
        dataclasses.replace(SMALL, first=264, vocab=288)
    assert [name for name, spec in PAIRS.items() if spec.text] == ["LARGE", "SECOND_ORDER", "MOE"]


def test_a_bonus_anchor_costs_one_draft() -> None:
    assert (SMALL.longest_draft, dataclasses.replace(SMALL, bonus_anchor=True).longest_draft) == (8, 7)


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


@pytest.mark.parametrize("spec", [HYBRID, SECOND_ORDER], ids=lambda spec: spec.name)
def test_a_remembering_law_depends_on_what_was_said_before(spec: PairSpec) -> None:
    law = make_law(spec)
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
        ({"first": 2}, "states 2..25 do not fit"),
        ({"vocab": 32}, "do not fit a vocabulary of 32"),
        ({"vocab": 151_937}, "do not fit a vocabulary of 151937; needed: .* vocab <= 151936"),
        ({"n_embd": 20}, "need n_embd 25, found 20"),
        ({"order2": 1.0, "n_embd": 40}, "need n_embd 50, found 40"),
        ({"arch": "qwen3moe", "n_embd": 28}, "need n_embd 29, found 28"),
        ({"arch": "qwen3moe", "order2": 1.0}, "a first-order law: order2 must be 0, found 1.0"),
        ({"arch": "qwen35moe"}, "always remembers: order2 must be above 0"),
        ({"order2": -1.0}, "order2 -1.0 is below 0"),
        ({"arch": "qwen35moe", "order2": 1.0, "n_state": 40, "n_embd": 256}, "at most 32 states"),
        ({"order2": 1.0, "n_state": 65, "n_embd": 256}, "at most 64 states"),
        ({"block": 17}, "block 17 is not within 1..16"),
        ({"block": 1, "bonus_anchor": True}, "block 1 is not within 2..16"),
        ({"confidence_temperature": 0.0}, "confidence_temperature must be above 0"),
        ({"confidence_noise": -1.0}, "confidence_noise not below"),
    ],
)
def test_an_impossible_specification_is_refused(change: JsonMap, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dataclasses.replace(SMALL, **change)


def test_the_name_is_not_part_of_the_identity_but_everything_else_is() -> None:
    assert dataclasses.replace(SMALL, name="other").identity == SMALL.identity
    assert dataclasses.replace(SMALL, confidence_temperature=0.7).identity != SMALL.identity
    assert dataclasses.replace(SMALL, shared_head=True).identity != SMALL.identity
