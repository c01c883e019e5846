import pytest

from ci.errors import ConfigProblem
from ci.throughput.policy import POLICIES, SWITCHES, Policy, parse_share

EVERY = pytest.mark.parametrize(
    "policy", [*POLICIES.values(), *SWITCHES.values()], ids=[*POLICIES, *(f"switch-{name}" for name in SWITCHES)]
)


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("5 %", 0.05), (" 0.5 % ", 0.005), ("99.9%", 0.999)])
def test_a_share_has_a_unit(text: str, share: float) -> None:
    assert parse_share(text) == pytest.approx(share)


@pytest.mark.parametrize(
    "text", ["5", "0.05", "mean:5%", "mean:5", "mean", "-5%", "100%", "0%", "5 s", "5%%", "", "%", "nan%", "٣%5"]
)
def test_a_number_without_a_unit_or_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(ConfigProblem, match="with a unit between 0 % and 100 %"):
        parse_share(text)


@EVERY
def test_looks_grow_can_be_decided_and_fall_on_a_restart(policy: Policy) -> None:
    pairs = [look.pairs for look in policy.looks]
    assert pairs == sorted(set(pairs))
    assert all(look.alpha >= 0.5**look.pairs for look in policy.looks)
    assert all(count % policy.pairs_per_start == 0 for count in pairs)


def test_profiles_measure_as_many_pairs_as_promised_and_spend_at_most_one_percent() -> None:
    assert (POLICIES["quick"].looks[0].pairs, POLICIES["full"].looks[0].pairs) == (8, 16)
    assert all(sum(look.alpha for look in policy.looks) <= 0.01 + 1e-12 for policy in POLICIES.values())


def test_the_rule_in_words_says_the_direction_and_the_numbers() -> None:
    rule = POLICIES["quick"].rule("cpu", judged="speed", control="stock")
    assert rule.startswith("tokens per CPU second of speed against stock")
    assert "lower is worse" in rule
    assert "-3% (above 0% where a gain is claimed)" in rule
    assert "8 pairs at 0.4%" in rule
    assert "refused when it surely waits more" in rule
    assert "by more than 3% of the pair's mean elapsed time, at 1% one-sided" in rule


def test_the_rule_of_a_switch_names_its_sides_and_its_clock() -> None:
    rule = SWITCHES["full"].rule("server", judged="LLAMA_ARG_X=1", control="LLAMA_ARG_X=0")
    assert rule.startswith("tokens/s by the server's clock of LLAMA_ARG_X=1 against LLAMA_ARG_X=0")
    assert "above 2% where" in rule
    assert "stock" not in rule
    assert "waits" not in rule
