"""Exact pairs with byte tokens take text: every route that a text can come by, on every architecture."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from ci.builds.store import Build
from ci.home import Home
from ci.law import Walk
from ci.llama.client import Request
from ci.llama.server import LlamaServer
from ci.llama.spec import Scenario
from ci.models.exact_pair import BYTES_FROM, HYBRID, MOE, SECOND_ORDER, SMALL, Pair, ensure_pair
from ci.models.pair_spec import FIRST_WITH_BYTES

pytestmark = pytest.mark.native

WITH_BYTES = {
    "qwen3": dataclasses.replace(SMALL, vocab=320, first=FIRST_WITH_BYTES),
    "qwen3, second order": SECOND_ORDER,
    "qwen3moe": MOE,
    "qwen35moe": dataclasses.replace(HYBRID, vocab=320, first=FIRST_WITH_BYTES),
}
PROMPT = "Grüße, 世界"
BYTES = PROMPT.replace(" ", "\u2581").encode()  # a sentencepiece vocabulary writes a space as this sign


@pytest.fixture(scope="module", params=WITH_BYTES)
def served(
    request: pytest.FixtureRequest, real_home: Home, stock_build: Build, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Pair, LlamaServer]]:
    pair = ensure_pair(real_home, WITH_BYTES[request.param])
    scenario = Scenario(name="text", model=pair.target, draft=pair.draft, spec_type="draft-dspark", n_max=7, ctx=512)
    logs: Path = tmp_path_factory.mktemp("logs")
    with LlamaServer.start(stock_build.path, scenario, log_dir=logs) as server:
        yield pair, server


def test_text_becomes_its_bytes(served: tuple[Pair, LlamaServer]) -> None:
    _, server = served
    assert server.client.tokenize(PROMPT) == tuple(BYTES_FROM + byte for byte in BYTES)


def test_a_completion_of_text_follows_the_law(served: tuple[Pair, LlamaServer]) -> None:
    pair, server = served
    reply = server.complete(Request(prompt=PROMPT, n_predict=24))
    first, *rest = pair.law.states_of(reply.tokens)
    walk = Walk(pair.law, None)
    walk.step(first)
    for state in rest:
        assert state == walk.log_law().argmax()
        walk.step(state)
    assert len(reply.content.split()) == len(reply.tokens)
    assert reply.timings.draft_n > 0


def test_after_text_every_state_is_as_likely(served: tuple[Pair, LlamaServer]) -> None:
    pair, server = served
    reply = server.complete(Request(prompt=PROMPT, n_predict=1, n_probs=pair.spec.n_state, temperature=1.0))
    said = dict(reply.top[0])
    assert sorted(said) == list(pair.law.tokens_of(range(pair.law.n_state)))
    assert list(said.values()) == pytest.approx([Walk(pair.law, None).log_law()[0]] * len(said), abs=1e-3)


def test_a_chat_is_answered_in_words_of_the_pair(served: tuple[Pair, LlamaServer]) -> None:
    pair, server = served
    body = {"messages": [{"role": "user", "content": PROMPT}], "max_tokens": 8, "temperature": 0}
    answer = server.client._json("POST", "/v1/chat/completions", body)
    words = answer["choices"][0]["message"]["content"].split()
    assert len(words) == 8
    law = pair.law
    assert {int(word.removeprefix("t")) for word in words} <= set(law.tokens_of(range(law.n_state)))
    assert answer["usage"]["prompt_tokens"] == len(BYTES)
