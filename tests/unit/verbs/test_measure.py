"""Which measurement a patch gets, and what a person and a file are told."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from ci.builds.store import Build
from ci.console import Console
from ci.errors import UsageProblem
from ci.home import Home
from ci.law import Counters, GTest
from ci.outcome import GateResult, Verdict
from ci.parity.policy import SAMPLING
from ci.parity.sampled import LawFigures, SeedSet, judge_repair
from ci.series.patch import Patch, parse_patch
from ci.verbs import measure
from tests.helpers.mails import MAIL

SWITCH_LINE = b"Speed-Switch: LLAMA_ARG_SPEED\n"
NO_BUILD = cast("Build", SimpleNamespace(path=Path("nowhere"), digest="", label=""))


def patch_of(feature: bytes, *, switch: bool = True) -> Patch:
    raw = MAIL.replace(b"Speed-Feature: host-path", b"Speed-Feature: " + feature)
    read = parse_patch(Path("one.patch"), raw if switch else raw.replace(SWITCH_LINE, b""))
    assert isinstance(read, Patch), read
    return read


SPEED, REPAIR = patch_of(b"host-path"), patch_of(b"exactness")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", checkout=tmp_path)


def gate_of_repair(on_p: float = 0.5) -> GateResult:
    def arm(p: float) -> LawFigures:
        test = GTest(statistic=1.0, df=1, p_value=p)
        counters = Counters(drafted=10_000, accepted=1855)
        return LawFigures(transitions=64_000, foreign=0, test=test, z_direction=0.0, z_argmax=0.0, counters=counters)

    sets = [SeedSet(seed=seed, off=arm(3e-11), on=arm(on_p)) for seed in (20_000, 50_000)]
    return judge_repair(sets, SAMPLING["full"])


@pytest.fixture
def law_asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []

    def stand_in(home: Home, build: Build, *, switch: str, profile: str, progress: Callable[..., None]) -> GateResult:
        asked.append(f"{switch} {profile}")
        return gate_of_repair()

    monkeypatch.setattr(measure, "measure_repair", stand_in)
    return asked


def test_a_repair_is_measured_by_its_law(home: Home, law_asked: list[str]) -> None:
    gates = measure.measured(home, Console(), NO_BUILD, REPAIR, "full")
    assert law_asked == ["LLAMA_ARG_SPEED full"]
    assert [(gate.gate, gate.verdict) for gate in gates] == [("law", Verdict.PASS)]


def test_a_speed_patch_is_not(home: Home, law_asked: list[str]) -> None:
    assert measure.measured(home, Console(), NO_BUILD, SPEED, "full") == ()  # no scenario names it
    assert law_asked == []


def test_a_patch_that_no_scenario_exercises_is_refused_before_any_work() -> None:
    measure.check_scenarios((REPAIR,))
    with pytest.raises(UsageProblem, match="no scenario exercises patch 'one'"):
        measure.check_scenarios((REPAIR, SPEED))


def test_without_a_name_every_patch_with_a_switch_is_measured() -> None:
    bare = patch_of(b"host-path", switch=False)
    assert measure.choose((SPEED, bare, REPAIR), "") == (SPEED, REPAIR)


def test_a_patch_without_a_switch_cannot_be_named() -> None:
    with pytest.raises(UsageProblem, match="has no Speed-Switch"):
        measure.choose((patch_of(b"exactness", switch=False),), "one")


def test_the_table_of_a_repair_has_a_line_per_seed_set(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    speed = GateResult(gate="large-plain", verdict=Verdict.PASS, reason="+5 %")
    measure.show(home, Console(), [(SPEED, speed), (REPAIR, gate_of_repair(on_p=1e-7))], "full")
    shown = " ".join(capsys.readouterr().out.split())
    assert "large-plain" in shown
    for words in ("20000..", "50000..", "3e-11", "0.1855", "one: FAIL: on: the texts do not follow the law"):
        assert words in shown
    written = json.loads((home.out / "switches-full.json").read_text(encoding="utf-8"))
    assert [entry["gate"] for entry in written["patches"]] == ["large-plain", "law"]
    assert written["patches"][1]["evidence"]["seed_sets"][1]["on"]["p"] == 1e-7


def test_a_repair_whose_server_failed_shows_the_reason(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    measure.show(
        home, Console(), [(REPAIR, GateResult(gate="law", verdict=Verdict.UNPROVEN, reason="it fell"))], "full"
    )
    assert "one: UNPROVEN: it fell" in capsys.readouterr().out


def test_figures_that_do_not_exist_are_said_to_be_unknown() -> None:
    assert measure.arm_words({"p": None, "acceptance": None}) == "p unknown, acceptance unknown"
