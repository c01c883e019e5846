import pytest

from ci.errors import ConfigProblem
from ci.outcome import JsonValue, Verdict
from ci.report.figures import scenario_figures
from ci.report.summary import summarise
from tests.helpers import releases


def words(*suites: JsonValue) -> str:
    return summarise(releases.manifest(list(suites))).headline


def verdict(*suites: JsonValue) -> Verdict:
    return summarise(releases.manifest(list(suites))).verdict


def test_proven_and_faster() -> None:
    summary = summarise(releases.manifest())
    assert summary.verdict is Verdict.PASS
    assert summary.headline == (
        "Safe and faster: token-identical to stock on 768 tokens (12 real prompts x 64); "
        "768 more agree with the calculated text or with its own plain decoding; "
        "on a real model +8.4 % (99.2 % interval +7.2 to +9.7); "
        "+14.0 % (99.2 % interval +12.7 to +15.3) on a generated model that exaggerates the gain."
    )
    assert summary.unproven == summary.failed == ()


def test_forks_at_ties_are_counted_in_the_headline() -> None:
    fork = {"prompt": "p", "index": 3, "tokens": [1, 2], "margin": 0.01, "explained": True}
    parity = releases.suite("parity", [releases.gate("spec", n_compared=1200, n_expected=1300, forks=[fork, fork])])
    text = words(parity, releases.throughput())
    assert "no text was compared with stock; 1,200 tokens agree " in text
    assert "its own plain decoding, but for 2 fork(s) at ties; " in text
    assert "identical" not in text


def test_a_fork_from_stock_is_not_called_identical() -> None:
    parity = releases.parity()
    parity["gates"][0]["evidence"]["forks"] = [{"index": 3}]
    assert "equal but for 1 fork(s) at ties to stock on 768 tokens" in words(parity, releases.throughput())


def test_gates_without_texts_are_not_called_token_identical() -> None:
    text = words(releases.suite("parity", [releases.gate("law", n_compared=5)]), releases.throughput())
    assert text.startswith("Safe and faster: 1 parity gate(s) passed; ")


def test_a_passed_gate_without_a_gain_is_not_called_faster() -> None:
    scenarios = [releases.scenario(shift=-0.085)]
    assert words(releases.parity(), releases.throughput(scenarios=scenarios)).startswith("Safe and no slower: ")


def test_a_scenario_that_claims_nothing_needs_no_gain() -> None:
    scenarios = [releases.scenario("real-plain", -0.081, claims=False), releases.scenario("large")]
    text = words(releases.parity(), releases.throughput(scenarios=scenarios))
    assert text.startswith("Safe and faster: ")
    assert "; on a real model " in text


def test_one_claimed_scenario_without_a_gain_is_enough_to_lose_the_word() -> None:
    scenarios = [releases.scenario("a"), releases.scenario("b", -0.085)]
    assert words(releases.parity(), releases.throughput(scenarios=scenarios)).startswith("Safe and no slower: ")


def test_failed_parity_is_all_that_counts() -> None:
    text = words(releases.parity("FAIL", "prompt 3, token 17 differs"), releases.throughput())
    assert text == "Do not use: parity with stock failed: prompt 3, token 17 differs."


def test_slower_is_said() -> None:
    slow = releases.throughput("FAIL", "upper bound below zero", [releases.scenario(shift=-0.15)])
    text = words(releases.parity(), slow)
    assert text.startswith("Safe but slower: token-identical to stock")
    assert text.endswith("Throughput FAIL: upper bound below zero.")


def test_a_missed_aim_is_not_called_slower() -> None:
    missed = releases.throughput("FAIL", "below the aim", [releases.scenario(shift=-0.07)])
    assert words(releases.parity(), missed).startswith("Safe but not fast enough: ")


def test_an_open_throughput_gate_is_said() -> None:
    text = words(releases.parity(), releases.throughput("UNPROVEN", "interval touches zero"))
    assert text.startswith("Safe, but a gain in speed is not proven: ")
    assert text.endswith("Throughput UNPROVEN: interval touches zero.")


def test_unproven_parity_is_never_called_safe() -> None:
    text = words(releases.parity("UNPROVEN", "no answers"), releases.throughput())
    assert text.startswith("Not proven safe: no answers. Speed: on a real model +8.4 %")


@pytest.mark.parametrize(
    "suites",
    [
        [],
        [releases.parity()],
        [releases.throughput()],
        [releases.suite("parity", []), releases.throughput()],
        [releases.parity(), releases.suite("throughput", [])],
        [releases.parity(), releases.throughput(scenarios=[])],
        [releases.parity(), releases.throughput(), releases.suite("", [], stock=None, speed=None)],
        [releases.parity() | {"speed": None}, releases.throughput()],
    ],
    ids=[
        "nothing",
        "no throughput",
        "no parity",
        "no gates",
        "no gates either",
        "no figures",
        "nameless",
        "no build",
    ],
)
def test_absence_is_unproven(suites: list[JsonValue]) -> None:
    assert verdict(*suites) is Verdict.UNPROVEN


