"""Targets: the shipped file, merging, and its faults."""

from pathlib import Path

import pytest

from ci.builds.target import find_target, load_targets
from ci.errors import ConfigProblem, UsageProblem

FILE = """
[common]
programs = ["llama-server"]
[common.options]
A = "1"
B = "common"
[targets.one]
about = "first"
platform = "x64"
[targets.one.options]
B = "own"
C = "3"
[targets.two]
about = "second"
platform = "arm64"
"""


def test_the_cpu_target_builds_what_a_release_holds_and_touches_no_network() -> None:
    cpu = find_target("cpu")
    assert {"llama-server", "llama-cli", "llama-bench", "llama-perplexity", "llama-quantize"} <= set(cpu.programs)
    options = dict(cpu.options)
    assert options["CMAKE_INSTALL_RPATH"] == "$ORIGIN"
    assert options["GGML_NATIVE"] == "OFF"
    offline = ("LLAMA_CURL", "LLAMA_OPENSSL", "LLAMA_BUILD_UI", "LLAMA_USE_PREBUILT_UI")
    assert {options[name] for name in offline} == {"OFF"}


def test_a_targets_own_option_wins_over_the_common_one(tmp_path: Path) -> None:
    path = tmp_path / "targets.toml"
    path.write_text(FILE, encoding="utf-8")
    targets = load_targets(path)
    assert targets["one"][0].options == (("A", "1"), ("B", "own"), ("C", "3"))
    assert targets["two"][0].options == (("A", "1"), ("B", "common"))
    assert targets["two"][0].platform == "arm64"


def test_an_unknown_target_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "targets.toml"
    path.write_text(FILE, encoding="utf-8")
    with pytest.raises(UsageProblem, match=r"'three'; known targets: one, two"):
        find_target("three", path)


def test_all_faults_of_the_file_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "targets.toml"
    path.write_text(FILE.replace("platform = ", "platfrom = "), encoding="utf-8")
    with pytest.raises(ConfigProblem, match="4 fault") as caught:
        load_targets(path)
    assert "targets.one.platfrom: unknown key, did you mean 'platform'?" in caught.value.message
