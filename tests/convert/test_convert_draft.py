"""Drafts of known weights through upstream's own converter and llama-quantize, then in a real server.

The converter's environment is made by the same code as for a person, in the state directory of the real builds: once.
"""

import os
import signal
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from ci.builds.store import Build
from ci.console import Console
from ci.errors import ConversionFailed
from ci.git import Git
from ci.home import Home
from ci.law import PairLaw, replay
from ci.llama.client import Request
from ci.llama.server import LlamaServer
from ci.llama.spec import Scenario
from ci.models.convert import programs
from ci.models.convert.agree import draft_shape
from ci.models.convert.checkpoint import read_draft, read_target
from ci.models.convert.converting import Job, Made, Product, convert
from ci.models.convert.environment import ensure_environment
from ci.models.convert.source import write_converter
from ci.models.exact_pair import SMALL, PairSpec, ensure_pair
from ci.models.fetch import ensure_model
from ci.models.header.reading import read_header
from ci.models.header.values import ModelHeader
from ci.process import Running, scrubbed_env
from ci.stage import Context
from ci.stages.values import Rebased
from ci.verbs.convert_draft import Request as Asked
from ci.verbs.convert_draft import plan
from tests.conftest import CHECKOUT, REAL_ENVIRON
from tests.helpers.checkpoint_lock import LOCAL, Lock
from tests.helpers.made_models import home_at
from tests.helpers.tiny_checkpoint import (
    byte_pair_tokenizer,
    kept_law,
    write_draft,
    write_target,
    write_weighted_target,
)

pytestmark = [pytest.mark.native, pytest.mark.timeout(1800)]  # where the environment has to be downloaded first

CONTROL = 3  # a token type of the GGUF format
N_MAX, LENGTH, STARTS = 7, 64, range(0, 24, 3)
TEMPERATURES = (0.0, 1.0)
CONVERT = """
import sys
from pathlib import Path
from ci.console import Console
from ci.home import Home
from ci.models.convert.agree import draft_shape
from ci.models.convert.checkpoint import read_draft, read_target
from ci.models.convert.converting import Job, Product, convert
root, draft, target, out, python = map(Path, sys.argv[1:6])
found = read_draft(draft)
shape = draft_shape(found.config, found.tensors, shown="draft")
job = Job(draft=found, shape=shape, target=read_target(target), products=(Product(path=out),), python=python,
          tree=sys.argv[6])
convert(Home(root=root, checkout=root), job, Console())
"""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What all conversions here share."""

    home: Home
    python: Path
    tree: str
    quantizer: Path

    def job(self, draft: Path, target: Path, *products: Product) -> Job:
        checkpoint = read_draft(draft)
        return Job(
            draft=checkpoint,
            shape=draft_shape(checkpoint.config, checkpoint.tensors, shown=str(draft)),
            target=read_target(target),
            products=products,
            python=self.python,
            tree=self.tree,
            quantizer=self.quantizer,
        )

    def convert(self, draft: Path, target: Path, *products: Product) -> tuple[Made, ...]:
        return convert(self.home, self.job(draft, target, *products), Console())


@pytest.fixture(scope="module")
def bench(real_home: Home, real_context: Context, speed_build: Build) -> Bench:
    python = ensure_environment(real_home, Console(), environ=REAL_ENVIRON).python
    tree = real_context.value(Rebased).tree
    return Bench(home=real_home, python=python, tree=tree, quantizer=speed_build.path / programs.QUANTIZER)


def published(folder: Path) -> tuple[Path, Path]:
    """The small pair's draft in three shards, with code that must not run, and its target."""
    own = {"model_type": "tiny", "auto_map": {"AutoConfig": "configuration_tiny.TinyConfig"}}
    draft = write_draft(folder / "tiny", SMALL, shards=3, **own)
    (draft / "configuration_tiny.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\n")
    return draft, write_target(folder / "target", SMALL)


