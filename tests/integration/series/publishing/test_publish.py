"""Publishing to real bare repositories: rivals, refusals, weird names, and what a clone of the fork then sees."""

import threading
from pathlib import Path

import pytest

from ci.errors import ForkUnreachable, PublishConflict, PushRejected, UsageProblem
from ci.git import SIGNATURE, Git
from ci.process import run
from ci.series.publishing.publish import Fork, apply, branch_ref, has_seen, survey
from ci.series.publishing.publish_plan import Change, Wanted, check
from tests.helpers.histories import Past, changed, numbered
from tests.helpers.publishing import BRANCH, Rival, fork_at, refs, series_of_two, tag_of, wanted

TAG = "refs/tags/b100-speed.1"


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return series_of_two(tmp_path)


@pytest.fixture
def bare(tmp_path: Path) -> Git:
    return Git.open_bare(tmp_path / "fork.git")


@pytest.fixture
def fork(past: Past, bare: Git) -> Fork:
    return fork_at(past, bare.path)


@pytest.fixture
def rival(tmp_path: Path, bare: Git) -> Rival:
    return Rival.at(tmp_path / "rival.git", bare.path)


def publish(fork: Fork, what: Wanted, *, replace: str | None = None) -> tuple[Change, ...]:
    plan = survey(fork, what, replace=replace)
    check(plan)
    apply(fork, what, plan)
    return tuple(step.change for step in plan.steps)


def next_release(past: Past) -> Wanted:
    """A second revision, not on top of the first: the last patch is another one."""
    past.tip = str(past.git.commit_of(f"{past.tip}~1"))
    past.patch("third", {"b.txt": changed(numbered(30), 3)})
    return wanted(past, "b100-speed.2")


