from pathlib import Path

import pytest

from ci.config import Field, Model, load_toml, parse
from ci.errors import ConfigProblem


class Inner(Model):
    size: int = Field(gt=0)


class Outer(Model):
    name: str
    inner: tuple[Inner, ...] = ()


def test_all_faults_are_reported_together_with_key_path_and_suggestion() -> None:
    with pytest.raises(ConfigProblem) as caught:
        parse(Outer, {"nmae": "x", "inner": [{"size": 1}, {"size": 0}]}, source="f.toml")
    text = str(caught.value)
    assert "f.toml: 3 fault(s)" in text
    assert "nmae: unknown key, did you mean 'name'?" in text
    assert "inner.1.size: Input should be greater than 0 (found 0)" in text
    assert "name: Field required" in text
    assert "next: edit f.toml" in text


@pytest.mark.parametrize(
    ("text", "words"), [(None, "no such file"), ("a =", "not valid TOML"), ("a = 1", "a: unknown")]
)
def test_bad_files_are_named(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "f.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigProblem, match=words):
        load_toml(Inner, path)


def test_a_good_file_is_typed_and_immutable(tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    path.write_text('name = "n"\n[[inner]]\nsize = 2\n')
    value = load_toml(Outer, path)
    assert value == Outer(name="n", inner=(Inner(size=2),))
    with pytest.raises(ValueError, match="frozen"):
        setattr(value, "name", "other")  # noqa: B010 - the assignment is the point
