import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest

from ci.files import sha256_file
from ci.home import Home
from ci.models import exact_pair
from ci.models.exact_pair import (
    HYBRID,
    MODEL_FILES,
    SECOND_ORDER,
    SMALL,
    PairSpec,
    ensure_pair,
    write_pair,
)
from ci.models.lock import load_models
from ci.models.pair_spec import make_law
from ci.process import run, scrubbed_env

ROOT = Path(__file__).parents[3]
TINY = PairSpec(name="TINY", vocab=40, n_state=4, n_embd=32)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", checkout=tmp_path)


def digests(folder: Path) -> dict[str, str]:
    return {path.name: sha256_file(path) for path in folder.iterdir()}


def test_the_same_specification_gives_the_same_bytes(tmp_path: Path) -> None:
    folders = (tmp_path / "a", tmp_path / "b")
    for folder in folders:
        folder.mkdir()
        write_pair(folder, TINY)
    assert digests(folders[0]) == digests(folders[1])


WRITE_ALL = """
import dataclasses, sys
from pathlib import Path
from ci.files import sha256_file
from ci.models.exact_pair import HYBRID, MOE, SECOND_ORDER, SMALL, write_pair
noisy = dataclasses.replace(SMALL, confidence_noise=1.0, bonus_anchor=True, shared_head=True)
for index, spec in enumerate((SMALL, HYBRID, SECOND_ORDER, MOE, noisy)):
    folder = Path(sys.argv[1]) / str(index)
    folder.mkdir()
    write_pair(folder, spec)
    print(spec.name, *(sha256_file(path) for path in sorted(folder.iterdir())))
"""


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    said = []
    for hash_seed in ("1", "2"):
        folder = tmp_path / hash_seed
        folder.mkdir()
        env = scrubbed_env(extra={"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": hash_seed})
        said.append(run((sys.executable, "-c", WRITE_ALL, str(folder)), env=env).stdout)
    assert len(said[0].splitlines()) == 5
    assert said[0] == said[1]


def test_another_seed_gives_other_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        (tmp_path / name).mkdir()
        write_pair(tmp_path / name, dataclasses.replace(TINY, seed=seed))
    assert not set(digests(tmp_path / "a").values()) & set(digests(tmp_path / "b").values())


@pytest.mark.parametrize("spec", [SMALL, HYBRID], ids=lambda spec: spec.name)
def test_named_pairs_have_their_pinned_bytes(home: Home, spec: PairSpec) -> None:
    pins = {entry.generated.pair: entry.generated.sha256 for entry in load_models().values() if entry.generated}
    pair = ensure_pair(home, spec)
    assert {name: pair.digests[name] for name in MODEL_FILES} == pins[spec.name]


def test_a_pair_is_written_once(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ensure_pair(home, TINY)
    monkeypatch.setattr(exact_pair, "write_pair", lambda *_: pytest.fail("written again"))
    assert ensure_pair(home, TINY).digests == first.digests


@pytest.mark.parametrize("spec", [HYBRID, SECOND_ORDER], ids=lambda spec: spec.name)
def test_the_law_survives_the_disk(home: Home, spec: PairSpec) -> None:
    ensure_pair(home, spec)
    law, drawn = ensure_pair(home, spec).law, make_law(spec)
    for name in ("first", "decay", "amplitude", "recalls_itself"):
        assert getattr(law, name) == getattr(drawn, name)
    for name in ("log_p", "log_q", "confidence", "history"):
        assert np.array_equal(getattr(law, name), getattr(drawn, name))


@pytest.mark.parametrize("name", [*MODEL_FILES, "truth.npz"])
def test_a_damaged_or_missing_file_is_generated_again(home: Home, name: str) -> None:
    pair = ensure_pair(home, TINY)
    before = (pair.dir / name).read_bytes()
    (pair.dir / name).write_bytes(before[:-1])
    assert (ensure_pair(home, TINY).dir / name).read_bytes() == before
    (pair.dir / name).unlink()
    assert (ensure_pair(home, TINY).dir / name).read_bytes() == before


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"files": []}', '{"files": {"target.gguf": 1}}', "\x00"])
def test_a_damaged_description_has_the_pair_generated_again(home: Home, text: str) -> None:
    pair = ensure_pair(home, TINY)
    before = (pair.dir / "pair.json").read_bytes()
    (pair.dir / "pair.json").write_text(text)
    assert ensure_pair(home, TINY).digests == pair.digests
    assert (pair.dir / "pair.json").read_bytes() == before


def test_an_interrupted_generation_leaves_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(folder: Path, spec: PairSpec) -> None:
        (folder / "target.gguf").write_bytes(b"GGUF")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(exact_pair, "write_pair", half)
        with pytest.raises(KeyboardInterrupt):
            ensure_pair(home, TINY)
    assert list((home.models / "pairs").iterdir()) == []
    assert ensure_pair(home, TINY).target.is_file()