def test_a_suite_without_gates_left_no_evidence() -> None:
    summary = summarise(releases.manifest([releases.parity(), releases.suite("throughput", [])]))
    assert [gate.reason for _, gate in summary.unproven] == ["the throughput suite left no evidence"]


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        ({"speed": {"label": "b11434", "digest": releases.STOCK_DIGEST}}, "the same build ran on both sides"),
        ({"speed": {"label": "b11434-speed.2", "digest": releases.SPEED_DIGEST}}, "is about build 'b11434-speed.2'"),
        ({"stock": {"label": "b11401", "digest": releases.STOCK_DIGEST}}, "not unpatched b11434"),
        ({"speed": {"label": releases.RELEASE, "digest": "9" * 64}}, "in none of the archives"),
    ],
)
def test_evidence_about_something_else_is_unproven(change: dict[str, JsonValue], doubt: str) -> None:
    summary = summarise(releases.manifest([releases.parity() | change, releases.throughput()]))
    assert summary.verdict is Verdict.UNPROVEN
    assert any(doubt in gate.reason for _, gate in summary.unproven)
    assert summary.headline.startswith("Not proven safe: ")


def test_a_further_suite_counts() -> None:
    extra = releases.suite("audit", [releases.gate("runpath", "FAIL", "absolute path")])
    summary = summarise(releases.manifest([releases.parity(), releases.throughput(), extra]))
    assert summary.verdict is Verdict.FAIL
    assert summary.headline.endswith(" Audit FAIL: absolute path.")


def compared(name: str, tokens: int) -> JsonValue:
    return releases.gate(name, n_compared=tokens, n_expected=tokens, forks=[])


def test_only_what_was_compared_with_stock_is_called_identical_to_stock() -> None:
    real = releases.gate("real-greedy", n_prompts=12, n_compared=700, n_expected=768, forks=[])
    with_stock = [compared("pair-stock-small", 1000), compared("pair-sampled-large-plain", 300)]
    others = ("real-self-identity", "real-ngram-mod", "pair-law-small", "pair-tokens-small-draft-dspark")
    parity = releases.suite("parity", [real, *with_stock, *(compared(name, 10) for name in others)])
    text = words(parity, releases.throughput())
    assert "token-identical to stock on 2,000 tokens (12 real prompts x up to 64, and generated models); " in text
    assert "; 40 more agree with the calculated text or with its own plain decoding; " in text


def test_the_real_model_comes_first_and_generated_ones_by_their_greatest_gain() -> None:
    scenarios = [releases.scenario(name, at) for name, at in (("a", 0.0), ("b", 0.04), ("real-plain", -0.05))]
    text = words(releases.parity(), releases.throughput(scenarios=scenarios))
    assert "; on a real model +3.1 % (99.2 % interval +2.0 to +4.4); up to +12.8 % (" in text
    assert text.endswith(" on a generated model that exaggerates the gain.")


def test_a_loss_is_not_hidden_behind_the_greatest_gain() -> None:
    scenarios = [releases.scenario("a", -0.2), releases.scenario("b")]
    text = words(releases.parity(), releases.throughput(scenarios=scenarios))
    assert "; not measured on a real model; from -11.3 % (" in text


def test_a_long_reason_is_cut_in_the_headline() -> None:
    assert len(words(releases.parity("FAIL", "x" * 5000))) < 300


def test_figures_of_another_form_are_named() -> None:
    broken = releases.scenario("real", estimate="fast", upper=1e9)
    manifest = releases.manifest([releases.parity(), releases.throughput(scenarios=[broken])])
    with pytest.raises(ConfigProblem, match=r"throughput figures of real: 2 fault"):
        summarise(manifest)


def test_a_refused_scenario_has_no_figures_and_no_pass() -> None:
    refused = releases.scenario() | {"verdict": "UNPROVEN", "reason": "not measured: one build served twice"}
    refused["evidence"]["log_ratio"] = None
    summary = summarise(releases.manifest([releases.parity(), releases.throughput(scenarios=[refused])]))
    assert summary.scenarios == ()
    assert summary.verdict is Verdict.UNPROVEN


def test_a_patch_measured_by_its_switch_is_no_comparison_with_stock() -> None:
    switch = releases.scenario("host-greedy-argmax")
    switch["evidence"]["sides"]["a"]["digest"] = releases.SPEED_DIGEST
    summary = summarise(releases.manifest([releases.parity(), releases.throughput(scenarios=[switch])]))
    assert summary.scenarios == ()
    assert [gate.reason for _, gate in summary.unproven] == ["no scenario was measured against stock"]


def test_too_few_pairs_for_a_bound_are_neither_faster_nor_slower() -> None:
    (figure,) = summarise(
        releases.manifest([releases.throughput(scenarios=[releases.scenario(lower=None, upper=None)])])
    ).scenarios
    assert not figure.is_faster
    assert not figure.is_slower
    assert figure.words == "+8.4 % (99.2 % interval none: too few pairs)"


def test_no_evidence_has_no_figures() -> None:
    assert scenario_figures(None) == ()
