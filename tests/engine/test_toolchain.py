"""The toolchain image in a real engine: found again, known by what is in it, and able to compile."""

import io
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ci.builds.box import Ended, Job
from ci.builds.engine import Engine
from ci.builds.target import Lane, find_lane
from ci.builds.toolchain.image import (
    LABEL,
    PROBE,
    ToolchainImage,
    ensure_toolchain,
    find_toolchain_image,
    image_tag,
)
from ci.console import Console
from ci.home import Home

SCRIPT = PROBE.read_text(encoding="utf-8")
NAME = f"speedfork-toolchain-test-{os.getpid()}"
KERNEL = """\
#include <cuda.h>
__global__ void twice(float * x) { x[threadIdx.x] *= 2; }
int main() { CUdevice device; twice<<<1, 32>>>(nullptr); return cuDeviceGet(&device, 0); }
"""
COMPILE = """\
nvcc -ccbin g++-10 -arch=sm_75 -cudart shared /src/x.cu -o /out/x -L/opt/cuda/lib64/stubs -lcuda
clang++-16 -x c++ -std=c++17 -o /out/y - <<<'#include <optional>
int main() { return std::optional<int>(0).value(); }'
/out/y
readelf -d /out/x | sed -n 's/.*NEEDED.*\\[\\(.*\\)\\]/needs \\1/p'
cuobjdump --list-elf /out/x | sed 's/.*\\(sm_[0-9]*\\).*/code \\1/'
cmake --version && ninja --version && ccache --version
touch /build/x /ccache/x
"""
STAND_IN = """\
FROM {base}
RUN real=/usr/local/cuda-13.5/targets/x86_64-linux && mkdir -p $real/lib /usr/local/cuda-13.5/bin \
 && cp /opt/cuda/bin/nvcc /opt/cuda/bin/nvcc.profile /usr/local/cuda-13.5/bin \
 && cp /opt/cuda/lib/libcudart.so.13 $real/lib && ln -s targets/x86_64-linux/lib /usr/local/cuda-13.5/lib64 \
 && ln -s /usr/local/cuda-13.5 /etc/alternatives/cuda && ln -s /etc/alternatives/cuda /usr/local/cuda
"""


