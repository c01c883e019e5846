import pytest

from ci.outcome import Verdict
from ci.parity.prompts import Prompt
from ci.parity.tokenizer import TokenIds, judge_tokenizer

ASKED = tuple(Prompt(id=name, text=name) for name in ("prose-1", "prose-2", "code-1"))
IDS: TokenIds = {"prose-1": (1, 2), "prose-2": (3,), "code-1": (4, 5, 6)}


def test_equal_ids_pass_with_their_counts_by_kind() -> None:
    result = judge_tokenizer("t", ASKED, IDS, {name: list(ids) for name, ids in IDS.items()})
    assert result.verdict is Verdict.PASS
    assert (result.evidence["n_compared"], result.evidence["n_expected"], result.evidence["tokens"]) == (3, 3, 6)
    assert result.evidence["kinds"] == {"prose": 2, "code": 1}


@pytest.mark.parametrize("other", [(1, 3), (1,), ()])
def test_other_ids_fail(other: tuple[int, ...]) -> None:
    result = judge_tokenizer("t", ASKED, IDS, {**IDS, "prose-1": other})
    assert result.verdict is Verdict.FAIL
    assert "1 of 3 prompts have other token ids: prose-1" in result.reason


@pytest.mark.parametrize(
    ("stock", "speed"),
    [
        (dict.fromkeys(IDS, ()), dict.fromkeys(IDS, ())),
        ({**IDS, "code-1": ()}, {**IDS, "code-1": ()}),
        ({name: IDS[name] for name in ("prose-1", "prose-2")}, IDS),
        (IDS, {name: IDS[name] for name in ("prose-1", "prose-2")}),
        ({}, {}),
    ],
)
def test_empty_and_missing_ids_prove_nothing(stock: TokenIds, speed: TokenIds) -> None:
    result = judge_tokenizer("t", ASKED, stock, speed)
    assert result.verdict is Verdict.UNPROVEN
    assert "code-1" in result.reason


def test_no_prompts_prove_nothing() -> None:
    assert judge_tokenizer("t", (), {}, {}).verdict is Verdict.UNPROVEN
