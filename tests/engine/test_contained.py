"""Builds in real containers: the same bytes, nothing compiled twice or for another card, clear ends."""

import dataclasses
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ci.builds import contained
from ci.builds.box import OWNER_LABEL
from ci.builds.contained import CACHE_LABEL, Maker, build_contained, owner_of
from ci.builds.elf import read_elf
from ci.builds.engine import Engine
from ci.builds.package import pack_build
from ci.builds.recipe import recipe_for
from ci.builds.store import Build
from ci.builds.toolchain.image import ToolchainImage
from ci.console import Console
from ci.errors import BuildFailed, BuildLate, CompilerKilled, DiskFull, UsageProblem
from ci.files import sha256_file
from ci.home import Home
from ci.process import Running
from tests.conftest import CHECKOUT, REAL_ENVIRON
from tests.helpers.cuda_project import FILES, KERNELS, SmallProject, request, small_target

ALL_KERNELS = len(KERNELS)


@pytest.fixture(scope="module")
def own_toolchain(engine: Engine, toolchain: ToolchainImage) -> Iterator[ToolchainImage]:
    """The toolchain under a digest of its own, so that its compiler cache is empty and these tests' alone."""
    own = replace(toolchain, digest=f"{os.getpid():016x}" + toolchain.digest[16:])
    yield own
    for name in engine.volumes(f"{CACHE_LABEL}={own.digest}"):
        engine.remove_volume(name)


class Builder:
    """Builds trees of the small project in a home."""

    def __init__(self, project: SmallProject, engine: Engine, toolchain: ToolchainImage, root: Path) -> None:
        self.project, self.engine, self.toolchain = project, engine, toolchain
        self.home = Home(root=root, checkout=root)
        self.words = ""

    def __call__(
        self,
        changes: Mapping[str, str] | None = None,
        *,
        target: str = "sm75",
        label: str = "b7",
        environ: Mapping[str, str] | None = None,
    ) -> Build:
        asked = request(self.project.tree(changes), target=target, label=label)
        made = build_contained(
            self.project.git, asked, self.home, Console(), self.engine, self.toolchain, environ=environ or {}
        )
        self.words = made.counts.words if made.counts else "from the store"
        return made.build

    def left_over(self) -> int:
        """Containers of this home's builds that are still there."""
        owner = owner_of(self.home, small_target())
        return len(self.engine.client.containers.list(all=True, filters={"label": f"{OWNER_LABEL}={owner}"}))

    def in_store(self) -> int:
        """Builds in the store."""
        return len(list(self.home.store.iterdir())) if self.home.store.is_dir() else 0


@pytest.fixture
def build(project: SmallProject, engine: Engine, own_toolchain: ToolchainImage, tmp_path: Path) -> Builder:
    return Builder(project, engine, own_toolchain, tmp_path / "home")


def test_bytes_do_not_depend_on_place_or_cache_and_nothing_is_compiled_twice(build: Builder, tmp_path: Path) -> None:
    cold = build()
    assert f"{ALL_KERNELS} of {ALL_KERNELS} CUDA" in build.words
    assert build().path == cold.path
    assert build.words == "from the store"

    elsewhere = Builder(build.project, build.engine, build.toolchain, tmp_path / "another place")
    warm = elsewhere()
    assert f"compiled 0 of 1 host and 0 of {ALL_KERNELS} CUDA" in elsewhere.words
    packed = [pack_build(made, tmp_path / name) for made, name in ((cold, "one"), (warm, "two"))]
    assert sha256_file(packed[0]) == sha256_file(packed[1])

    asked = request(build.project.tree())
    recipe = recipe_for(asked.target, label=asked.label, number=asked.number)
    maker = Maker.of(build.home, Console(), build.engine, build.toolchain, {})
    with maker.place(asked.target) as scratch:
        fresh, _ = maker.compile(build.project.git, asked, recipe, scratch, fresh=True)
        assert {name: sha256_file(path) for name, path in fresh.items()} == dict(cold.files)
    assert build.left_over() == 0


def test_only_what_a_change_touches_is_compiled(build: Builder) -> None:
    build()
    main = '#include <cstdio>\nint main() { std::puts("version: 0.2 (build 7, commit b7)"); }\n'
    build({"main.cpp": main})
    assert f"compiled 1 of 1 host and 0 of {ALL_KERNELS} CUDA" in build.words
    build({"ggml/src/ggml-cuda/scale.cu": build.project.kernel("scale") + "\nint touched_scale() { return 1; }\n"})
    assert f"compiled 0 of 1 host and 1 of {ALL_KERNELS} CUDA" in build.words


def test_another_card_gets_code_of_its_own_whatever_the_cache_holds(build: Builder) -> None:
    turing, blackwell = build(), build(target="sm120")
    assert f"{ALL_KERNELS} of {ALL_KERNELS} CUDA" in build.words
    for made, arch in ((turing, "sm_75"), (blackwell, "sm_120a")):
        device = read_elf(made.path / "libggml-cuda.so").device
        assert device is not None
        assert (device.sass, device.ptx) == (((arch, ALL_KERNELS),), ())
    assert turing.files["libggml-cuda.so"] != blackwell.files["libggml-cuda.so"]


