"""What the rules say, held against the real llama-server: options, buffers, pairs served and pairs refused."""

import dataclasses
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ci.builds.arch import Capability
from ci.builds.store import Build
from ci.errors import ReplyProblem, ServerDied, ServerProblem
from ci.home import Home
from ci.llama.reply import Request
from ci.llama.server import LlamaServer
from ci.llama.spec import Scenario
from ci.models.compat.answers import Fit, combined
from ci.models.compat.drafts import draft_answers, speculation_type
from ci.models.compat.matrix import Cell, Place, Subject, common_answers, judge
from ci.models.compat.memory import GIB, MIB, part_of
from ci.models.compat.use import UBATCH, Use
from ci.models.exact_pair import HYBRID, SMALL, Pair, PairSpec, ensure_pair
from ci.models.fetch import ensure_model
from ci.models.header.shards import read_model
from ci.process import run
from tests.helpers.model_headers import grafted_moe

pytestmark = pytest.mark.native

WEIGHTS, CACHE, STATE, COMPUTE = (
    re.compile(rf"{words} buffer size = +([0-9.]+) MiB") for words in ("model", "KV", "RS", " compute")
)
BUFFERS_FROM = 4  # verbosity from which the server tells its buffers
K = 8
QUIET = {"GGML_NO_BACKTRACE": "1"}  # an abort is expected; nobody needs a debugger's account of it


WIDE = PairSpec(name="WIDE", vocab=20_000, first=264, n_embd=64)
"""Wide enough for rows of logits to be most of the draft's compute buffer, and made in a moment."""


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pair]:
    root = tmp_path_factory.mktemp("pairs")
    return {spec.name: ensure_pair(Home(root=root, checkout=root), spec) for spec in (SMALL, WIDE, HYBRID)}


def subject(pair: Pair) -> Subject:
    return Subject(name=pair.spec.name, target=read_model(pair.target), draft=read_model(pair.draft))


def cell(made: Subject, use: Use, memory: int = 11 * GIB) -> Cell:
    place = Place(name="card", capability=Capability(major=7, minor=5), memory=memory)
    return judge(made, place, use, common_answers(made, use, 11434))


# ---- options -----------------------------------------------------------------------------------------------------


@pytest.fixture(params=["stock_build", "speed_build"])
def said(request: pytest.FixtureRequest) -> str:
    build: Build = request.getfixturevalue(request.param)
    return run((str(build.path / "llama-server"), "--help")).stdout.decode()


def test_every_option_of_every_line_is_one_that_the_build_has(said: str, pairs: dict[str, Pair]) -> None:
    moe = Subject(name="moe", target=grafted_moe())
    cells = [
        cell(subject(pairs["SMALL"]), Use()),
        cell(subject(pairs["SMALL"]), Use(slots=256, ctx=512)),
        cell(subject(pairs["SMALL"]), Use(slots=2, kv="q8_0")),
        cell(moe, Use()),
    ]
    options = {word for one in cells for word in one.command if word.startswith("--")}
    assert options >= {"--n-cpu-moe", "--cache-ram", "--ubatch-size", "--spec-draft-n-max", "--fit", "--flash-attn"}
    assert {option for option in options if not re.search(rf"(^|[ ,]){option}[ ,\n]", said, re.MULTILINE)} == set()
    assert "--spec-sched" not in said
    types = re.search(r"--spec-type (\S+)", said)
    assert types is not None
    assert {"draft-dspark", "draft-mtp", "draft-simple"} <= set(types[1].split(","))


# ---- memory ------------------------------------------------------------------------------------------------------


def mib(pattern: re.Pattern[str], log: str) -> list[float]:
    return [float(found) for found in pattern.findall(log)]


@contextmanager
def told(build: Build, scenario: Scenario, log_dir: Path) -> Iterator[str]:
    """The log of a server that was loaded as asked."""
    loud = dataclasses.replace(scenario, flags=(*scenario.flags, "--verbosity", str(BUFFERS_FROM)))
    with LlamaServer.start(build.path, loud, log_dir=log_dir) as server:
        yield server.log_path.read_text("utf-8", "replace")


