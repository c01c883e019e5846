from pathlib import Path

import pytest

from ci.builds.alike import differences
from ci.builds.store import BUILD_JSON, load_build
from ci.files import read_json, write_json
from ci.outcome import JsonMap
from tests.helpers.made_build import made_build, made_key


def test_stock_and_speed_by_one_recipe_are_made_alike(tmp_path: Path) -> None:
    stock = made_build(tmp_path / "stock", made_key(variant="stock", label="b7", tree="cd" * 20))
    speed = made_build(tmp_path / "speed")
    assert stock.recipe != speed.recipe
    assert differences(stock.making, speed.making) == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"target": "cuda"}, "target is 'cpu' and 'cuda'"),
        ({"platform": "arm64"}, "platform is 'x64' and 'arm64'"),
        ({"compiler": "clang 19"}, "compiler is 'c++ 12.2; ld 2.40' and 'clang 19'"),
        ({"tag": "b8"}, "tag is 'b7' and 'b8'"),
        (
            {"flags": ["-Ofast"]},
            "flags is '-ffile-prefix-map={source}=. -ffile-prefix-map={build}=./build' and '-Ofast'",
        ),
        ({"options": {"GGML_LTO": "ON"}}, "option GGML_LTO is 'not there' and 'ON'"),
    ],
)
def test_every_other_difference_is_named(tmp_path: Path, changes: JsonMap, words: str) -> None:
    stock, path = made_build(tmp_path / "stock"), made_build(tmp_path / "speed").path
    whole = read_json(path / BUILD_JSON)
    options = {**whole["options"], **changes.get("options", {})}
    write_json(path / BUILD_JSON, {**whole, **changes, "options": options})
    assert differences(stock.making, load_build(path).making) == (words,)
