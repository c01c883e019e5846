"""The recipe: pure, free of paths, and quoted for the shell that CMake hands flags to."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.builds.recipe import cmake_arguments, recipe_for
from ci.builds.target import Target
from ci.errors import UsageProblem

TARGET = Target(name="cpu", platform="x64", programs=("llama-server",), options=(("GGML_AVX2", "ON"),))


def test_label_and_number_reach_cmake_and_decide_the_digest() -> None:
    recipe = recipe_for(TARGET, label="b11434-speed.1", number=11434)
    assert ("LLAMA_BUILD_COMMIT", "b11434-speed.1") in recipe.options
    assert ("LLAMA_BUILD_NUMBER", "11434") in recipe.options
    others = [
        recipe_for(TARGET, label="b11434-speed.2", number=11434),
        recipe_for(TARGET, label="b11434-speed.1", number=11435),
        recipe_for(Target(name="sm75", platform="x64", programs=("llama-server",), options=()), label="x", number=1),
    ]
    assert len({recipe.digest, *(other.digest for other in others)}) == 4
    assert recipe_for(TARGET, label="b11434-speed.1", number=11434).digest == recipe.digest


@pytest.mark.parametrize("label", ["", "-x", "a b", 'a"b', "a/b", "a\n", "a;b", "$x", "x" * 101])
def test_a_label_that_could_break_a_string_or_a_command_is_refused(label: str) -> None:
    with pytest.raises(UsageProblem, match="build label"):
        recipe_for(TARGET, label=label, number=1)


def test_options_go_before_flags_and_dollar_signs_stay() -> None:
    target = Target(name="t", platform="x64", programs=("p",), options=(("CMAKE_INSTALL_RPATH", "$ORIGIN"),))
    arguments = cmake_arguments(recipe_for(target, label="b1", number=1), source=Path("/s"), build=Path("/b"))
    assert arguments[0] == "-DCMAKE_INSTALL_RPATH=$ORIGIN"
    assert arguments[-1] == "-DCMAKE_CXX_FLAGS=-ffile-prefix-map=/s=. -ffile-prefix-map=/b=./build"


@given(st.text(st.characters(codec="ascii", exclude_characters="\0/{}", exclude_categories=["Cc"]), min_size=1))
def test_folders_survive_the_shell_whatever_they_are_called(name: str) -> None:
    source, build = Path("/", name, "src"), Path("/", name, "build")
    arguments = cmake_arguments(recipe_for(TARGET, label="b1", number=1), source=source, build=build)
    flags = arguments[-1].removeprefix("-DCMAKE_CXX_FLAGS=")
    assert shlex.split(flags) == [f"-ffile-prefix-map={source}=.", f"-ffile-prefix-map={build}=./build"]
    # CMake strips one pair of quotes around a value
    assert flags.startswith("-")
