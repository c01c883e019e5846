"""Names that can be pinned, told before anything is read; and the commands that lead to one."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import UsageProblem
from ci.models.plain_names import plain_name, require_plain_files, require_plain_paths
from ci.models.shard_names import is_impossible, shards_fault, split_names

STRANGE = ["my model.gguf", "mod\u00e8le.gguf", "..", "a%20b.gguf", ".hidden.gguf", "m-00001-of-00000.gguf"]


@pytest.mark.parametrize("name", STRANGE)
def test_a_local_file_of_another_name_comes_with_the_command_that_links_it(name: str) -> None:
    with pytest.raises(UsageProblem, match="cannot be pinned") as caught:
        require_plain_files([Path("/a b") / name], "tiny")
    link, pin = caught.value.hint.split(" && ")
    *_, source, target = shlex.split(link)
    assert (Path(source), Path(target).parent) == (Path("/a b") / name, Path("/a b"))
    assert shlex.split(pin) == ["invoke", "pin-model", "--model", "tiny", "--file", target]
    require_plain_files([Path(target)], "tiny")


@pytest.mark.parametrize("name", [*STRANGE, "a/../b.gguf", "a//b.gguf"])
def test_a_file_elsewhere_of_another_name_can_be_brought(name: str) -> None:
    with pytest.raises(UsageProblem, match="cannot be pinned") as caught:
        require_plain_paths([name], "owner/model", "tiny")
    assert "invoke pin-model --model tiny --file " in caught.value.hint


def test_plain_names_are_left_alone() -> None:
    require_plain_files([Path("/a b/m-00001-of-00002.gguf"), Path("/a b/m-00002-of-00002.gguf")], "tiny")
    require_plain_paths(["q4/m.gguf"], "owner/model", "tiny")


@given(st.text())
def test_every_name_has_a_plain_one(name: str) -> None:
    require_plain_files([Path("/a") / plain_name(name)], "tiny")


@given(st.integers(0, 99_999), st.integers(0, 300))
def test_every_model_has_files_and_no_file_is_beyond_them(number: int, count: int) -> None:
    name = f"m-{number:05}-of-{count:05}.gguf"
    names = split_names(name)
    assert name in names
    assert is_impossible(name) == (len(names) != count or not 1 <= number <= count)
    assert (shards_fault(list(names)) is None) == (not is_impossible(name))
