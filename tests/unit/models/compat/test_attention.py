"""Attention on a card: which caches and heads its kernels have, by the lists of the pinned build."""

import pytest

from ci.models.compat.answers import Answer, Fit
from ci.models.compat.attention import COMPILED, ON_CARDS, attention_answers
from ci.models.compat.use import KV_TYPES
from ci.models.header.values import ModelHeader, Value
from tests.helpers.model_headers import array, model, target


def doubts(made: ModelHeader, kv: str = "f16") -> list[Answer]:
    return [answer for answer in attention_answers(made, kv) if answer.fit is not Fit.OK]


def heads(keys: int, values: int, sharing: int, arch: str = "qwen3") -> ModelHeader:
    told: dict[str, Value | None] = {
        "arch__attention__key_length": keys,
        "arch__attention__value_length": values,
        "arch__attention__head_count": sharing,
    }
    return target(arch, None, **told)


@pytest.mark.parametrize("kv", sorted(KV_TYPES))
def test_every_cache_type_is_told_apart(kv: str) -> None:
    answers = [(answer.rule, answer.fit, answer.found) for answer in attention_answers(target(), kv)]
    fit = Fit.OK if kv in ON_CARDS else Fit.UNKNOWN
    assert answers == ([] if kv in COMPILED else [("cache type", fit, kv)])
    assert (fit is Fit.UNKNOWN) is (kv == "iq4_nl")


@pytest.mark.parametrize("width", [40, 64, 72, 80, 96, 112, 128, 256])
def test_heads_as_wide_as_their_values(width: int) -> None:
    assert doubts(heads(width, width, 1)) == []


@pytest.mark.parametrize(
    ("keys", "values", "sharing"), [(192, 128, 8), (192, 128, 16), (320, 256, 32), (512, 512, 2), (576, 512, 3)]
)
def test_wide_heads_that_several_share(keys: int, values: int, sharing: int) -> None:
    assert doubts(heads(keys, values, sharing)) == []


@pytest.mark.parametrize(
    ("keys", "values", "sharing"),
    [
        *((32, 32, 1), (48, 48, 2), (100, 100, 4), (160, 160, 8), (64, 128, 1), (192, 192, 8)),
        *((192, 128, 1), (192, 128, 12), (320, 256, 16), (512, 512, 1), (576, 512, 1), (576, 576, 8)),
    ],
)
def test_heads_that_no_kernel_has(keys: int, values: int, sharing: int) -> None:
    (doubt,) = doubts(heads(keys, values, sharing))
    assert (doubt.rule, doubt.fit) == ("attention heads", Fit.UNKNOWN)
    assert doubt.found == f"keys {keys} wide, values {values}, {sharing} head(s) to one of them"
    assert "256; or 192 and 128 with a multiple of 8 heads to one" in doubt.expected


def test_one_odd_layer_is_enough() -> None:
    shared = {"arch__attention__key_length": 512, "arch__attention__value_length": 512}
    assert doubts(target(arch__attention__head_count_kv=1, **shared)) == []
    assert len(doubts(target(arch__attention__head_count_kv=array([1, 2]), **shared))) == 1


def test_layers_without_attention_need_no_kernel() -> None:
    odd: dict[str, Value | None] = {
        "arch__attention__key_length": 33,
        "arch__attention__head_count_kv": array([0, 0]),
    }
    assert doubts(target("qwen3", None, **odd)) == []
    assert doubts(model({})) == []


def test_where_flash_attention_is_turned_off_nothing_is_known() -> None:
    assert [doubt.fit for doubt in doubts(target("grok"))] == [Fit.UNKNOWN]