def test_no_build_path_and_no_driver_reach_the_result(build: Builder) -> None:
    made = build()
    facts = read_elf(made.path / "libggml-cuda.so", places=(str(build.home.root),))
    assert (facts.runpath, facts.relro, facts.paths) == ("$ORIGIN", "full", ())
    assert sorted(made.files) == ["LICENSE", "libggml-cuda.so", "llama-server"]


def test_an_error_in_device_code_is_quoted_and_nothing_is_stored(build: Builder) -> None:
    broken = build.project.kernel("scale").replace("scale_f32", "scale_f32_undefined(; ", 1)
    with pytest.raises(BuildFailed, match=r"scale\.cu.*error") as caught:
        build({"ggml/src/ggml-cuda/scale.cu": broken})
    assert "scale.cu" in caught.value.message
    assert build.in_store() == build.left_over() == 0


def test_cmakes_refusal_is_quoted(build: Builder) -> None:
    with pytest.raises(BuildFailed, match="no such thing"):
        build({"CMakeLists.txt": 'message(FATAL_ERROR "no such thing")\n'})


def test_a_folder_where_programs_are_to_be_is_refused(build: Builder) -> None:
    cmake = FILES["CMakeLists.txt"] + "file(MAKE_DIRECTORY /out/extra)\n"
    with pytest.raises(BuildFailed, match="left a folder 'extra'"):
        build({"CMakeLists.txt": cmake})
    assert build.in_store() == build.left_over() == 0


def test_a_compiler_killed_for_memory_is_no_error_of_the_sources(build: Builder) -> None:
    asked = request(build.project.tree({"main.cpp": "int hungry() { return 1; }\n"}))
    maker = replace(Maker.of(build.home, Console(), build.engine, build.toolchain, {}), memory=60_000_000)
    recipe = recipe_for(asked.target, label="b7", number=7)
    with maker.place(asked.target) as scratch, pytest.raises(CompilerKilled, match=rf"with {maker.jobs} job\(s\)"):
        maker.compile(build.project.git, asked, recipe, scratch, fresh=True)
    assert build.left_over() == 0


def test_an_engine_without_room_is_told_of_before_anything_is_compiled(
    build: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contained, "NEEDED_THERE", 1 << 60)
    with pytest.raises(DiskFull, match=rf"needs {1 << 50} KiB, the engine has [0-9]+ KiB left"):
        build()
    assert (build.in_store(), build.left_over()) == (0, 0)


def test_a_build_that_is_late_is_stopped_and_leaves_nothing(build: Builder) -> None:
    with pytest.raises(BuildLate, match="not over after 1 s"):
        build({"main.cpp": "int late() { return 1; }\n"}, environ={"SPEEDFORK_DEADLINE_S": "1"})
    assert build.in_store() == build.left_over() == 0


@pytest.mark.parametrize("words", ["0", "-1", "soon", "1.5", "999999999"])
def test_a_deadline_that_is_none_is_refused_before_a_container_starts(build: Builder, words: str) -> None:
    with pytest.raises(UsageProblem, match="SPEEDFORK_DEADLINE_S"):
        build(environ={"SPEEDFORK_DEADLINE_S": words})


def test_a_container_stays_when_asked_for(build: Builder, capfd: pytest.CaptureFixture[str]) -> None:
    build(environ={"KEEP_CONTAINER": "1"})
    assert build.left_over() == 1
    assert "docker rm" in capfd.readouterr().err
    assert build.engine.remove_orphans(owner_of(build.home, small_target())) == 1


def compiling(build: Builder) -> bool:
    """Whether a container of this home's builds is in the middle of its work."""
    owner = owner_of(build.home, small_target())
    found = build.engine.client.containers.list(filters={"label": f"{OWNER_LABEL}={owner}", "status": "running"})
    return any(b"::step compile" in container.logs() for container in found)


def wait_until(build: Builder, wanted: bool) -> None:
    """Until a container compiles, or none does; the test's own time limit bounds it."""
    while compiling(build) is not wanted:
        time.sleep(0.2)


def test_a_build_ends_with_whoever_started_it(build: Builder, tmp_path: Path) -> None:
    """After SIGKILL nobody cleans up: the container must notice by itself. The next run then gets the result."""
    orphan = {"main.cpp": "int orphan() { return 0; }\nint main() { return orphan(); }\n"}
    kernel = build.project.kernel("clamp") + "\nint orphan_clamp() { return 1; }\n"
    changes = {**orphan, "ggml/src/ggml-cuda/clamp.cu": kernel}
    described = json.dumps(dataclasses.asdict(build.toolchain))
    words = (str(build.project.git.path), build.project.tree(changes), str(build.home.root), described)
    argv = (sys.executable, "-m", "tests.helpers.contained_build", *words)
    with Running(argv, env=REAL_ENVIRON, log=tmp_path / "log", cwd=CHECKOUT) as program:
        wait_until(build, True)
        os.kill(program.pid, signal.SIGKILL)
    wait_until(build, False)
    assert build.in_store() == 0
    assert build(changes).path.is_dir()
    assert build.left_over() == 0
