"""The command line as a person meets it: exit codes, advice, JSON, and nothing changed by a dry run."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from ci.process import Completed, Running, run, scrubbed_env

ROOT = Path(__file__).parents[2]
ANY = tuple(range(-64, 256))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def invoke(state: Path, *words: str, **env: str) -> Completed:
    argv = (sys.executable, "-m", "invoke", *words)
    return run(argv, cwd=ROOT, env=scrubbed_env(extra={"SPEEDFORK_HOME": str(state), **env}), ok_codes=ANY)


def said(done: Completed) -> str:
    return " ".join(done.stderr.decode().split())


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("pipeline", "--profile", "slow"), 2, "profile 'slow' is not one of quick, full"),
        (("pipeline", "--onto", "b1"), 2, "b1 is neither pinned nor fetched; the newest known build is b11434"),
        (("pipeline", "--onto", "newest"), 2, "newest"),
        (("pipeline", "--onto", "b11292"), 2, "base b11401 of the series is newer than the aim b11292"),
        (("pipeline", "--only", "paritty"), 2, "stages are: sync, models, rebase"),
        (("pipeline", "--from", "x"), 2, "unknown stage 'x'"),
        (("pipeline", "--only", "release", "--dry-run"), 2, "stage 'release' needs 'sync'"),
        (("pipeline", "--jobs", "x", "--dry-run"), 2, "is not a whole number from 1 to 1024"),
        (("pipeline", "--jobs=-1", "--dry-run"), 2, "is not a whole number from 1 to 1024"),
        (("pipeline", "--", "--dry-run"), 2, "words after -- are not read: --dry-run"),
        (("build", "--target", "sm999"), 2, "unknown target 'sm999'"),
        (("rebase-upstream", "--onto", "b11292"), 2, "newer than the aim b11292"),
        (("sync-upstream", "--build", "b11434", "--all"), 2, "--build and --all exclude each other"),
        (("sync-upstream", "--build", "b2"), 2, "do not have b2"),
        (("sync-upstream", "--remote", "ext::sh -c id"), 2, "names a transport helper"),
        (("sync-upstream", "--remote", "--upload-pack=id"), 2, "begins with a dash"),
        (("parity", "--stock", "somewhere"), 2, "give both --stock DIR and --speed DIR"),
        (("throughput", "--stock", "/nowhere", "--speed", "/nowhere"), 2, "/nowhere: not the folder of a build"),
        (("fetch-models", "--model", "smollm2-135m"), 2, "not in models.toml, did you mean 'smollm2-135m-q4_1'"),
        (("measure-switch", "--patch", "nothing"), 2, "no patch 'nothing'"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_bad_requests_end_at_once_with_code_and_advice(
    state: Path, words: tuple[str, ...], code: int, expected: str
) -> None:
    done = invoke(state, *words)
    assert (done.code, expected in said(done)) == (code, True), said(done)
    assert "next:" in said(done)


def test_several_problems_are_told_together(state: Path) -> None:
    done = invoke(state, "pipeline", "--profile", "slow", "--onto", "b1")
    assert done.code == 2
    assert "2 problems" in said(done)
    assert "b1 is neither pinned" in said(done)


def test_a_missing_compiler_is_found_before_anything_is_fetched(state: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "git").symlink_to(run(("which", "git")).text)
    done = invoke(state, "pipeline", PATH=str(tools))
    assert done.code == 6
    assert "g++" in said(done)
    assert not (state / "downloads").exists()


def test_several_missing_tools_are_an_environment_problem(state: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = invoke(tmp_path / "file", "pipeline", "--dry-run", PATH=str(tmp_path / "none"))
    assert done.code == 6
    assert "problems" in said(done)


@pytest.mark.parametrize("verb", ["fetch-models", "pipeline", "sync-upstream"])
def test_a_home_that_is_a_file_is_an_environment_problem(tmp_path: Path, verb: str) -> None:
    (tmp_path / "file").touch()
    done = invoke(tmp_path / "file", verb, "--json")
    assert done.code == 6, said(done)
    assert json.loads(done.stdout)["next"]


def test_a_reader_that_goes_away_is_no_defect(state: Path) -> None:
    code = """
import subprocess, sys
argv = [sys.executable, "-m", "invoke", "upstream", "--json"]
child = subprocess.Popen(argv, stdout=subprocess.PIPE)
child.stdout.close()
sys.exit(child.wait())
"""
    env = scrubbed_env(extra={"SPEEDFORK_HOME": str(state)})
    done = run((sys.executable, "-c", code), cwd=ROOT, env=env, ok_codes=ANY)
    assert (done.code, b"defect" in done.stderr) == (0, False), said(done)


def test_errors_are_a_document_under_json(state: Path) -> None:
    done = invoke(state, "pipeline", "--onto", "b1", "--json")
    answer = json.loads(done.stdout)
    assert answer["error"] == "UnknownBuild"
    assert answer["next"] == "invoke upstream"


def test_a_dry_run_changes_nothing(state: Path) -> None:
    done = invoke(state, "pipeline", "--dry-run", "--json")
    assert done.code == 0
    assert [row["would"] for row in json.loads(done.stdout)["dry_run"]] == ["run"] * 8
    assert not state.exists()


def test_a_look_at_upstream_writes_nothing(state: Path) -> None:
    assert invoke(state, "upstream").code == 0
    assert not state.exists()


def test_a_relative_home_is_refused(state: Path) -> None:
    done = invoke(state, "pipeline", "--dry-run", SPEEDFORK_HOME="here")
    assert done.code == 2
    assert "export SPEEDFORK_HOME=$PWD/here" in said(done)


def test_every_verb_explains_itself(state: Path) -> None:
    listed = invoke(state, "--list").text.splitlines()[2:]
    verbs = [line.split()[0] for line in listed if line.startswith("  ") and line[2] != " "]
    assert "pipeline" in verbs
    for verb in verbs:
        told = invoke(state, verb, "--help").text
        assert "--json" in told
        assert "none" not in told.split("Options:")[0]


def test_a_second_run_is_told_that_the_first_one_works(state: Path, tmp_path: Path) -> None:
    state.mkdir()
    code = (
        "import time; from pathlib import Path; from ci.files import exclusive\n"
        f"with exclusive(Path({str(state / 'lock')!r})): print('held', flush=True); time.sleep(60)"
    )
    env = scrubbed_env(extra={"PYTHONPATH": str(ROOT)})
    with Running((sys.executable, "-c", code), env=env, log=tmp_path / "log") as holder:
        while "held" not in holder.log_tail():
            time.sleep(0.02)
        done = invoke(state, "pipeline")
    assert done.code == 6
    assert "another run holds this lock" in said(done)


def test_ctrl_c_ends_with_130(state: Path, tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\nimport ci.verbs.upstream as u\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # background jobs inherit it as ignored
        "def wait(*a, **k):\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "u.sync = wait\nsys.argv = ['invoke', 'sync-upstream', '--json']\n"
        "from invoke.main import program\nprogram.run()\n"
    )
    env = scrubbed_env(extra={"SPEEDFORK_HOME": str(state), "PYTHONPATH": str(ROOT)})
    with Running((sys.executable, "-c", code), env=env, log=tmp_path / "log", cwd=ROOT) as program:
        while "ready" not in program.log_tail():
            time.sleep(0.05)
        os.kill(program.pid, signal.SIGINT)
        while program.exit_code() is None:
            time.sleep(0.05)
        assert program.exit_code() == 130
        assert "finished work is kept" in program.log_tail()
        assert '"error": "Interrupted"' in program.log_tail()
