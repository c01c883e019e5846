"""Tensor types against cards: a single tensor counts, whatever the file is called."""

import pytest

from ci.builds.arch import Capability
from ci.models.compat.answers import Fit, combined
from ci.models.compat.cards import type_answers
from ci.models.header.values import ModelHeader
from tests.helpers.model_headers import model, tensor

TURING, ADA = Capability(major=7, minor=5), Capability(major=8, minor=9)
HOPPER, BLACKWELL = Capability(major=9, minor=0), Capability(major=12, minor=0)


def holding(*numbers: int) -> ModelHeader:
    many = [tensor(f"blk.{at}.ffn_up.weight", 64, 64) for at in range(300)]
    odd = [tensor(f"blk.{at}.odd.weight", 64, 64, number=number) for at, number in enumerate(numbers)]
    return model({"general.architecture": "qwen3", "general.file_type": 0}, [*many, *odd], name="plain-Q8_0.gguf")


@pytest.mark.parametrize("number", [39, 40])
@pytest.mark.parametrize("capability", [TURING, ADA, HOPPER])
def test_one_four_bit_float_among_many_is_refused_before_blackwell(number: int, capability: Capability) -> None:
    (answer,) = type_answers(holding(number), capability)
    assert (answer.fit, answer.found, answer.expected) == (
        Fit.REFUSED,
        str(capability),
        "compute capability 12.0 or 12.1",
    )
    assert f"({number})" in answer.reason
    assert "blk.0.odd.weight" in answer.reason


@pytest.mark.parametrize("capability", [BLACKWELL, Capability(major=12, minor=1)])
def test_blackwell_takes_four_bit_floats(capability: Capability) -> None:
    assert combined(type_answers(holding(39, 40), capability)) is Fit.OK


def test_a_file_name_makes_no_four_bit_floats() -> None:
    named = model({"general.architecture": "qwen3"}, [tensor("a.weight", 64)], name="model-NVFP4.gguf")
    assert combined(type_answers(named, TURING)) is Fit.OK


def test_an_unknown_card_is_asked_only_where_it_matters() -> None:
    assert combined(type_answers(holding(40), None)) is Fit.UNKNOWN
    assert combined(type_answers(holding(), None)) is Fit.OK


@pytest.mark.parametrize(("number", "fit"), [(4, Fit.REFUSED), (999, Fit.UNKNOWN), (41, Fit.OK), (42, Fit.OK)])
def test_removed_and_unknown_types_are_named_by_number(number: int, fit: Fit) -> None:
    answers = type_answers(holding(number), BLACKWELL)
    assert combined(answers) is fit
    assert fit is Fit.OK or (answers[0].found == str(number) and str(number) in answers[0].reason)


@pytest.mark.parametrize(("number", "name"), [(9, "Q8_1"), (34, "TQ1_0"), (35, "TQ2_0")])
def test_types_that_no_card_multiplies_are_refused(number: int, name: str) -> None:
    (answer,) = type_answers(holding(number), BLACKWELL)
    assert (answer.fit, answer.found) == (Fit.REFUSED, str(number))
    assert f"{name} on the processor only" in answer.reason


def test_every_reason_is_told_not_the_first_only() -> None:
    assert [answer.fit for answer in type_answers(holding(40, 999, 4), TURING)] == [
        Fit.REFUSED,
        Fit.REFUSED,
        Fit.UNKNOWN,
    ]


def test_no_tensors_are_no_proof() -> None:
    assert combined(type_answers(model({"general.architecture": "qwen3"}), BLACKWELL)) is Fit.UNKNOWN