def tar(files: Mapping[str, str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text.encode()), 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


class Workshop:
    """Makes images for one test module and takes them away again."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        self.tags: list[str] = []

    def image(self, dockerfile: str, tag: str = "") -> str:
        tag = tag or f"{NAME}:{len(self.tags)}"
        context = self.folder / "context.tar"
        context.write_bytes(tar({"Dockerfile": dockerfile}))
        self.tags.append(tag)
        return self.engine.build(context, tag=tag, labels={}, network=False, on_line=lambda _: None).id

    def run(self, image: str, script: str, *args: str, user: str = "1000:1000", source: str = "") -> Ended:
        argv = ("bash", "-euc", script, "bash", *args)
        with self.engine.container(Job(image=image, argv=argv, owner=NAME, env={}, user=user, volumes={})) as box:
            box.put(tar({"x.cu": source}), "/src")
            box.start()
            return box.follow(lambda _: None, deadline_s=200)

    def digest(self, image: str, script: str = SCRIPT) -> str:
        ended = self.run(image, script, user="0:0")
        assert ended.code == 0, ended.lines
        return next(line for line in ended.lines if line.startswith("digest "))


@pytest.fixture(scope="module")
def workshop(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    made = Workshop(engine, tmp_path_factory.mktemp("contexts"))
    yield made
    for tag in reversed(made.tags):
        if engine.image(tag):
            engine.remove_image(tag)


@pytest.fixture(scope="module")
def stand_in(workshop: Workshop, toolchain: ToolchainImage) -> str:
    """A small image laid out like NVIDIA's own: /usr/local/cuda is a link to a link."""
    return workshop.image(STAND_IN.format(base=toolchain.id))


@pytest.fixture(scope="module")
def image_lane() -> Lane:
    """A lane of its own that takes CUDA from an image."""
    return replace(find_lane("cu12"), name=NAME)


def test_the_second_answer_needs_no_build_and_no_download(
    engine: Engine, toolchain: ToolchainImage, tmp_path: Path
) -> None:
    lane = find_lane("cu13")
    home = Home(root=tmp_path / "home", checkout=tmp_path)
    before = {image.id for image in engine.images(LABEL)}
    assert ensure_toolchain(engine, lane, home, Console()) == toolchain == find_toolchain_image(engine, lane)
    assert {image.id for image in engine.images(LABEL)} == before
    assert not home.root.exists()


def test_it_compiles_for_a_card_and_links_without_a_driver(workshop: Workshop, toolchain: ToolchainImage) -> None:
    ended = workshop.run(toolchain.id, COMPILE, source=KERNEL)
    assert ended.code == 0, ended.lines
    assert {"needs libcudart.so.13", "needs libcuda.so.1", "code sm_75"} <= set(ended.lines)
    assert {"compute_75", "compute_120"} < set(toolchain.nvcc_archs)


def test_an_ordinary_user_cannot_change_sources_or_tools(workshop: Workshop, toolchain: ToolchainImage) -> None:
    ended = workshop.run(
        toolchain.id, 'for place; do ! touch "$place/x" 2>/dev/null; done', "/src", "/opt/cuda", "/opt/bin"
    )
    assert ended.code == 0, ended.lines


def test_the_terms_of_what_may_ship_are_there(workshop: Workshop, toolchain: ToolchainImage) -> None:
    terms = "/opt/cuda/licenses/nvidia-cublas/License.txt /opt/cuda/licenses/nvidia-cuda-runtime/License.txt"
    ended = workshop.run(toolchain.id, f"grep -l NVIDIA {terms}")
    assert ended.lines == tuple(terms.split())


def test_the_digest_is_over_contents_and_not_over_dates(workshop: Workshop, toolchain: ToolchainImage) -> None:
    dates = "RUN touch /usr/bin/ld /opt/bin/ninja /opt/cuda/include/cuda.h && mkdir -p /usr/lib/__pycache__"
    cache = "RUN echo x >/usr/lib/__pycache__/x.pyc && echo log >/var/log/x"
    image = workshop.image(f"FROM {toolchain.id}\n{dates}\n{cache}\n")
    assert workshop.digest(image) == f"digest {toolchain.digest}"


@pytest.mark.parametrize(
    "change",
    ["echo >>/opt/cuda/bin/nvcc.profile", "chmod 700 /opt/bin/ninja", "ln -sf gold /usr/bin/x86_64-linux-gnu-ld"],
)
def test_any_change_of_contents_modes_or_links_shows(
    workshop: Workshop, toolchain: ToolchainImage, change: str
) -> None:
    """Reads only the folders that change: the whole image takes long."""
    folders = re.compile(r"find /bin .* /opt(?= )")
    assert folders.search(SCRIPT)
    script = folders.sub("find /usr/bin /opt/bin /opt/cuda/bin/nvcc.profile", SCRIPT)
    image = workshop.image(f"FROM {toolchain.id}\nRUN {change}\n")
    assert workshop.digest(image, script) != workshop.digest(toolchain.id, script)


def test_cuda_can_come_from_an_image_and_a_foreign_one_is_not_trusted(
    workshop: Workshop, engine: Engine, toolchain: ToolchainImage, image_lane: Lane, stand_in: str, real_home: Home
) -> None:
    foreign = workshop.image(f"FROM {toolchain.id}\n", image_tag(image_lane.name))
    assert find_toolchain_image(engine, image_lane) is None
    made = ensure_toolchain(engine, image_lane, real_home, Console(), base=toolchain.base, image=stand_in)
    assert (made.cuda_from, made.lane) == (stand_in, image_lane.name)
    assert made.id != foreign
    assert "nvcc release 13.5" in made.identity
    assert ensure_toolchain(engine, image_lane, real_home, Console()) == made
    look = "readlink /opt/cuda/lib /opt/cuda/lib64; ls /opt/cuda/lib64/libcudart.so.13 /opt/cuda/lib/stubs/libcuda.so"
    ended = workshop.run(made.id, look)
    assert ended.code == 0
    assert ended.lines[:2] == ("lib64", "targets/x86_64-linux/lib")
