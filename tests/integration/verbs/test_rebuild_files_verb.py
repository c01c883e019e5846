"""The list of CUDA files that stand for all: they are in the sources, and a list that is stale is named."""

from pathlib import Path

import pytest

from ci.builds.target import find_target
from ci.console import Console
from ci.errors import ConfigProblem, UsageProblem
from ci.git import Git
from ci.home import Home
from ci.verbs.rebuild import Request
from ci.verbs.rebuild_files import checked_objects, load_objects, rebuild_files
from tests.helpers.tiny_project import commit_tree

KINDS = ("fattn-mma", "fattn-tile", "fattn-vec", "mmq-instance-q4", "fp4", "mmvq", "norm", "rope")


@pytest.mark.native
def test_every_file_of_the_list_is_in_the_sources(real_home: Home) -> None:
    objects = load_objects()
    assert checked_objects(Git(path=real_home.history), "refs/tags/b11434", objects) == objects
    assert len(set(objects.files)) == 15
    assert [kind for kind in KINDS if not any(kind in file for file in objects.files)] == []
    names = {path.rpartition("/")[2] for path in objects.paths}
    assert len(names) == 15  # objects are compared by name alone


def test_a_file_that_the_sources_do_not_have_is_named(tmp_path: Path) -> None:
    git, tree = commit_tree(tmp_path)
    with pytest.raises(ConfigProblem, match=r"rebuild\.toml: the sources have no ggml/src/ggml-cuda/fattn\.cu"):
        checked_objects(git, tree, load_objects())


def test_a_target_without_device_code_is_refused(tmp_path: Path) -> None:
    assert find_target("cpu").lane is None
    with pytest.raises(UsageProblem, match="target cpu has no CUDA files"):
        rebuild_files(Home(root=tmp_path, checkout=tmp_path), Console(), Request(target="cpu"))
