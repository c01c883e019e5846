from pathlib import Path

import pytest

from ci.report import explain
from ci.report.summary import STOCK_GATES
from tests.helpers import releases

DOCS = Path(__file__).parents[3] / "docs" / "reading-a-release.md"
GATES = Path(__file__).parents[3] / "tests" / "suites" / "parity" / "test_parity.py"
TARGETS = Path(__file__).parents[3] / "ci" / "config" / "targets.toml"


def test_only_applied_commits_that_promise_other_than_the_bits_are_named() -> None:
    patches = [
        releases.patch("same", "s"),
        releases.patch("drawn", "s", numerics="distribution"),
        releases.patch("gone", "s", numerics="repair x", state="absorbed"),
    ]
    assert [patch.id for patch in explain.deliberate(releases.manifest(patches=patches).fixed)] == ["drawn"]


def test_a_release_without_cpu_archives_has_no_cpu_needs() -> None:
    archives = [releases.archive("a.tar.gz", releases.RELEASE, "sm90")]
    assert explain.cpu_needs(releases.manifest(archives=archives).fixed, {}) == ""


def test_a_library_that_was_not_recorded_is_said() -> None:
    assert "(not recorded; libstdc++ of c++ " in explain.cpu_needs(releases.manifest().fixed, {})


@pytest.mark.parametrize("option", ["AVX2", "FMA", "F16C", "BMI2"])
def test_the_cpu_needs_are_those_of_the_build(option: str) -> None:
    assert f'GGML_{option} = "ON"' in TARGETS.read_text(encoding="utf-8")
    assert option in explain.cpu_needs(releases.manifest().fixed, {})


@pytest.mark.parametrize(("outcome", "word"), [("skipped", "kept"), ("kept", "kept"), ("done", "done")])
def test_a_stage_that_need_not_run_again_is_kept(outcome: str, word: str) -> None:
    assert explain.stage_word(outcome) == word


@pytest.mark.parametrize("text", [explain.SCENARIOS, explain.CPU_LACKS])
def test_the_documents_say_the_same(text: str) -> None:
    documented = " ".join(DOCS.read_text(encoding="utf-8").replace("`", "").split())
    assert text in documented


@pytest.mark.parametrize("beginning", STOCK_GATES)
def test_the_parity_suite_names_its_comparisons_with_stock_as_the_headline_expects(beginning: str) -> None:
    assert f'"{beginning}' in GATES.read_text(encoding="utf-8")