@pytest.mark.parametrize(("ctx", "kv"), [(1024, "f16"), (4096, "q8_0")])
def test_a_real_models_weights_and_cache_are_exact(
    ctx: int, kv: str, stock_build: Build, real_home: Home, tmp_path: Path
) -> None:
    path = ensure_model(real_home, "smollm2-135m-q4_1")
    part, halves = (part_of(read_model(path), Use(ctx=ctx), kv=kind) for kind in (kv, "f16"))
    assert not isinstance(part, str)
    assert not isinstance(halves, str)
    flags = ("--cache-type-k", kv, "--cache-type-v", kv)
    with told(stock_build, Scenario(name="memory", model=path, ctx=ctx, flags=flags), tmp_path) as log:
        assert mib(WEIGHTS, log) == [round(part.weights.file / MIB, 2)]
        assert mib(CACHE, log) == [round(sum(part.cache) / MIB, 2)]
        (compute,) = mib(COMPUTE, log)
    turned = max(halves.cache) if kv != "f16" else 0  # a card does that, the processor does not
    assert compute <= (part.compute - turned) / MIB <= 1.25 * compute


@pytest.mark.parametrize("name", ["SMALL", "WIDE", "HYBRID"])
@pytest.mark.parametrize("slots", [1, 3, 64, 256])
def test_a_pairs_weights_and_caches_are_exact_and_its_buffers_never_more_than_reckoned(
    name: str, slots: int, pairs: dict[str, Pair], stock_build: Build, tmp_path: Path
) -> None:
    pair, use = pairs[name], Use(ctx=512, slots=slots)
    target, draft = read_model(pair.target), read_model(pair.draft)
    first = part_of(target, use, kv="f16", drafted=K, outputs=slots * (K + 1))
    second = part_of(draft, use, kv="f16", spec_type=speculation_type(target, draft))
    assert not isinstance(first, str)
    assert not isinstance(second, str)
    scenario = Scenario(
        name="memory",
        model=pair.target,
        draft=pair.draft,
        spec_type="draft-dspark",
        n_max=K,
        ctx=use.ctx,
        slots=slots,
        flags=("--ubatch-size", str(use.ubatch), "--batch-size", str(use.batch)),
    )
    with told(stock_build, scenario, tmp_path) as log:
        weights, caches, states, compute = (mib(pattern, log) for pattern in (WEIGHTS, CACHE, STATE, COMPUTE))
    assert weights == [round(part.weights.file / MIB, 2) for part in (first, second)]
    state = first.cache[0] if pair.spec.hybrid else 0
    assert caches == [round((sum(part.cache) - gone) / MIB, 2) for part, gone in ((first, state), (second, 0))]
    assert states == ([round(state / MIB, 2)] if state else [])
    slack = 4 * use.ubatch / UBATCH
    assert compute[0] <= first.compute / MIB <= 1.25 * compute[0] + slack
    assert max(compute[1:]) <= second.compute / MIB <= 1.25 * max(compute[1:]) + slack


# ---- pairs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [SMALL, HYBRID], ids=lambda spec: spec.name)
def test_an_accepted_pair_is_served_with_the_very_line(
    spec: PairSpec, pairs: dict[str, Pair], stock_build: Build, tmp_path: Path
) -> None:
    """Of options that stand twice the last one counts: ours come after those that every scenario has."""
    found = cell(subject(pairs[spec.name]), Use(ctx=1024))
    assert found.fit is Fit.OK
    flags = found.command[3:]
    scenario = Scenario(name="line", model=pairs[spec.name].target, ctx=1024, flags=flags)
    with LlamaServer.start(stock_build.path, scenario, log_dir=tmp_path) as server:
        timings = server.complete(Request(prompt=(8, 9, 10), n_predict=64)).timings
        assert "clamping to" not in server.log_path.read_text("utf-8", "replace")
    assert timings.draft_n > 0
    assert timings.draft_n_accepted > 0


