"""A CMake project shaped like llama.cpp (programs in bin/, versioned library, licences) that builds in seconds."""

import sys
from collections.abc import Mapping
from pathlib import Path

from ci.builds.request import BuildRequest
from ci.builds.store import Variant
from ci.builds.target import Target
from ci.git import Git

FILES: Mapping[str, str] = {
    "LICENSE": "MIT, tiny\n",
    "licenses/LICENSE-words": "MIT, words\n",
    "vendor/kit/sub/LICENSE.md": "BSD, kit\n",
    "vendor/kit/sub/code.h": "#pragma once\n",
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.14...3.28)
project(tiny C CXX)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
execute_process(COMMAND git rev-parse HEAD WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE SEEN_COMMIT
                ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
configure_file(version.h.in ${CMAKE_CURRENT_BINARY_DIR}/version.h @ONLY)
add_library(tiny first.cpp second.cpp)
set_target_properties(tiny PROPERTIES VERSION 1.2.3 SOVERSION 1)
add_library(plugin MODULE plugin.c)
add_executable(llama-server main.cpp)
target_include_directories(llama-server PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
target_link_libraries(llama-server PRIVATE tiny)
add_dependencies(llama-server plugin)
""",
    "version.h.in": """\
#define LABEL "@LLAMA_BUILD_COMMIT@"
#define NUMBER @LLAMA_BUILD_NUMBER@
#define SEEN "@SEEN_COMMIT@"
""",
    "first.cpp": "const char * first() { return __FILE__; }\n",
    "second.cpp": 'const char * second() { return __DATE__ " " __TIME__; }\n',
    "plugin.c": "int plugin_answer(void) { return 42; }\n",
    "main.cpp": """\
#include <cstdio>
#include "version.h"
const char * first();
const char * second();
int main() {
    std::printf("version: 0.1 (build %d, commit %s)\\n", NUMBER, LABEL);
    std::printf("%s | %s | seen [%s]\\n", first(), second(), SEEN);
}
""",
}

TARGET = Target(
    name="tiny",
    platform="x64",
    programs=("llama-server",),
    options=(
        ("BUILD_SHARED_LIBS", "ON"),
        ("CMAKE_BUILD_TYPE", "Release"),
        ("CMAKE_BUILD_WITH_INSTALL_RPATH", "ON"),
        ("CMAKE_INSTALL_RPATH", "$ORIGIN"),
    ),
)


def commit_tree(folder: Path, changes: Mapping[str, str] | None = None) -> tuple[Git, str]:
    """A git repository in `folder` with the project, some files changed or added; returns it and the tree id."""
    folder.mkdir(parents=True, exist_ok=True)
    git = Git(path=folder)
    git("init", "--quiet")
    for name, text in {**FILES, **(changes or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git("add", "--all", "--force", ".")
    return git, git("write-tree").text


def request(tree: str, *, variant: Variant = "stock", label: str = "b7") -> BuildRequest:
    """Ask for the project as build 7."""
    return BuildRequest(variant=variant, label=label, number=7, tree=tree, target=TARGET)


def wrapped_compiler(folder: Path, real: Path, rule: str) -> Path:
    """A `c++` in `folder` that logs what it compiles to `calls`, runs `rule`, then the real compiler.

    `rule` is Python; it sees `source`, the file that is compiled to an object ("" for any other call).
    """
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "c++"
    program.write_text(
        f"""#!{sys.executable} -I
import os, pathlib, signal, sys, time
folder = pathlib.Path({str(folder)!r})
words = sys.argv[1:]
compiles = "-c" in words and "-E" not in words
source = next((pathlib.Path(w).name for w in words if w.endswith(".cpp")), "") if compiles else ""
if source:
    with (folder / "calls").open("a") as log:
        log.write(source + "\\n")
{rule}
os.execv({str(real)!r}, [{str(real)!r}, *words])
""",
        encoding="utf-8",
    )
    program.chmod(0o755)
    return program


def compiled(folder: Path) -> list[str]:
    """What a wrapped compiler compiled of the project so far (CMake's own probes left out), sorted."""
    calls = folder / "calls"
    names = calls.read_text(encoding="utf-8").split() if calls.is_file() else []
    return sorted(name for name in names if name in FILES)
