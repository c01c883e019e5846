"""The real parity suite against builds that must never pass: UNPROVEN or FAIL each time, exit code not zero."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ci.builds.store import Build
from ci.home import Home
from ci.outcome import Verdict
from tests.helpers.disguise import SERVER, disguised, runs, runs_without_speculation, stand_in
from tests.helpers.suites import SuiteRun, run_suite

pytestmark = pytest.mark.native

PART = "two_builds or SMALL"
"""The gates on the smallest pair: seconds, and every kind of gate among them but those on the real model."""

SAMPLED = "samples_what_stock_samples"

Suite = Callable[..., SuiteRun]


@pytest.fixture
def suite(real_home: Home, tmp_path: Path) -> Suite:
    def go(stock: Path, speed: Path, select: str = PART) -> SuiteRun:
        path = tmp_path / "evidence.json"
        return run_suite("parity", stock=stock, speed=speed, home=real_home, evidence=path, select=select)

    return go


def test_the_real_builds_pass(stock_build: Build, speed_build: Build, suite: Suite) -> None:
    done = suite(stock_build.path, speed_build.path)
    assert done.verdict is Verdict.PASS, done.output
    assert done.code == 0
    assert done.evidence["stock"] == {"label": stock_build.label, "digest": stock_build.digest}
    assert done.evidence["speed"] == {"label": speed_build.label, "digest": speed_build.digest}
    assert done.gates["pair-counters-small-draft-dspark"].evidence["draft_n"] > 0


def test_the_stock_build_on_both_sides_proves_nothing(stock_build: Build, suite: Suite) -> None:
    done = suite(stock_build.path, stock_build.path)
    assert done.gates["two-builds"].verdict is Verdict.UNPROVEN
    assert done.verdict is Verdict.UNPROVEN
    assert done.code != 0


def test_the_stock_binaries_under_a_speed_label_prove_nothing(
    stock_build: Build, speed_build: Build, suite: Suite, tmp_path: Path
) -> None:
    forged = disguised(stock_build, tmp_path / "forged", label=speed_build.label, variant="speed")
    done = suite(stock_build.path, forged.path)
    assert done.gates["two-builds"].verdict is Verdict.UNPROVEN
    assert "another build answers" in done.gates["two-builds"].reason
    assert done.verdicts("pair") == {Verdict.UNPROVEN}
    assert done.code != 0


def test_a_speed_build_that_serves_stock_proves_nothing(
    stock_build: Build, speed_build: Build, suite: Suite, tmp_path: Path
) -> None:
    programs = {SERVER: runs(stock_build.path / SERVER)}
    done = suite(stock_build.path, disguised(speed_build, tmp_path / "relay", programs=programs).path)
    assert done.verdicts("") == {Verdict.UNPROVEN}
    assert "another build answers" in done.gates["two-builds"].reason
    assert done.code != 0


def test_a_speed_build_made_with_other_options_proves_nothing(
    stock_build: Build, speed_build: Build, suite: Suite, tmp_path: Path
) -> None:
    unlike = disguised(speed_build, tmp_path / "unlike", options={"GGML_AVX512": "ON"})
    done = suite(stock_build.path, unlike.path)
    assert done.gates["two-builds"].verdict is Verdict.UNPROVEN
    assert "option GGML_AVX512 is 'not there' and 'ON'" in done.gates["two-builds"].reason
    assert done.verdict is Verdict.UNPROVEN
    assert done.code != 0


def test_a_changed_file_in_a_build_proves_nothing(
    stock_build: Build, speed_build: Build, suite: Suite, tmp_path: Path
) -> None:
    changed = disguised(speed_build, tmp_path / "changed").path
    (changed / SERVER).write_text(runs(stock_build.path / SERVER), encoding="utf-8")
    done = suite(stock_build.path, changed)
    assert done.verdicts("") == {Verdict.UNPROVEN}
    assert done.code != 0


def test_speculation_that_is_silently_off_never_passes(
    stock_build: Build, speed_build: Build, suite: Suite, tmp_path: Path
) -> None:
    programs = {SERVER: runs_without_speculation(speed_build.path / SERVER)}
    done = suite(stock_build.path, disguised(speed_build, tmp_path / "undrafted", programs=programs).path)
    assert done.gates["pair-tokens-small-draft-dspark"].verdict is Verdict.UNPROVEN
    assert "draft_n is 0" in done.gates["pair-tokens-small-draft-dspark"].reason
    assert done.gates["pair-counters-small-draft-dspark"].verdict is Verdict.FAIL
    assert done.gates["pair-law-small"].verdict is Verdict.PASS
    assert done.code != 0


def test_real_builds_draw_the_same_tokens(stock_build: Build, speed_build: Build, suite: Suite) -> None:
    done = suite(stock_build.path, speed_build.path, SAMPLED)
    assert done.gates.keys() == {"pair-sampled-large-plain", "pair-sampled-large-draft-dspark"}
    assert done.verdicts("") == {Verdict.PASS}, done.output
    assert {gate.evidence["n_compared"] for gate in done.gates.values()} == {256}
    assert done.gates["pair-sampled-large-draft-dspark"].evidence["draft_n"] > 0


def test_a_fork_that_only_drawing_shows_fails(
    stock_build: Build, speed_build: Build, suite: Suite, tmp_path: Path
) -> None:
    """Without its top-k window a server draws other tokens with the same seeds, but is unchanged at temperature 0."""
    programs = {SERVER: runs(speed_build.path / SERVER, "--samplers", "temperature")}
    forged = disguised(speed_build, tmp_path / "windowless", programs=programs).path
    done = suite(stock_build.path, forged, f"{SAMPLED} or stock_says and SMALL")
    assert done.gates["pair-stock-small"].verdict is Verdict.PASS
    assert done.verdicts("pair-sampled") == {Verdict.FAIL}
    assert "unexplained fork(s)" in done.gates["pair-sampled-large-plain"].reason
    assert done.code != 0


@pytest.mark.parametrize("mode", ["empty", "ok", "die"])
def test_a_server_that_says_nothing_or_nonsense_never_passes(
    stock_build: Build, speed_build: Build, suite: Suite, tmp_path: Path, mode: str
) -> None:
    programs = {SERVER: stand_in(mode, f"{speed_build.tag}-{speed_build.label}")}
    done = suite(stock_build.path, disguised(speed_build, tmp_path / "stand-in", programs=programs).path)
    assert Verdict.PASS not in done.verdicts("pair-law", "pair-stock", "pair-counters", "pair-keeps", "pair-counts")
    assert done.verdict is not Verdict.PASS
    assert done.code != 0
