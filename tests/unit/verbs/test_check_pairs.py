import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ci.builds.store import Build
from ci.console import Console
from ci.errors import EXIT_FAIL, EXIT_OK, EXIT_UNPROVEN, UsageProblem
from ci.home import Home
from ci.models.exact_pair import HYBRID, LARGE, PAIRS, SMALL
from ci.outcome import GateResult, Verdict
from ci.parity.pair_figures import CONTROL, DSPARK, MODES, PLAIN, SIMPLE_SAMPLED
from ci.stages.pair_bench import PROFILES, Job, all_jobs
from ci.verbs import check_pairs
from ci.verbs.check_pairs import check, row_of
from tests.helpers.made_build import made_build

EVIDENCE = {
    "transitions": 51_200,
    "p": 0.705,
    "z_direction": 0.754,
    "z_argmax": -0.541,
    "acceptance": 0.17971,
    "expected_acceptance": 0.18031,
    "mean_length": 2.1,
    "expected_mean_length": 2.105,
    "texts": 1_600,
    "texts_as_plain": 1_600,
    "texts_compared": 1_600,
    "counters_exact": 1_599,
}


def asked(
    home: Home,
    *,
    pairs: tuple[str, ...] = ("SMALL",),
    modes: tuple[str, ...] = ("dspark",),
    build: str = "stock",
    profile: str = "quick",
) -> int:
    return check(home, Console(json_output=True), pairs=pairs, modes=modes, build=build, profile=profile)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", checkout=tmp_path)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[GateResult]:
    """The rows that a measurement will give, in place of servers."""
    rows: list[GateResult] = []

    def rows_of(_home: Home, _build: Build, jobs: tuple[Job, ...], _progress: object) -> Iterator[object]:
        yield from zip(jobs, rows, strict=True)

    monkeypatch.setattr(check_pairs, "check_pairs", rows_of)
    monkeypatch.setattr(check_pairs, "current_build", lambda *_: made_build(tmp_path / "build"))
    return rows


@pytest.mark.parametrize(
    ("verdict", "code"),
    [(Verdict.PASS, EXIT_OK), (Verdict.FAIL, EXIT_FAIL), (Verdict.UNPROVEN, EXIT_UNPROVEN)],
)
def test_the_exit_code_is_the_verdicts_and_the_document_has_every_figure(
    verdict: Verdict, code: int, home: Home, measured: list[GateResult], capsys: pytest.CaptureFixture[str]
) -> None:
    measured.append(GateResult(gate="row", verdict=verdict, reason="why", evidence=EVIDENCE))
    assert asked(home) == code
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert document["rows"][0]["evidence"] == EVIDENCE
    assert (document["rows"][0]["pair"], document["rows"][0]["mode"]) == ("SMALL", "dspark")
    assert json.loads(next(home.out.iterdir()).read_text()) == document
    assert f"check_pairs={verdict.value}" in said.err
    assert ("row: " in said.err) == (verdict is not Verdict.PASS)


def test_what_cannot_be_measured_is_refused_at_once(home: Home) -> None:
    with pytest.raises(UsageProblem, match="no pair 'TINY'"):
        asked(home, pairs=("TINY",))
    with pytest.raises(UsageProblem, match="no mode 'eagle'"):
        asked(home, modes=("eagle",))
    with pytest.raises(UsageProblem, match="no build 'fast'"):
        asked(home, build="fast")
    with pytest.raises(UsageProblem, match="long"):
        asked(home, profile="long")
    with pytest.raises(UsageProblem, match="a known defect of stock"):
        asked(home, pairs=("HYBRID",), modes=("simple-sampled",))


def test_a_line_shows_measured_and_expected() -> None:
    gate = GateResult(gate="row", verdict=Verdict.PASS, reason="", evidence=EVIDENCE)
    line = row_of(Job(spec=SMALL, mode=DSPARK), gate)
    assert line[3:] == (
        *("51200", "0.705", "0.75", "-0.54", "0.1797, 0.1803", "2.100, 2.105"),
        *("1600/1600", "1599/1600", "PASS"),
    )


def test_a_row_without_figures_is_a_line_of_dashes() -> None:
    gate = GateResult(gate="row", verdict=Verdict.UNPROVEN, reason="the server died")
    assert set(row_of(Job(spec=SMALL, mode=PLAIN), gate)[3:]) == {"-", "-, -", "UNPROVEN"}


def test_plain_sampling_comes_first_and_stock_is_spared_its_known_defect() -> None:
    jobs = all_jobs(tuple(PAIRS.values()), tuple(MODES.values()), profile="quick", variant="stock")
    assert {jobs[at].mode for at in range(0, len(jobs), 6) if jobs[at].spec == SMALL} == {PLAIN}
    assert len(jobs) == len(PAIRS) * len(MODES) - 1
    assert (HYBRID, SIMPLE_SAMPLED) not in {(job.spec, job.mode) for job in jobs}
    on_speed = all_jobs((HYBRID,), (SIMPLE_SAMPLED,), profile="full", variant="speed")
    assert len(on_speed) == len(PROFILES["full"][0]) * len(PROFILES["full"][1])


def test_only_slow_and_broken_rows_are_short() -> None:
    jobs = all_jobs((SMALL, LARGE), tuple(MODES.values()), profile="quick", variant="stock")
    short = {(job.spec.name, job.mode.name) for job in jobs if job.transitions < 51_200}
    assert short == {("SMALL", "control"), *(("LARGE", name) for name in MODES if name != "plain")}
    assert all(job.mode == CONTROL or job.requests >= 100 for job in jobs)
