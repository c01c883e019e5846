"""The real llama-server: it starts, proves itself, answers by our rules, and its ways of failing are understood."""

from pathlib import Path

import pytest

from ci.builds.store import Build
from ci.errors import ReplyProblem, ServerDied, ServerProblem
from ci.home import Home
from ci.llama.reply import Request
from ci.llama.server import LlamaServer
from ci.llama.spec import Scenario
from ci.models.exact_pair import SMALL, Pair, ensure_pair

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    root = tmp_path_factory.mktemp("models")
    return ensure_pair(Home(root=root, checkout=root), SMALL)


@pytest.fixture
def plain(pair: Pair) -> Scenario:
    return Scenario(name="plain", model=pair.target, ctx=512)


@pytest.fixture
def drafted(pair: Pair) -> Scenario:
    return Scenario(name="drafted", model=pair.target, draft=pair.draft, spec_type="draft-dspark", n_max=7, ctx=512)


def test_it_answers_with_ids_counters_and_log_probabilities(
    stock_build: Build, plain: Scenario, tmp_path: Path
) -> None:
    with LlamaServer.start(stock_build.path, plain, log_dir=tmp_path, expect_build=stock_build.label) as server:
        reply = server.complete(Request(prompt=(8,), n_predict=12, n_probs=3))
        again = server.complete(Request(prompt=(8,), n_predict=12))
        one = server.complete(Request(prompt=(8,), n_predict=1))
        assert server.degraded == ()
    assert reply.tokens == again.tokens
    assert (len(one.tokens), reply.timings.draft_n) == (1, 0)
    assert [len(top) for top in reply.top] == [3] * 12
    assert [top[0][0] for top in reply.top] == list(reply.tokens)


def test_it_drafts_when_asked(speed_build: Build, drafted: Scenario, tmp_path: Path) -> None:
    with LlamaServer.start(speed_build.path, drafted, log_dir=tmp_path, expect_build=speed_build.label) as server:
        timings = server.complete(Request(prompt=(8,), n_predict=64)).timings
        assert server.cpu_s() > 0
    assert 0 < timings.draft_n_accepted <= timings.draft_n
    assert timings.rounds < 64


def test_two_slots_are_two_slots(stock_build: Build, pair: Pair, tmp_path: Path) -> None:
    scenario = Scenario(name="two", model=pair.target, ctx=512, slots=2)
    with LlamaServer.start(stock_build.path, scenario, log_dir=tmp_path) as server:
        assert (server.props.total_slots, server.props.n_ctx) == (2, 512)
        tokens = {server.complete(Request(prompt=(9,), n_predict=8, id_slot=slot)).tokens for slot in (0, 1)}
    assert len(tokens) == 1


def test_a_longer_draft_than_trained_is_noticed(stock_build: Build, pair: Pair, tmp_path: Path) -> None:
    scenario = Scenario(name="long", model=pair.target, draft=pair.draft, spec_type="draft-dspark", n_max=15)
    with LlamaServer.start(stock_build.path, scenario, log_dir=tmp_path) as server:
        server.client.complete(Request(prompt=(pair.law.first,), n_predict=8))  # by then the line is in the log
        assert any("clamping to 8" in line for line in server.degraded)


def test_a_damaged_model_is_a_death_while_loading(stock_build: Build, plain: Scenario, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(plain.model.read_bytes()[:5000])
    scenario = Scenario(name="broken", model=broken, ctx=512)
    start = LlamaServer.start(stock_build.path, scenario, log_dir=tmp_path)
    with pytest.raises(ServerDied, match=r"(?s)exit code 1.*failed to load model"), start:
        pass


def test_an_unknown_flag_is_a_death_that_quotes_it(stock_build: Build, pair: Pair, tmp_path: Path) -> None:
    scenario = Scenario(name="odd", model=pair.target, flags=("--spec-draft-conf-min", "0.5"))
    start = LlamaServer.start(stock_build.path, scenario, log_dir=tmp_path)
    with pytest.raises(ServerDied, match="--spec-draft-conf-min"), start:
        pass


def test_a_port_that_a_real_server_holds_is_left_alone(stock_build: Build, plain: Scenario, tmp_path: Path) -> None:
    with LlamaServer.start(stock_build.path, plain, log_dir=tmp_path) as older:
        start = LlamaServer.start(stock_build.path, plain, log_dir=tmp_path, pick_port=lambda: older.port)
        with pytest.raises(ServerProblem, match="no free port"), start:
            pass
        assert len(older.complete(Request(prompt=(8,), n_predict=4)).tokens) == 4


def test_settings_in_the_environment_do_not_reach_it(
    stock_build: Build, plain: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_ARG_CTX_SIZE", "256")
    monkeypatch.setenv("LLAMA_ARG_SPEC_TYPE", "ngram-mod")
    with LlamaServer.start(stock_build.path, plain, log_dir=tmp_path) as server:
        assert server.props.n_ctx == 512
        assert server.complete(Request(prompt=(8,), n_predict=64)).timings.draft_n == 0


def test_a_prompt_outside_the_vocabulary_is_an_error_with_the_servers_words(
    stock_build: Build, plain: Scenario, tmp_path: Path
) -> None:
    with (
        LlamaServer.start(stock_build.path, plain, log_dir=tmp_path) as server,
        pytest.raises(ServerProblem, match="status 400"),
    ):
        server.complete(Request(prompt=(4000,), n_predict=4))


def test_a_full_context_does_not_count(stock_build: Build, plain: Scenario, tmp_path: Path) -> None:
    with (
        LlamaServer.start(stock_build.path, plain, log_dir=tmp_path) as server,
        pytest.raises(ReplyProblem, match="of 600"),
    ):
        server.complete(Request(prompt=(8,), n_predict=600))
