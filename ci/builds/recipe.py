"""The recipe of a build: a pure function of target, label and build number. Stock and speed use the same one.

Arguments hold the placeholders `{source}` and `{build}` where a directory belongs, so that a recipe, and with it
the digest of a build, is the same on every machine.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from ci.builds.target import Target
from ci.digest import digest_json
from ci.errors import UsageProblem

RECIPE_VERSION = 3
"""Raise it when the builder does something else with the same arguments (stripping, the list of kept files)."""

SOURCE_DATE_EPOCH = 1_700_000_000
"""Seconds: the one time stamp of everything we build and pack."""

LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

_BETWEEN = re.compile(r"[\s,()]+")

# directory names must not reach the binaries: assertions of ggml print __FILE__
PREFIX_MAPS = ("-ffile-prefix-map={source}=.", "-ffile-prefix-map={build}=./build")
# no build id: the same bytes on distributions whose compilers add one by default and on those whose do not;
# hardened: relocations are read-only once the loader is done, and no stack is executable
LINKER_FLAGS = "-Wl,--build-id=none,-z,relro,-z,now,-z,noexecstack"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a tree becomes binaries.

    Args:
        version: `RECIPE_VERSION` at the time.
        target: id of the target, its lane included.
        options: CMake cache entries (name, value) with placeholders, in the order given to CMake.
        flags: compiler flags for C and C++, with placeholders, unquoted.
        programs: ninja targets, which are also the executables that are kept.
    """

    version: int
    target: str
    options: tuple[tuple[str, str], ...]
    flags: tuple[str, ...]
    programs: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Hex SHA-256 over everything above."""
        return digest_json([self.version, self.target, self.options, self.flags, self.programs])


def names_label(said: str, label: str) -> bool:
    """Whether a program's words name a label, and not one that only begins with it.

    >>> names_label("version: 0.6.0-dev (build 11434, commit b11434-speed.1)", "b11434-speed.1")
    True
    """
    return label in _BETWEEN.split(said)


def recipe_for(target: Target, *, label: str, number: int) -> Recipe:
    """The recipe for one target.

    Args:
        target: what to build for.
        label: what `llama-server --version` shall name as commit, e.g. `b11434-speed.1`.
        number: upstream build number.

    Raises:
        UsageProblem: the label cannot stand in a C string, a file name and a command line.
    """
    if not LABEL.fullmatch(label):
        raise UsageProblem(
            f"build label {label!r} is not of letters, digits, '.', '_' and '-'",
            hint="use a release id such as b11434-speed.1",
        )
    # nvcc hands these to its host compiler, which also does its preprocessing
    cuda = (("CMAKE_CUDA_FLAGS", f"-Xcompiler={','.join(PREFIX_MAPS)}"),) if target.lane else ()
    own = (
        *cuda,
        ("CMAKE_SHARED_LINKER_FLAGS", LINKER_FLAGS),
        ("CMAKE_MODULE_LINKER_FLAGS", LINKER_FLAGS),
        ("CMAKE_EXE_LINKER_FLAGS", LINKER_FLAGS),
        ("LLAMA_BUILD_NUMBER", str(number)),
        ("LLAMA_BUILD_COMMIT", label),
    )
    return Recipe(
        version=RECIPE_VERSION,
        target=target.id,
        options=(*target.options, *own),
        flags=PREFIX_MAPS,
        programs=target.programs,
    )


def cmake_arguments(recipe: Recipe, *, source: Path, build: Path) -> tuple[str, ...]:
    """The recipe's part of the `cmake` command line for two real directories.

    CMake hands compiler flags to a shell, so folders in them are quoted: a home directory may contain spaces.
    (Only the folder, not the whole flag: CMake strips quotes that stand around a whole value.)
    """
    flags = " ".join(_placed(flag, shlex.quote(str(source)), shlex.quote(str(build))) for flag in recipe.flags)
    options = [f"-D{name}={_placed(value, str(source), str(build))}" for name, value in recipe.options]
    return (*options, f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}")


def _placed(words: str, source: str, build: str) -> str:
    return words.replace("{source}", source).replace("{build}", build)
