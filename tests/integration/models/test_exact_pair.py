"""Exact pairs in full size and in a real server."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from ci.builds.store import Build
from ci.home import Home
from ci.law import Walk, argmax_chain
from ci.llama.client import Request
from ci.llama.server import LlamaServer
from ci.llama.spec import Scenario
from ci.models.exact_pair import LARGE, MODEL_FILES, PAIRS, PairSpec, ensure_pair
from ci.models.lock import load_models
from ci.parity.policy import LAW
from ci.process import Running, scrubbed_env

ROOT = Path(__file__).parents[3]
GENERATE = """
import sys
from pathlib import Path
from ci.home import Home
from ci.models.exact_pair import LARGE, ensure_pair
ensure_pair(Home(root=Path(sys.argv[1]), checkout=Path(sys.argv[1])), LARGE)
"""


def test_a_killed_generation_leaves_no_pair_and_the_next_one_has_the_pinned_bytes(tmp_path: Path) -> None:
    home = Home(root=tmp_path / "home", checkout=tmp_path)
    argv = (sys.executable, "-c", GENERATE, str(home.root))
    with Running(argv, env=scrubbed_env(extra={"PYTHONPATH": str(ROOT)}), log=tmp_path / "log") as child:
        until = time.monotonic() + 60
        while not list(home.models.glob("pairs/.*.part/target.gguf")):
            assert child.exit_code() is None, child.log_tail()
            assert time.monotonic() < until
            time.sleep(0.01)
        os.kill(child.pid, signal.SIGKILL)
    assert [path.name for path in (home.models / "pairs").iterdir() if not path.name.startswith(".")] == []
    pins = {entry.generated.pair: entry.generated.sha256 for entry in load_models().values() if entry.generated}
    pair = ensure_pair(home, LARGE)
    assert {name: pair.digests[name] for name in MODEL_FILES} == pins["LARGE"]


@pytest.mark.native
@pytest.mark.parametrize("spec", PAIRS.values(), ids=lambda spec: spec.name)
def test_a_real_server_follows_the_law(spec: PairSpec, stock_build: Build, real_home: Home, tmp_path: Path) -> None:
    pair = ensure_pair(real_home, spec)
    scenario = Scenario(name=f"law-{spec.name}", model=pair.target, ctx=512)
    with LlamaServer.start(stock_build.path, scenario, log_dir=tmp_path) as server:
        for start in (0, 11):
            request = Request(prompt=pair.law.tokens_of([start]), n_predict=24, n_probs=spec.n_state)
            reply = server.client.complete(request)
            states = pair.law.states_of(reply.tokens)
            walk = Walk(pair.law, start)
            for position, state in zip(reply.top, states, strict=True):
                said = {token - pair.law.first: logprob for token, logprob in position}
                law = walk.log_law()
                worst = max(abs(said[i] - law[i]) for i in range(spec.n_state))
                assert worst < LAW.get(spec.arch, LAW["qwen3"]).margin
                walk.step(state)
            assert states == argmax_chain(pair.law, start, 24).states
