"""Real CUDA files compiled twice in real containers: the same objects, and a changed one is named by its section."""

from pathlib import Path

import pytest

from ci.builds.elf import sections
from ci.builds.target import find_lane
from ci.builds.toolchain.image import ToolchainImage
from ci.console import Console
from ci.errors import EXIT_FAIL, EXIT_OK
from ci.home import Home
from ci.stage import Context, Options
from ci.verbs.rebuild_files import Objects, checked_objects, compiled_twice, report
from tests.conftest import REAL_ENVIRON
from tests.helpers.cuda_project import SmallProject, request

OBJECTS = Objects(
    folder="CMakeFiles/ggml-cuda.dir/ggml/src/ggml-cuda",
    sources="ggml/src/ggml-cuda",
    files=("arange.cu", "clamp.cu"),
)


def test_two_compilations_give_the_same_objects(
    toolchain: ToolchainImage,
    real_home: Home,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if "DOCKER_HOST" in REAL_ENVIRON:
        monkeypatch.setenv("DOCKER_HOST", REAL_ENVIRON["DOCKER_HOST"])
    home = Home(root=tmp_path, checkout=tmp_path)
    project = SmallProject(home.history, real_home.history)
    wanted = request(project.tree())
    context = Context(home=home, console=Console(), options=Options(target="sm75", lane="cu13", jobs="2"))
    checked_objects(project.git, wanted.tree, OBJECTS)

    with compiled_twice(context, wanted, find_lane("cu13"), OBJECTS) as (first, second):
        assert sorted(first) == sorted(second) == ["arange.cu.o", "clamp.cu.o"]
        assert report(Console(), wanted, first, second) == EXIT_OK
        assert capsys.readouterr().out.splitlines()[-1] == "identical=yes"

        code = sections(second["clamp.cu.o"])[".nv_fatbin"]
        content = bytearray(second["clamp.cu.o"].read_bytes())
        content[code.offset + code.size // 2] ^= 1
        second["clamp.cu.o"].write_bytes(content)
        assert report(Console(), wanted, first, second) == EXIT_FAIL
        said = capsys.readouterr().out.splitlines()
        assert said[-1] == "identical=no"
        assert any("clamp.cu.o" in line and ".nv_fatbin" in line for line in said)