def patched(file: Path, to: Path, old: bytes, new: bytes) -> Path:
    """A copy in which one key or token is another one of the same length."""
    data = file.read_bytes()
    assert (data.count(old), len(old)) == (1, len(new))
    to.write_bytes(data.replace(old, new))
    return to


RANK, TOKENS = 32, 96
"""Of the small pair's Markov matrices."""


def shaped(name: bytes, *shape: int) -> bytes:
    """A tensor's name and dimensions as they stand in a file."""
    return name + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        (b"dflash.block_size", b"dflash.block_sizX", "block size"),
        (b"dflash.target_layers", b"dflash.target_layerX", "target layers"),
        (b"markov_w2.weight", b"markov_wX.weight", "Markov head"),
        (shaped(b"w1.weight", RANK, TOKENS), shaped(b"w1.weight", RANK, TOKENS - 1), "Markov head"),
        (shaped(b"w2.weight", RANK, TOKENS), shaped(b"w2.weight", RANK // 2, TOKENS), "Markov head"),
    ],
    ids=["no block size", "no target layers", "no second matrix", "other rows", "other rank"],
)
def test_a_draft_that_we_refuse_does_not_load(
    old: bytes, new: bytes, rule: str, pairs: dict[str, Pair], stock_build: Build, tmp_path: Path
) -> None:
    pair = pairs["SMALL"]
    draft = patched(pair.draft, tmp_path / "draft.gguf", old, new)
    refused = [
        one.rule for one in draft_answers(read_model(pair.target), read_model(draft)) if one.fit is Fit.REFUSED
    ]
    assert refused == [rule]
    scenario = Scenario(name="refused", model=pair.target, draft=draft, spec_type="draft-dspark", n_max=K, ctx=512)
    with pytest.raises(ServerDied), LlamaServer.start(stock_build.path, scenario, log_dir=tmp_path, env=QUIET):
        pass


def test_a_draft_without_a_mask_token_ends_the_server_at_its_first_request(
    pairs: dict[str, Pair], stock_build: Build, tmp_path: Path
) -> None:
    pair, key = pairs["SMALL"], b"tokenizer.ggml.mask_token_id"
    draft = patched(pair.draft, tmp_path / "draft.gguf", key, key[:-1] + b"X")
    refused = [
        one.rule for one in draft_answers(read_model(pair.target), read_model(draft)) if one.fit is Fit.REFUSED
    ]
    assert refused == ["mask token"]
    scenario = Scenario(name="mask", model=pair.target, draft=draft, spec_type="draft-dspark", n_max=K, ctx=512)
    start = LlamaServer.start(stock_build.path, scenario, log_dir=tmp_path, env=QUIET)
    with start as server, pytest.raises((ServerProblem, ReplyProblem)):
        server.complete(Request(prompt=(8, 9), n_predict=16))


def test_other_token_texts_silently_end_simple_drafting(
    pairs: dict[str, Pair], stock_build: Build, tmp_path: Path
) -> None:
    pair = pairs["SMALL"]
    odd = patched(pair.simple, tmp_path / "simple.gguf", "\u2581t010".encode(), "\u2581x010".encode())
    answers = {
        name: draft_answers(read_model(pair.target), read_model(file))
        for name, file in (("right", pair.simple), ("wrong", odd))
    }
    assert {name: combined(found) for name, found in answers.items()} == {"right": Fit.OK, "wrong": Fit.REFUSED}
    drafted = {}
    for name, file in (("right", pair.simple), ("wrong", odd)):
        scenario = Scenario(name=name, model=pair.target, draft=file, spec_type="draft-simple", n_max=K, ctx=512)
        with LlamaServer.start(stock_build.path, scenario, log_dir=tmp_path) as server:
            drafted[name] = server.complete(Request(prompt=(8, 9), n_predict=32)).timings.draft_n
    assert drafted["right"] > 0
    assert drafted["wrong"] == 0
