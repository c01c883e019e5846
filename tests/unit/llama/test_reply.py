import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import ReplyProblem
from ci.llama.reply import Request, parse_reply
from ci.outcome import JsonMap, JsonValue
from tests.helpers.replies import REQUEST, body

SPECULATIVE: dict[str, JsonValue] = {"timings__draft_n": 14, "timings__draft_n_accepted": 9}


def test_a_good_reply_is_read() -> None:
    reply = parse_reply(body(REQUEST, **SPECULATIVE), REQUEST, model="speedfork-test")
    assert reply.tokens == tuple(range(20))
    assert (reply.timings.draft_n, reply.timings.draft_n_accepted, reply.timings.rounds) == (14, 9, 11)
    assert reply.timings.ms_per_token == pytest.approx(40.0 / 19)


def test_without_speculation_the_draft_counters_are_zero() -> None:
    timings = parse_reply(body(), REQUEST).timings
    assert (timings.draft_n, timings.draft_n_accepted) == (0, 0)


def test_one_token_has_no_time_per_token() -> None:
    one = Request(prompt="x", n_predict=1)
    timings = parse_reply(body(one, timings__predicted_ms=0), one).timings
    assert math.isnan(timings.ms_per_token)


DOES_NOT_COUNT: dict[str, tuple[dict[str, JsonValue], str]] = {
    "cached prompt": ({"timings__prompt_n": 1, "timings__cache_n": 236}, "236 prompt tokens came from a cache"),
    "no prompt": ({"timings__prompt_n": 0}, "prompt_n is 0"),
    "one token": ({"tokens": [1], "tokens_predicted": 1, "timings__predicted_n": 1}, "1 tokens of 20"),
    "zero time": ({"timings__predicted_ms": 0}, "predicted_ms is 0"),
    "negative time": ({"timings__predicted_ms": -1.0}, "timings.predicted_ms"),
    "null time": ({"timings__predicted_ms": None}, "timings.predicted_ms"),
    "nan time": ({"timings__predicted_ms": math.nan}, "timings.predicted_ms"),
    "infinite time": ({"timings__predicted_ms": math.inf}, "timings.predicted_ms"),
    "no timings": ({"timings": None}, "timings"),
    "empty": ({"tokens": [], "tokens_predicted": 0, "content": "", "timings__predicted_n": 0}, "predicted_n"),
    "no ids": ({"tokens": []}, "no tokens"),
    "counts disagree": ({"tokens_predicted": 19}, "disagree"),
    "too many": (
        {"tokens": list(range(21)), "tokens_predicted": 21, "timings__predicted_n": 21},
        "asked for at most 20",
    ),
    "context full": ({"truncated": True}, "context ran full"),
    "more accepted than drafted": ({"timings__draft_n": 3, "timings__draft_n_accepted": 4}, "above draft_n"),
    "all accepted": ({"timings__draft_n": 30, "timings__draft_n_accepted": 20}, "of only 20 tokens"),
    "other server": ({"model": "speedfork-other"}, "expected 'speedfork-test'"),
}


@pytest.mark.parametrize(("changes", "reason"), DOES_NOT_COUNT.values(), ids=DOES_NOT_COUNT.keys())
def test_a_doubtful_reply_is_refused_with_the_reason(changes: dict[str, JsonValue], reason: str) -> None:
    with pytest.raises(ReplyProblem, match=reason):
        parse_reply(body(REQUEST, **changes), REQUEST, model="speedfork-test")


def test_an_early_end_is_refused_when_end_tokens_were_forbidden() -> None:
    request = replace(REQUEST, ignore_eos=True)
    early: JsonMap = {"tokens": list(range(13)), "tokens_predicted": 13, "timings__predicted_n": 13}
    with pytest.raises(ReplyProblem, match="13 tokens of 20"):
        parse_reply(body(request, stop_type="eos", **early), request)


def test_an_early_end_counts_unless_the_full_length_is_needed() -> None:
    early: JsonMap = {"tokens": [1, 2], "tokens_predicted": 2, "timings__predicted_n": 2}
    assert parse_reply(body(stop_type="eos", **early), REQUEST).tokens == (1, 2)
    full = replace(REQUEST, full_length=True)
    with pytest.raises(ReplyProblem, match="2 tokens of 20"):
        parse_reply(body(full, stop_type="eos", **early), full)


@pytest.mark.parametrize("name", ["n_predict", "temperature", "seed", "top_k", "top_p", "min_p", "ignore_eos"])
def test_an_option_that_the_server_did_not_follow_is_named(name: str) -> None:
    used = {**REQUEST.to_json(), name: 17}
    with pytest.raises(ReplyProblem, match=f"{name}: asked for"):
        parse_reply(body(generation_settings=used), REQUEST)
    del used[name]
    with pytest.raises(ReplyProblem, match=f"{name}: asked for"):
        parse_reply(body(generation_settings=used), REQUEST)


def test_32_bit_echoes_are_the_same_value() -> None:
    request = replace(REQUEST, temperature=0.7, top_p=0.95)
    used = {**request.to_json(), "temperature": 0.699999988079071, "top_p": 0.949999988079071}
    assert parse_reply(body(request, generation_settings=used), request).stop_type == "limit"


def test_log_probabilities_are_read_per_position() -> None:
    best = {"id": 7, "logprob": -0.5, "token": "x"}
    positions = [{"id": 7, "logprob": -0.5, "top_logprobs": [best, {"id": 9, "logprob": -1.5}]}, {"top_logprobs": []}]
    assert parse_reply(body(completion_probabilities=positions), REQUEST).top == (((7, -0.5), (9, -1.5)), ())


def test_the_prompt_cache_is_always_off_and_ids_are_asked_for() -> None:
    asked = Request(prompt=(1, 2), n_predict=3).to_json()
    assert (asked["cache_prompt"], asked["return_tokens"], asked["prompt"]) == (False, True, [1, 2])
    assert asked["id_slot"] == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(field=st.sampled_from(sorted(body())), value=JSON)
def test_any_change_of_a_field_gives_a_reply_or_a_reply_problem(field: str, value: JsonValue) -> None:
    try:
        reply = parse_reply(body(REQUEST, **{field: value}), REQUEST)
    except ReplyProblem:
        return
    assert len(reply.tokens) == reply.timings.predicted_n
    assert json.dumps(list(reply.tokens))
