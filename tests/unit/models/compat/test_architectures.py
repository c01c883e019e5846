"""An architecture that llama.cpp does not have is never OK."""

import pytest

from ci.models.compat.answers import Fit
from ci.models.compat.architectures import GENERATE_TEXT, architecture_answers
from ci.models.compat.blocks import HAND_OUT_LAST, HAND_OUT_LAYERS
from ci.models.compat.cache import INTERVAL, ROLLS_BACK, WINDOWS
from ci.models.compat.drafts import DRAFT_ARCHS
from ci.models.compat.matrix import Subject, common_answers
from ci.models.compat.use import Use
from tests.helpers.model_headers import target


@pytest.mark.parametrize("name", ["banana", "clip", "bert", "Qwen3", "qwen3 ", ""])
def test_another_is_cannot_tell(name: str) -> None:
    (answer,) = common_answers(Subject(name="m", target=target(name)), Use(), 11434)
    assert (answer.rule, answer.fit, answer.found) == ("architecture", Fit.UNKNOWN, name or "none")


@pytest.mark.parametrize("name", ["qwen3", "qwen35moe", "gemma4", "llama", "dflash"])
def test_one_that_it_has_needs_no_words(name: str) -> None:
    assert architecture_answers(target(name)) == ()


def test_every_architecture_that_a_rule_names_is_one_of_them() -> None:
    named = {*HAND_OUT_LAYERS, *HAND_OUT_LAST, *ROLLS_BACK, *WINDOWS, *INTERVAL, *DRAFT_ARCHS}
    assert named <= GENERATE_TEXT
