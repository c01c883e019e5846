from pathlib import Path

import pytest

from ci.errors import ConfigProblem, UsageProblem
from ci.models.exact_pair import PAIRS
from ci.models.lock import load_models, model_named

GENERATED = f'[model.generated]\npair = "SMALL"\nsha256 = {{ "target.gguf" = "{"0" * 64}" }}\n'
ENTRY = '[[model]]\nid = "{id}"\nabout = "a"\nrole = "r"\nlicence = "MIT"\n'


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "models.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_real_lock_names_the_model_of_the_suites() -> None:
    entry = model_named(load_models(), "smollm2-135m-q4_1")
    assert entry.index is not None
    assert entry.index.name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert entry.licence == "Apache-2.0"


def test_every_named_pair_is_pinned() -> None:
    pinned = {entry.generated.pair for entry in load_models().values() if entry.generated}
    assert pinned == set(PAIRS)


def test_an_unknown_id_suggests_the_closest() -> None:
    with pytest.raises(
        UsageProblem, match=r"'smollm2-135m-q4-1' is not in models.toml, did you mean 'smollm2-135m-q4_1'"
    ):
        model_named(load_models(), "smollm2-135m-q4-1")


def test_an_id_twice_and_an_entry_without_a_source_are_reported_together(tmp_path: Path) -> None:
    text = 2 * (ENTRY.format(id="a") + GENERATED) + ENTRY.format(id="b")
    with pytest.raises(ConfigProblem) as caught:
        load_models(written(tmp_path, text))
    assert "id 'a' stands 2 times" in caught.value.message
    assert "b: give exactly one of index and generated" in caught.value.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ENTRY.format(id="Bad Id") + GENERATED, "model.0.id"),
        (ENTRY.format(id="a") + GENERATED.replace("0" * 64, "0" * 63), "model.0.generated.sha256"),
        (ENTRY.format(id="a") + GENERATED + 'lisence = "MIT"\n', "lisence"),
        ("", "model"),
    ],
)
def test_a_malformed_lock_is_refused_with_its_key_path(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigProblem, match=words):
        load_models(written(tmp_path, text))