def reject_by_hook(bare: Git, script: str, name: str = "pre-receive") -> None:
    (bare.path / "hooks").mkdir(exist_ok=True)
    (bare.path / "hooks" / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (bare.path / "hooks" / name).chmod(0o755)


def test_the_first_publication_brings_branch_and_tag(past: Past, fork: Fork, bare: Git) -> None:
    what = wanted(past)
    assert publish(fork, what) == (Change.CREATE, Change.CREATE)
    assert refs(bare) == {BRANCH: past.tip, TAG: what.tag_object}
    bare("fsck", "--strict", "--no-dangling")


def test_a_second_publication_has_nothing_to_do(past: Past, fork: Fork, bare: Git) -> None:
    publish(fork, wanted(past))
    reject_by_hook(bare, "exit 1")
    assert publish(fork, wanted(past)) == (Change.NOTHING, Change.NOTHING)


def test_a_new_revision_moves_the_branch_sideways_and_keeps_the_old_tag(past: Past, fork: Fork, bare: Git) -> None:
    first = wanted(past)
    publish(fork, first)
    second = next_release(past)
    assert publish(fork, second) == (Change.UPDATE, Change.CREATE)
    assert refs(bare) == {BRANCH: past.tip, TAG: first.tag_object, second.tag: second.tag_object}


def test_a_clone_of_the_fork_sees_the_release(past: Past, fork: Fork, bare: Git, tmp_path: Path) -> None:
    publish(fork, wanted(past))
    Git(path=tmp_path)("clone", "--quiet", "--branch", "speed", str(bare.path), "clone")
    clone = Git(path=tmp_path / "clone")
    assert clone("describe", "--exact-match").text == "b100-speed.1"
    assert clone.tree_of("HEAD") == past.git.tree_of(past.tip)
    assert clone("log", "--reverse", "--format=%s").text.splitlines() == [
        "upstream b100",
        "Make first fast",
        "Make second fast",
    ]
    told = clone("for-each-ref", "--format=%(contents)", TAG).text
    assert f"Base-Tree: {past.git.tree_of('b100')}\nSpeed-Tree: {past.git.tree_of(past.tip)}\n" in told
    shown = clone("diff-tree", "-p", "HEAD").stdout
    assert f"{clone('patch-id', '--stable', stdin=shown).text.split()[0]} p2: Patch 2" in told


def test_the_tag_is_the_same_object_in_every_history(past: Past, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = series_of_two(tmp_path / "other")
    assert wanted(other).tag_object == wanted(past).tag_object
    assert tag_of(past).raw(tagger=SIGNATURE) == past.git("cat-file", "tag", wanted(past).tag_object).stdout


def test_a_rival_between_plan_and_push_keeps_its_branch(past: Past, fork: Fork, bare: Git, rival: Rival) -> None:
    publish(fork, wanted(past))
    old, what = past.tip, next_release(past)
    plan = survey(fork, what)
    check(plan)
    rival.push(BRANCH)
    with pytest.raises(PublishConflict) as caught:
        apply(fork, what, plan)
    assert caught.value.exit_code == 3
    assert f"{BRANCH}: expected {old}, found {rival.commit}" in caught.value.message
    assert caught.value.hint.startswith("invoke publish-series")
    assert refs(bare)[BRANCH] == rival.commit
    assert what.tag not in refs(bare)


def test_a_rival_that_only_makes_the_tag_stops_the_branch_too(
    past: Past, fork: Fork, bare: Git, rival: Rival
) -> None:
    what = wanted(past)
    plan = survey(fork, what)
    theirs = rival.annotated("b100-speed.1")
    rival.push(TAG, theirs)
    with pytest.raises(PublishConflict, match=f"{TAG}: expected nothing, found {theirs}"):
        apply(fork, what, plan)
    assert refs(bare) == {TAG: theirs}


def test_a_rival_that_moves_a_finished_branch_stops_the_missing_tag(
    past: Past, fork: Fork, bare: Git, rival: Rival
) -> None:
    publish(fork, wanted(past))
    bare("update-ref", "-d", TAG)
    what = wanted(past)
    plan = survey(fork, what)
    assert [step.change for step in plan.steps] == [Change.NOTHING, Change.CREATE]
    rival.push(BRANCH)
    with pytest.raises(PublishConflict, match=f"{BRANCH}: expected {past.tip}, found {rival.commit}"):
        apply(fork, what, plan)
    assert refs(bare) == {BRANCH: rival.commit}


def test_unknown_work_on_the_branch_is_refused_until_it_is_named(
    past: Past, fork: Fork, bare: Git, rival: Rival
) -> None:
    rival.push(BRANCH)
    what = wanted(past)
    with pytest.raises(PublishConflict, match=f"{rival.commit}, which this history has never seen") as caught:
        publish(fork, what)
    assert f"--replace {rival.commit}" in caught.value.hint
    with pytest.raises(PublishConflict, match="--replace names 1111"):
        publish(fork, what, replace="1" * 40)
    assert refs(bare) == {BRANCH: rival.commit}
    assert publish(fork, what, replace=rival.commit) == (Change.UPDATE, Change.CREATE)
    assert refs(bare)[BRANCH] == past.tip


def test_a_commit_that_was_only_fetched_here_is_not_ours(past: Past, fork: Fork, rival: Rival) -> None:
    rival.push(BRANCH)
    past.git("fetch", "--quiet", str(rival.fork), f"{BRANCH}:refs/heads/looked-at")
    with pytest.raises(PublishConflict, match="never seen"):
        publish(fork, wanted(past))


def test_what_was_offered_once_stays_known(past: Past, fork: Fork, bare: Git, rival: Rival) -> None:
    publish(fork, wanted(past))
    old = past.tip
    publish(fork, next_release(past))
    assert has_seen(past.git, old)
    assert not has_seen(past.git, rival.commit)
    bare("update-ref", BRANCH, old)
    assert publish(fork, wanted(past, "b100-speed.2")) == (Change.UPDATE, Change.NOTHING)


def test_another_commit_under_the_tag_is_refused_with_both_ids(
    past: Past, fork: Fork, bare: Git, rival: Rival
) -> None:
    rival.push(TAG, rival.annotated("b100-speed.1"))
    rival.push("refs/tags/b100-speed.7")
    before = refs(bare)
    with pytest.raises(PublishConflict) as caught:
        publish(fork, wanted(past))
    assert f"{TAG}: there it is on {rival.commit}, this series is {past.tip}" in caught.value.message
    assert "revision = 8 in patches/base.toml" in caught.value.hint
    assert refs(bare) == before


def test_a_changed_series_under_the_same_revision_moves_not_even_the_branch(
    past: Past, fork: Fork, bare: Git
) -> None:
    publish(fork, wanted(past))
    before = refs(bare)
    next_release(past)
    with pytest.raises(PublishConflict, match="a published tag never moves"):
        publish(fork, wanted(past))
    assert refs(bare) == before


@pytest.mark.parametrize("annotated", [True, False])
def test_another_tag_on_the_same_commit_stays(past: Past, fork: Fork, bare: Git, annotated: bool) -> None:
    bare("fetch", "--quiet", str(past.git.path), past.tip)
    bare("tag", *(("-a", "-m", "by hand") if annotated else ()), "b100-speed.1", past.tip)
    before = refs(bare)[TAG]
    assert publish(fork, wanted(past)) == (Change.CREATE, Change.NOTHING)
    assert refs(bare) == {BRANCH: past.tip, TAG: before}


def test_a_hook_that_refuses_the_branch_keeps_the_tag_out(past: Past, fork: Fork, bare: Git) -> None:
    reject_by_hook(bare, 'test "$1" != refs/heads/speed || { echo "not you"; exit 1; }', name="update")
    with pytest.raises(PushRejected, match="not you") as caught:
        publish(fork, wanted(past))
    assert caught.value.exit_code == 6
    assert refs(bare) == {}


def test_a_hook_cannot_paint_the_terminal(past: Past, fork: Fork, bare: Git) -> None:
    reject_by_hook(bare, r'printf "\033[2Jgone\n" >&2; exit 1')
    with pytest.raises(PushRejected, match=r"\?\[2Jgone") as caught:
        publish(fork, wanted(past))
    assert "\033" not in str(caught.value)


def test_a_fork_that_takes_no_sideways_move_is_rejected_whole(past: Past, fork: Fork, bare: Git) -> None:
    publish(fork, wanted(past))
    before = refs(bare)
    bare("config", "receive.denyNonFastForwards", "true")
    with pytest.raises(PushRejected, match="non-fast-forward"):
        publish(fork, next_release(past))
    assert refs(bare) == before


def test_a_branch_in_the_way_of_the_name_is_rejected_whole(past: Past, fork: Fork, bare: Git, rival: Rival) -> None:
    rival.push(f"{BRANCH}/old")
    with pytest.raises(PushRejected):
        publish(fork, wanted(past))
    assert refs(bare) == {f"{BRANCH}/old": rival.commit}


def test_a_remote_without_atomic_pushes_is_refused(past: Past, fork: Fork, bare: Git) -> None:
    bare("config", "receive.advertiseAtomic", "false")
    with pytest.raises(PushRejected, match="cannot move branch and tag together") as caught:
        publish(fork, wanted(past))
    assert "receive.advertiseAtomic" in caught.value.hint
    assert refs(bare) == {}


def test_a_fork_whose_tag_cannot_be_written_keeps_its_branch(past: Past, fork: Fork, bare: Git) -> None:
    lock = bare.path / f"{TAG}.lock"
    lock.touch()
    with pytest.raises(PushRejected, match=r"b100-speed\.1\.lock"):
        publish(fork, wanted(past))
    assert refs(bare) == {}
    lock.unlink()
    assert publish(fork, wanted(past)) == (Change.CREATE, Change.CREATE)


@pytest.mark.parametrize("kind", ["nowhere", "an empty folder", "a file", "a closed port"])
def test_a_fork_that_does_not_answer(past: Past, tmp_path: Path, kind: str) -> None:
    place = tmp_path / "place"
    if kind == "an empty folder":
        place.mkdir()
    elif kind == "a file":
        place.write_bytes(b"x")
    address = "https://me:hunter2@127.0.0.1:9/fork.git" if kind == "a closed port" else place
    with pytest.raises(ForkUnreachable) as caught:
        publish(fork_at(past, address), wanted(past))
    assert caught.value.exit_code == 6
    assert "fatal: " in caught.value.message
    assert "hunter2" not in str(caught.value)


def test_a_fork_that_goes_away_after_the_plan(past: Past, fork: Fork, bare: Git) -> None:
    what = wanted(past)
    plan = survey(fork, what)
    bare.path.rename(bare.path.with_name("gone"))
    with pytest.raises(ForkUnreachable):
        apply(fork, what, plan)


def test_a_push_whose_answer_was_lost_counts_when_all_is_there(past: Past, fork: Fork, bare: Git) -> None:
    what = wanted(past)
    plan = survey(fork, what)
    publish(fork, what)
    apply(fork, what, plan)
    assert refs(bare) == {BRANCH: past.tip, TAG: what.tag_object}


def test_two_publishers_of_the_same_series_both_end_well(past: Past, bare: Git, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    both = [past, series_of_two(tmp_path / "other")]
    together = threading.Barrier(2)
    ended = []

    def one(own: Past) -> None:
        fork, what = fork_at(own, bare.path), wanted(own)
        plan = survey(fork, what)
        together.wait()
        apply(fork, what, plan)
        ended.append(what.tag_object)

    threads = [threading.Thread(target=one, args=(own,)) for own in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == [refs(bare)[TAG]] * 2


def test_a_run_killed_before_the_push_is_finished_by_the_next(past: Past, fork: Fork, bare: Git) -> None:
    publish(fork, wanted(past))
    bare("update-ref", "-d", TAG)  # as a remote without an atomic store might leave it
    assert publish(fork, wanted(past)) == (Change.NOTHING, Change.CREATE)
    assert refs(bare)[TAG] == wanted(past).tag_object


def test_looking_moves_nothing(past: Past, fork: Fork, bare: Git) -> None:
    what = wanted(past)
    before = refs(past.git)
    plan = survey(fork, what)
    check(plan)
    assert plan.moves
    assert refs(bare) == {}
    assert refs(past.git) == before


def test_refs_of_the_fork_that_only_resemble_ours_do_not_count(
    past: Past, fork: Fork, bare: Git, rival: Rival
) -> None:
    odd = ("refs/heads/x/refs/heads/speed", "refs/tags/x/b100-speed.1", "refs/heads/b100-speed.1", "refs/tags/speed")
    for name in odd:
        rival.push(name)
    assert publish(fork, wanted(past)) == (Change.CREATE, Change.CREATE)
    assert dict.fromkeys(odd, rival.commit).items() <= refs(bare).items()


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-x",
        "--mirror",
        "HEAD",
        "refs/heads/speed",
        "a b",
        "a:b",
        "a..b",
        "x*",
        "a\n",
        "a.lock",
        "/a",
        "@{-1}",
        "~1",
    ],
)
def test_a_branch_name_that_git_would_misread_is_refused(past: Past, name: str) -> None:
    with pytest.raises(UsageProblem, match="not a branch name"):
        branch_ref(past.git, name)


def test_a_branch_may_have_another_name(past: Past, fork: Fork, bare: Git) -> None:
    publish(fork, wanted(past, branch=branch_ref(past.git, "team/speed+1")))
    assert refs(bare)["refs/heads/team/speed+1"] == past.tip


def test_hooks_of_the_history_do_not_run_and_its_remotes_do_not_count(
    past: Past, fork: Fork, bare: Git, tmp_path: Path
) -> None:
    other = Git.open_bare(tmp_path / "other.git")
    past.git("config", "remote.upstream.pushurl", str(other.path))
    past.git("config", "remote.pushDefault", "upstream")
    reject_by_hook(past.git, f"touch {tmp_path}/ran; exit 1", name="pre-push")
    publish(fork, wanted(past))
    assert not (tmp_path / "ran").exists()
    assert refs(other) == {}


def test_a_password_reaches_no_command_line(past: Past, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = tmp_path / "exec" / "git-remote-https"
    helper.parent.mkdir()
    helper.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/words\nexit 1\n', encoding="utf-8")
    helper.chmod(0o755)
    real = run(["git", "--exec-path"]).text
    for program in Path(real).iterdir():
        if program.name != helper.name:
            (helper.parent / program.name).symlink_to(program)
    fork = fork_at(past, "https://me:hunter2@example.org/fork.git")
    secret = fork.remote.environment()
    git = Git(path=past.git.path)
    done = git(
        "ls-remote", "speedfork-publish", env={**secret, "GIT_EXEC_PATH": str(helper.parent)}, ok_codes=range(256)
    )
    assert done.code
    assert (tmp_path / "words").read_text() == "speedfork-publish https://example.org/fork.git\n"