@pytest.fixture(scope="module")
def made(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Made]:
    """The small pair's draft in three shards, as published, quantised to a type that fits and one that does not."""
    folder = tmp_path_factory.mktemp("made")
    draft, target = published(folder)
    products = [Product(path=folder / f"tiny-{kind}.gguf", kind=kind) for kind in ("", "Q8_0", "Q4_K_M")]
    return {one.product.kind: one for one in bench.convert(draft, target, *products)}


def served(
    build: Build, target: Path, draft: Path | None, law: PairLaw, log_dir: Path, *, p_min: float | None = None
) -> list[tuple[int, ...]]:
    """What a server says from some states at two temperatures; a draft's counters must be those of the law."""
    plain = Scenario(name="convert", model=target, ctx=512)
    scenario = replace(plain, draft=draft, spec_type="draft-dspark", n_max=N_MAX, p_min=p_min) if draft else plain
    said = []
    with LlamaServer.start(build.path, scenario, log_dir=log_dir) as server:
        server.require_as_asked()
        for temperature in TEMPERATURES:
            for start in STARTS:
                prompt = law.tokens_of([start])
                asked = Request(prompt=prompt, n_predict=LENGTH, temperature=temperature, seed=start + 1)
                reply = server.complete(asked)
                said.append(tuple(reply.tokens))
                if draft:
                    known = replay(law, law.states_of(reply.tokens), n_max=N_MAX, p_min=p_min or 0.0)
                    found = (reply.timings.draft_n, reply.timings.draft_n_accepted)
                    assert found == (known.drafted, known.accepted), (start, temperature)
                    assert known.drafted > 0
    return said


@pytest.mark.parametrize("kind", ["", "Q8_0"])
@pytest.mark.parametrize("p_min", [None, 0.6])
def test_a_converted_draft_drafts_by_its_law_and_changes_no_token(
    kind: str, p_min: float | None, made: dict[str, Made], real_home: Home, speed_build: Build, tmp_path: Path
) -> None:
    pair, law = ensure_pair(real_home, SMALL), kept_law(SMALL)
    plain = served(speed_build, pair.target, None, law, tmp_path)
    assert served(speed_build, pair.target, made[kind].product.path, law, tmp_path, p_min=p_min) == plain


