"""The parity suite leaves evidence whatever happens, and what did not run is UNPROVEN."""

import sys
from pathlib import Path

import pytest

from ci.files import read_json
from ci.home import Home
from ci.outcome import Verdict
from ci.process import run, scrubbed_env
from tests.helpers.suites import ROOT, run_suite, suite_argv


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", checkout=tmp_path)


def test_a_suite_without_builds_answers_unproven_for_every_gate(tmp_path: Path, home: Home) -> None:
    path = tmp_path / "evidence.json"
    done = run_suite("parity", stock=tmp_path / "no", speed=tmp_path / "neither", home=home, evidence=path)
    assert len(done.gates) > 15
    assert done.verdicts("") == {Verdict.UNPROVEN}
    assert "it has no build.json" in done.gates["two-builds"].reason
    assert (done.evidence["stock"], done.evidence["speed"]) == (None, None)
    assert (done.evidence["suite"], done.evidence["profile"]) == ("parity", "quick")
    assert done.code == 1


def test_a_suite_that_stops_early_names_what_did_not_run(tmp_path: Path, home: Home) -> None:
    argv = suite_argv("parity", stock=tmp_path, speed=tmp_path, home=home, evidence=tmp_path / "evidence.json")
    run((*argv, "-x"), cwd=ROOT, env=scrubbed_env(), ok_codes=(1,))
    done = run_suite("parity", stock=tmp_path, speed=tmp_path, home=home, evidence=tmp_path / "whole.json")
    text = (tmp_path / "evidence.json").read_text(encoding="utf-8")
    assert text.count('"verdict": "UNPROVEN"') == len(done.gates)
    assert text.count("the test ended without a verdict") == len(done.gates) - 1


CUT_OFF = """
import os, sys, pytest
class Killer:
    def pytest_runtest_setup(self, item):
        if item.name == "test_real_greedy":
            os._exit(9)
pytest.main(sys.argv[1:], plugins=[Killer()])
"""


def test_a_suite_that_is_killed_leaves_what_it_had_found_out(tmp_path: Path, home: Home) -> None:
    path = tmp_path / "evidence.json"
    argv = suite_argv("parity", stock=tmp_path / "no", speed=tmp_path / "no", home=home, evidence=path)
    run((sys.executable, "-c", CUT_OFF, *argv[3:]), cwd=ROOT, env=scrubbed_env(), ok_codes=(9,))
    gates = {gate["gate"]: gate for gate in read_json(path)["gates"]}
    assert "it has no build.json" in gates["real-tokenizer"]["reason"]
    assert gates["real-greedy"]["reason"] == "the test ended without a verdict"
    assert {gate["verdict"] for gate in gates.values()} == {"UNPROVEN"}


def test_collecting_writes_no_evidence(tmp_path: Path, home: Home) -> None:
    path = tmp_path / "evidence.json"
    argv = suite_argv("parity", stock=tmp_path, speed=tmp_path, home=home, evidence=path)
    run((*argv, "--collect-only"), cwd=ROOT, env=scrubbed_env())
    assert not path.exists()


def test_a_suite_without_a_stock_folder_says_which_option_is_missing(tmp_path: Path) -> None:
    argv = suite_argv("parity", stock=tmp_path, speed=tmp_path, home=None, evidence=tmp_path / "evidence.json")
    without = [word for word in argv if word not in ("--stock", str(tmp_path))]
    done = run([word for word in without if word != "--speed"], cwd=ROOT, env=scrubbed_env(), ok_codes=(1,))
    assert "--stock DIR is missing" in done.text
