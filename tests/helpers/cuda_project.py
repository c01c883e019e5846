"""A handful of upstream's real CUDA files in a small CMake project: everything of a container build, in a minute."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ci.builds.request import BuildRequest
from ci.builds.store import Variant
from ci.builds.target import Target, find_target
from ci.builds.tree import list_tree
from ci.git import Git

UPSTREAM = "refs/tags/b11434"
KERNELS = ("arange", "clamp", "scale", "softcap")
"""Files of upstream's `ggml/src/ggml-cuda`, small ones."""
PARTS = ("ggml/include/", "ggml/src/ggml-cuda/vendors/")
HEADERS = tuple(
    f"ggml/src/{name}" for name in ("ggml-cuda/common.cuh", "ggml-cuda/convert.cuh", "ggml-impl.h", "ggml-common.h")
)

FILES: Mapping[str, str] = {
    "LICENSE": "MIT, small\n",
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.18)
project(small C CXX CUDA)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
configure_file(version.h.in ${CMAKE_CURRENT_BINARY_DIR}/version.h @ONLY)
file(GLOB kernels ggml/src/ggml-cuda/*.cu)
add_library(ggml-cuda MODULE ${kernels})
target_include_directories(ggml-cuda PRIVATE ggml/include ggml/src)
add_executable(llama-server main.cpp)
target_include_directories(llama-server PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
add_dependencies(llama-server ggml-cuda)
""",
    "version.h.in": '#define LABEL "@LLAMA_BUILD_COMMIT@"\n#define NUMBER @LLAMA_BUILD_NUMBER@\n',
    "main.cpp": """\
#include <cstdio>
#include "version.h"
int main() { std::printf("version: 0.1 (build %d, commit %s)\\n", NUMBER, LABEL); }
""",
}


def wanted(name: str) -> bool:
    """Whether a file of upstream's belongs to the small project."""
    kernel = any(name == f"ggml/src/ggml-cuda/{kernel}.{end}" for kernel in KERNELS for end in ("cu", "cuh"))
    return kernel or name in HEADERS or name.startswith(PARTS)


class SmallProject:
    """A repository with the project; its trees share upstream's objects with the history.

    Args:
        folder: an empty folder for the repository.
        history: the repository with upstream's builds; it is only read.
    """

    def __init__(self, folder: Path, history: Path) -> None:
        folder.mkdir(parents=True)
        self.git = Git(path=folder)
        self.git("init", "--quiet", "--initial-branch=main")
        self._files = folder
        upstream = Git(path=history)
        parts = [file for file in list_tree(upstream, UPSTREAM) if wanted(file.name)]
        for file, content in upstream.blobs_of(parts):
            self._write(file.name, content)
        for name, text in FILES.items():
            self._write(name, text.encode())

    def _write(self, name: str, content: bytes) -> None:
        path = self._files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def kernel(self, name: str) -> str:
        """The text of a CUDA file."""
        return (self._files / f"ggml/src/ggml-cuda/{name}.cu").read_text()

    def tree(self, changes: Mapping[str, str] | None = None) -> str:
        """The tree id of the project with some files changed or added."""
        changed = {
            name: (self._files / name).read_bytes() for name in changes or {} if (self._files / name).is_file()
        }
        for name, text in (changes or {}).items():
            self._write(name, text.encode())
        self.git("add", "--all")
        tree = self.git("write-tree").text
        for name in changes or {}:
            if name in changed:
                self._write(name, changed[name])
            else:
                (self._files / name).unlink()
        return tree


def small_target(name: str = "sm75") -> Target:
    """A shipped target, with only what the project builds."""
    return replace(find_target(name), programs=("llama-server",))


def request(tree: str, *, variant: Variant = "stock", label: str = "b7", target: str = "sm75") -> BuildRequest:
    """Ask for the project as build 7."""
    return BuildRequest(variant=variant, label=label, number=7, tree=tree, target=small_target(target))