def test_a_draft_of_the_lock_becomes_the_same_file(
    bench: Bench, made: dict[str, Made], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = Lock(home_at(tmp_path), tmp_path / "models.toml", monkeypatch)
    lock.write(LOCAL)
    for name, folder in zip(("draft", "target"), published(tmp_path), strict=True):
        lock.pin(name, file=str(folder))
    planned = plan(lock.home, Console(), Asked(draft="draft", target="target"))
    (product,) = planned.products
    job = bench.job(planned.draft.folder, planned.target.folder, product)
    convert(bench.home, replace(job, draft=planned.draft, target=planned.target), Console())
    assert product.path == lock.home.out / "drafts" / "tiny.gguf"
    assert product.path.read_bytes() == made[""].product.path.read_bytes()


def test_eight_bits_are_enough_for_the_law_to_hold_exactly() -> None:
    """Q8_0 keeps a value to half a 127th of the largest in its block, and the scale itself to 11 bits."""
    law = kept_law(SMALL)
    ordered, largest = np.sort(law.log_q, axis=1), float(np.abs(law.log_q).max())
    rounding = largest / 127 / 2 + largest * 2**-11
    assert 2 * rounding < (ordered[:, -1] - ordered[:, -2]).min()


def test_another_law_is_noticed(made: dict[str, Made], real_home: Home, speed_build: Build, tmp_path: Path) -> None:
    pair, law = ensure_pair(real_home, SMALL), kept_law(SMALL)
    other = replace(law, log_q=law.log_q[:, ::-1])
    with pytest.raises(AssertionError):
        served(speed_build, pair.target, made[""].product.path, other, tmp_path)


def test_code_of_the_repository_is_not_run(made: dict[str, Made]) -> None:
    folder = made[""].product.path.parent
    assert (folder / "tiny" / "configuration_tiny.py").is_file()
    assert not (folder / "ran").exists()


def test_quantising_says_which_rows_did_not_fit(made: dict[str, Made]) -> None:
    assert made[""].notes == made["Q8_0"].notes == ()
    fell = [note for note in made["Q4_K_M"].notes if "not Q4_K: their rows are no whole blocks of 256 values" in note]
    assert len(fell) == 1
    sizes = {kind: one.product.path.stat().st_size for kind, one in made.items()}
    assert sizes["Q4_K_M"] < sizes["Q8_0"] < sizes[""]


def test_a_vocabulary_of_real_byte_pairs_passes_the_converters_own_check(
    bench: Bench, speed_build: Build, tmp_path: Path
) -> None:
    """Drafts are published for targets with such a tokenizer; the converter knows it by what it makes of a text."""
    spec = PairSpec(name="BYTES", vocab=49_152, first=264, n_embd=64)
    target = write_weighted_target(tmp_path / "target", spec, real_tokenizer(bench.home))
    product = Product(path=tmp_path / "draft.gguf")
    (draft,) = bench.convert(write_draft(tmp_path / "draft", spec), target, product)
    assert draft.header.text("tokenizer.ggml.pre") == "smollm"
    script = write_converter(Git(path=bench.home.history), bench.tree, tmp_path / "source")
    programs.convert(bench.python, script, target, target, tmp_path / "target.gguf", home=tmp_path)
    law = kept_law(spec)
    plain = served(speed_build, tmp_path / "target.gguf", None, law, tmp_path)
    assert served(speed_build, tmp_path / "target.gguf", product.path, law, tmp_path) == plain


def real_tokenizer(home: Home) -> dict[str, object]:
    """The tokenizer of SmolLM2, out of its GGUF file."""
    header = read_header(ensure_model(home, "smollm2-135m-q4_1"))
    model = ModelHeader(shards=(header,))
    tokens, kinds, merges = (
        model.array(f"tokenizer.ggml.{name}") or () for name in ("tokens", "token_type", "merges")
    )
    control = [token for token, kind in enumerate(kinds) if kind == CONTROL]
    return byte_pair_tokenizer([str(text) for text in tokens], control, [str(pair) for pair in merges])


def test_the_real_converters_refusal_is_quoted_and_leaves_nothing(bench: Bench, tmp_path: Path) -> None:
    draft = write_draft(tmp_path / "tiny", SMALL, markov_head_type="gated")
    with pytest.raises(ConversionFailed, match="ValueError: unsupported markov_head_type 'gated'"):
        bench.convert(draft, write_target(tmp_path / "target", SMALL), Product(path=tmp_path / "out" / "a.gguf"))
    assert list((tmp_path / "out").iterdir()) == []


def test_what_is_not_the_promised_draft_gets_no_name(bench: Bench, tmp_path: Path) -> None:
    draft, target = write_draft(tmp_path / "tiny", SMALL), write_target(tmp_path / "target", SMALL)
    job = bench.job(draft, target, Product(path=tmp_path / "out" / "a.gguf"))
    with pytest.raises(ConversionFailed, match="block_size is 8, the checkpoint has 7"):
        convert(bench.home, replace(job, shape=replace(job.shape, block_size=7)), Console())
    assert list((tmp_path / "out").iterdir()) == []


def test_a_killed_conversion_leaves_no_draft_and_the_next_one_makes_it(bench: Bench, tmp_path: Path) -> None:
    draft, target = write_draft(tmp_path / "tiny", SMALL), write_target(tmp_path / "target", SMALL)
    out = tmp_path / "out" / "a.gguf"
    places = (bench.home.root, draft, target, out, bench.python)
    argv = (sys.executable, "-c", CONVERT, *map(str, places), bench.tree)
    with Running(argv, env=scrubbed_env(extra={"PYTHONPATH": str(CHECKOUT)}), log=tmp_path / "log") as child:
        until = time.monotonic() + 60
        while not list(out.parent.glob(".a.gguf.*.part")):
            assert child.exit_code() is None, child.log_tail()
            assert time.monotonic() < until
            time.sleep(0.01)
        os.kill(child.pid, signal.SIGKILL)
    assert not out.exists()
    bench.convert(draft, target, Product(path=out))
    assert [path.name for path in out.parent.iterdir()] == ["a.gguf"]
