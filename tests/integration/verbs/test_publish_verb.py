"""`publish-series` on a small real history: what is pushed is the series in patches/, and what the words say."""

import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import Busy, ConfigProblem, PublishConflict, SeriesConflict, SeriesProblem, UnknownBuild, UsageProblem
from ci.files import exclusive
from ci.git import Git
from ci.home import Home
from ci.process import Running
from ci.series.drift.declared import Kind
from ci.series.drift.drifts import Drift
from ci.series.drift.pending import PENDING, Pending, pending_toml
from ci.series.publishing.publish import Fork, apply
from ci.series.publishing.publish_plan import Plan, Wanted
from ci.upstream.tags import BuildTag
from ci.verbs import publish
from ci.verbs.publish import Request
from tests.helpers.histories import Past, changed, message
from tests.helpers.publishing import BRANCH, LINES, Rival, refs, series_of_two

TAG = "refs/tags/b100-speed.1"
CHECKOUT = Path(__file__).parents[3]
ONE_RUN = """
import sys
from pathlib import Path
from ci.console import Console
from ci.home import Home
from ci.verbs.publish import Request, publish
root = Path(sys.argv[1])
publish(Home(root=root, checkout=root), Console(), Request(remote=sys.argv[2]), {})
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path, checkout=tmp_path)


@pytest.fixture
def past(home: Home) -> Past:
    past = series_of_two(home.root)
    past.save(home.patches)
    return past


@pytest.fixture
def bare(tmp_path: Path) -> Git:
    return Git.open_bare(tmp_path / "fork.git")


@pytest.fixture
def asked(bare: Git) -> Request:
    return Request(remote=str(bare.path))


def documents(home: Home, request: Request, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert publish.publish(home, Console(json_output=True), request, {}) == 0
    told: dict[str, object] = json.loads(capsys.readouterr().out)
    return told


def test_the_series_is_published_and_said(
    past: Past, home: Home, bare: Git, asked: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    told = documents(home, asked, capsys)
    assert (told["release"], told["pushed"], told["dry_run"]) == ("b100-speed.1", True, False)
    assert told["tree"] == bare.tree_of(BRANCH) == bare.tree_of(TAG) == past.git.tree_of(past.tip)
    assert told["base"] == {"tag": "b100", "commit": past.git.commit_of("b100"), "made_here": True}
    assert past.git.commit_of("refs/heads/speed/b100") == told["head"]
    assert "first: Make first fast\n" in bare("cat-file", "tag", TAG).text
    again = documents(home, asked, capsys)
    assert (again["pushed"], again["head"]) == (False, told["head"])


def test_a_stale_branch_of_the_history_is_not_what_is_published(
    past: Past, home: Home, bare: Git, asked: Request
) -> None:
    past.git.update_ref("refs/heads/speed/b100", past.builds["b100"], None)
    publish.publish(home, Console(), asked, {})
    assert bare.tree_of(BRANCH) == past.git.tree_of(past.tip)
    assert past.git.commit_of("refs/heads/speed/b100") == bare.commit_of(BRANCH)


def test_a_dry_run_moves_nothing_and_names_the_command(
    past: Past, home: Home, bare: Git, asked: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    before = past.footprint()
    dry = Request(remote=asked.remote, branch="team/speed", dry_run=True)
    assert publish.publish(home, Console(), dry, {}) == 0
    assert refs(bare) == {}
    assert past.footprint() == before
    assert f"next: invoke publish-series --remote {bare.path} --branch team/speed\n" in capsys.readouterr().out


def test_the_series_on_another_build_starts_at_its_first_revision(
    past: Past, home: Home, bare: Git, asked: Request
) -> None:
    past.build("b101", {"a.txt": b"new\n" + LINES, "b.txt": LINES})
    publish.publish(home, Console(), asked, {})
    publish.publish(home, Console(), replace(asked, onto="b101"), {})
    assert set(refs(bare)) == {BRANCH, TAG, "refs/tags/b101-speed.1"}
    assert bare.commit_of(f"{BRANCH}~2") == past.builds["b101"]


def test_moving_patches_onto_a_published_build_changes_no_id(
    past: Past, home: Home, bare: Git, asked: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = Past(home.root / "moved")
    moved.build("b101", {"a.txt": b"new\n" + LINES, "b.txt": LINES})
    moved.patch("first", {"a.txt": b"new\n" + changed(LINES, 12)}, text=message("first", "b100"))
    moved.patch("second", {"b.txt": changed(LINES, 20)}, text=message("second", "b100"))
    past.git("fetch", "--quiet", str(moved.git.path), "refs/tags/b101:refs/tags/b101")
    first = documents(home, replace(asked, onto="b101"), capsys)
    moved.save(home.patches)
    again = documents(home, asked, capsys)
    assert (again["pushed"], again["head"], again["release"]) == (False, first["head"], "b101-speed.1")


def test_a_new_revision_on_another_build_begins_with_a_rebase(
    past: Past, home: Home, bare: Git, asked: Request
) -> None:
    past.build("b101", {"a.txt": b"new\n" + LINES, "b.txt": LINES})
    Rival.at(home.root / "rival.git", bare.path).push("refs/tags/b101-speed.1")
    with pytest.raises(PublishConflict) as caught:
        publish.publish(home, Console(), replace(asked, onto="b101"), {})
    assert caught.value.hint.startswith("invoke rebase-upstream --onto b101, then set revision = 2 in")


def test_a_run_killed_while_the_fork_takes_the_push_is_finished_by_the_next(
    past: Past, home: Home, bare: Git, asked: Request
) -> None:
    hook = bare.path / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {home.root}/taking\nwhile [ ! -e {home.root}/go ]; do sleep 0.05; done\n")
    hook.chmod(0o755)
    argv = (sys.executable, "-c", ONE_RUN, str(home.root), asked.remote)
    with Running(argv, env={**os.environ, "PYTHONPATH": str(CHECKOUT)}, log=home.root / "log") as first:
        while not (home.root / "taking").exists():
            assert first.exit_code() is None, (home.root / "log").read_text()
            time.sleep(0.02)
        os.kill(first.pid, signal.SIGKILL)
    assert set(refs(bare)) in (set(), {BRANCH, TAG})
    (home.root / "go").touch()
    publish.publish(home, Console(), asked, {})
    assert set(refs(bare)) == {BRANCH, TAG}
    assert bare.tree_of(BRANCH) == bare.tree_of(TAG) == past.git.tree_of(past.tip)


def test_a_changed_series_needs_a_new_revision(past: Past, home: Home, bare: Git, asked: Request) -> None:
    publish.publish(home, Console(), asked, {})
    before = refs(bare)
    (home.patches / "series").write_text("first.patch\n")
    (home.patches / "second.patch").unlink()
    with pytest.raises(PublishConflict) as caught:
        publish.publish(home, Console(), asked, {})
    assert caught.value.hint.startswith("set revision = 2 in patches/base.toml, then: invoke publish-series")
    assert refs(bare) == before
    base = home.patches / "base.toml"
    base.write_text(base.read_text().replace("revision = 1", "revision = 2"))
    publish.publish(home, Console(), asked, {})
    assert set(refs(bare)) == {BRANCH, TAG, "refs/tags/b100-speed.2"}
    assert bare.commit_of(BRANCH) == bare.commit_of("b100-speed.2")


def test_a_rival_in_between_stops_both(
    past: Past, home: Home, bare: Git, asked: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    rival = Rival.at(home.root / "rival.git", bare.path)

    def late(fork: Fork, wanted: Wanted, plan: Plan) -> None:
        rival.push(BRANCH)
        apply(fork, wanted, plan)

    monkeypatch.setattr(publish, "apply", late)
    with pytest.raises(PublishConflict, match=f"expected nothing, found {rival.commit}"):
        publish.publish(home, Console(), asked, {})
    assert refs(bare) == {BRANCH: rival.commit}


def test_unknown_work_goes_only_by_its_id(past: Past, home: Home, bare: Git, asked: Request) -> None:
    rival = Rival.at(home.root / "rival.git", bare.path)
    rival.push(BRANCH)
    with pytest.raises(PublishConflict) as caught:
        publish.publish(home, Console(), asked, {})
    assert caught.value.hint.endswith(f"{asked.command} --replace {rival.commit}")
    with pytest.raises(UsageProblem, match="40 hex digits"):
        publish.publish(home, Console(), replace(asked, replace=rival.commit[:12]), {})
    publish.publish(home, Console(), replace(asked, replace=rival.commit), {})
    assert bare.tree_of(BRANCH) == past.git.tree_of(past.tip)


def test_the_remote_may_stand_in_the_environment(past: Past, home: Home, bare: Git) -> None:
    publish.publish(home, Console(), Request(), {"SPEEDFORK_REMOTE": str(bare.path)})
    assert set(refs(bare)) == {BRANCH, TAG}


def test_no_remote_is_refused_with_an_example(past: Past, home: Home) -> None:
    with pytest.raises(UsageProblem, match="SPEEDFORK_REMOTE") as caught:
        publish.publish(home, Console(), Request(), {})
    assert caught.value.hint.startswith("invoke publish-series --remote ")


def test_a_password_is_in_no_word(past: Past, home: Home) -> None:
    secret = Request(remote="https://me:hunter2@example.org/r")
    assert secret.command == "invoke publish-series --remote https://***@example.org/r"


def test_a_series_that_conflicts_or_is_gone_is_not_published(
    past: Past, home: Home, bare: Git, asked: Request
) -> None:
    past.build("b101", {"a.txt": LINES, "b.txt": changed(LINES, 20, b"upstream's own words")})
    past.build("b102", {"a.txt": changed(LINES, 12), "b.txt": changed(LINES, 20)})
    with pytest.raises(SeriesConflict):
        publish.publish(home, Console(), replace(asked, onto="b101"), {})
    with pytest.raises(SeriesProblem, match="nothing left to publish"):
        publish.publish(home, Console(), replace(asked, onto="b102"), {})
    with pytest.raises(UnknownBuild):
        publish.publish(home, Console(), replace(asked, onto="b103"), {})
    assert refs(bare) == {}


def test_upstreams_own_commit_is_told_from_one_made_here(
    past: Past, home: Home, asked: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    publish.publish(home, Console(), asked, {})
    assert "made here from a source archive" in capsys.readouterr().out
    own = {"GIT_COMMITTER_EMAIL": "someone@upstream.example"}
    tree = past.tree({"a.txt": b"new\n" + LINES, "b.txt": LINES})
    past.git.update_ref("refs/tags/b101", past.commit(tree, [past.builds["b100"]], "b101", env=own), None)
    publish.publish(home, Console(), replace(asked, onto="b101"), {})
    assert f"base b101 is upstream's commit {past.git.commit_of('b101')}" in capsys.readouterr().out


def test_a_second_run_in_the_same_home_is_told_to_wait(past: Past, home: Home, bare: Git, asked: Request) -> None:
    with exclusive(home.lock), pytest.raises(Busy):
        publish.publish(home, Console(), asked, {})
    assert refs(bare) == {}


def test_drift_that_waits_is_said_with_what_is_published(
    home: Home, bare: Git, asked: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    past = Past(home.root)
    past.build("b100", {"a.c": b"int a;\n"})
    past.patch("first", {"a.c": b"int a;\nstruct args x = {1};\n"})
    past.save(home.patches)
    before, after = "struct args {\n    int a;\n}", "struct args {\n    int a;\n    int b;\n}"
    drift = Drift(
        declaration="args",
        kind=Kind.STRUCT,
        path="a.h",
        old_path="a.h",
        before=before,
        after=after,
        why="field b added",
        used=("args",),
    )
    entry = Pending(patch_id="first", drift=drift, since=BuildTag(99), until=BuildTag(100))
    (home.patches / PENDING).write_bytes(pending_toml([entry]))
    assert documents(home, asked, capsys)["pending_drift"] == [entry.headline]
    publish.publish(home, Console(), asked, {})
    assert f"drift that nobody has looked at: {entry.headline}" in capsys.readouterr().err


def test_a_damaged_drift_file_is_found_before_anything_is_pushed(
    past: Past, home: Home, bare: Git, asked: Request
) -> None:
    (home.patches / "drift.toml").write_text("drift = 1\n")
    with pytest.raises(ConfigProblem, match=r"drift\.toml"):
        publish.publish(home, Console(), asked, {})
    assert bare.tags() == ()
