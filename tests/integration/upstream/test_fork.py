"""A range of a fork out of a real remote: names, ids, missing tags, and remotes that cannot be trusted."""

from pathlib import Path

import pytest

from ci.errors import BaseMismatch, ForkUnreachable, RangeProblem, UsageProblem
from ci.git import Git
from ci.upstream.fork import Fetched, ForkSource, Ground, Span, ground_of, parse_span
from ci.upstream.mirror import aside_ref
from ci.upstream.tags import BuildTag
from tests.helpers.fork_past import LINES, START, ForkPast
from tests.helpers.histories import changed

UPSTREAM = {"GIT_COMMITTER_NAME": "Up", "GIT_COMMITTER_EMAIL": "up@example.org"}


@pytest.fixture
def fork(tmp_path: Path) -> ForkPast:
    made = ForkPast(tmp_path)
    made.commit("one", {"a.txt": changed(LINES, 3)})
    made.commit("two", {"a.txt": changed(LINES, 4)})
    return made


def fetched(fork: ForkPast, text: str, *, address: str = "") -> tuple[str, str]:
    remote = ForkSource(history=fork.past.git, address=address or fork.address, environ={})
    with remote.fetched(parse_span(text)) as arrived:
        assert arrived.git("rev-list", "--objects", "--quiet", arrived.end).code == 0
        return arrived.start, arrived.end


def test_ends_may_be_tags_branches_and_ids(fork: ForkPast) -> None:
    fork.fork.git("tag", "-a", "-m", "x", "v1", fork.tip)
    both = (fork.base, fork.tip)
    fork.branch("feature/x", fork.tip)
    for text in (
        "b100..main",
        "b100..v1",
        "b100..feature/x",
        f"{fork.base}..{fork.tip}",
        "refs/tags/b100..refs/heads/main",
    ):
        assert fetched(fork, text) == both
    assert fetched(fork, f"{fork.tip}..{fork.tip}") == (fork.tip, fork.tip)


def test_a_working_copy_is_a_remote_like_any_other(fork: ForkPast, tmp_path: Path) -> None:
    Git(path=tmp_path)("clone", "--quiet", "--branch", "main", fork.address, "copy")
    assert fetched(fork, "b100..HEAD", address=str(tmp_path / "copy")) == (fork.base, fork.tip)
    assert fetched(fork, "b100..main", address=f"file://{tmp_path}/copy") == (fork.base, fork.tip)


def test_an_id_that_no_branch_points_at_is_found(fork: ForkPast) -> None:
    middle = fork.fork.git("rev-parse", f"{fork.tip}~1").text
    assert fetched(fork, f"b100..{middle}") == (fork.base, middle)


def test_a_build_that_the_fork_has_no_tag_of_is_found_by_its_files(fork: ForkPast) -> None:
    fork.fork.git("tag", "-d", "b100")
    assert fetched(fork, "b100..main") == (fork.base, fork.tip)


def test_a_build_that_the_fork_never_had_is_refused(fork: ForkPast) -> None:
    fork.past.build("b101", {"other.txt": b"1\n"})
    with pytest.raises(RangeProblem, match="no tag b101, and no commit with its files"):
        fetched(fork, "b101..main")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("b100..mian", "no tag or branch 'mian', did you mean 'main'"),
        ("b102..main", "no tag or branch 'b102'"),
        ("b100..abcdef0", "'abcdef0' is cut short"),
        ("both..main", "is a tag and a branch"),
        ("b100..blob", "is no commit"),
    ],
)
def test_names_that_are_not_there_are_refused(fork: ForkPast, text: str, words: str) -> None:
    fork.fork.git("tag", "both", fork.base)
    fork.branch("both", fork.base)
    fork.fork.git("tag", "blob", f"{fork.tip}:a.txt")
    with pytest.raises(UsageProblem, match=words):
        fetched(fork, text)


def test_an_id_that_is_nowhere_is_told_as_such(fork: ForkPast) -> None:
    with pytest.raises(ForkUnreachable) as caught:
        fetched(fork, f"b100..{'1' * 40}")
    assert "no branch or tag of the remote holds that commit" in caught.value.hint


def test_a_remote_that_is_not_there_is_no_defect(fork: ForkPast, tmp_path: Path) -> None:
    with pytest.raises(ForkUnreachable) as caught:
        fetched(fork, "b100..main", address=str(tmp_path / "nowhere"))
    assert caught.value.exit_code == 6
    assert "check the address" in caught.value.hint


@pytest.mark.parametrize(
    "address", ["ext::sh -c id", "--upload-pack=id", "git://example.org/x", "http://example.org/x"]
)
def test_addresses_are_held_to_the_rules_of_upstream(fork: ForkPast, address: str) -> None:
    with pytest.raises(UsageProblem):
        fetched(fork, "b100..main", address=address)


def test_a_shallow_remote_is_refused_with_its_remedy(fork: ForkPast, tmp_path: Path) -> None:
    url = f"file://{fork.address}"
    Git(path=tmp_path)("clone", "--quiet", "--depth", "1", "--branch", "main", url, "shallow")
    with pytest.raises(ForkUnreachable) as caught:
        fetched(fork, "b100..main", address=str(tmp_path / "shallow"))
    assert "unshallow" in caught.value.hint


@pytest.mark.parametrize("name", [b"..", b".git", b"a/b"])
def test_paths_that_lead_elsewhere_do_not_come_in(fork: ForkPast, name: bytes) -> None:
    git = fork.fork.git
    blob = git("hash-object", "-w", "--stdin", stdin=b"1\n").text
    raw = b"100644 %s\0%s" % (name, bytes.fromhex(blob))
    tree = git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw).text
    fork.tip = fork.fork.commit(tree, [fork.tip], "evil")
    fork.branch("main", fork.tip)
    with pytest.raises(ForkUnreachable) as caught:
        fetched(fork, "b100..main")
    assert "do not pass git's own checks" in caught.value.hint


def test_hooks_of_the_remote_and_ours_stay_off(fork: ForkPast, tmp_path: Path) -> None:
    for git in (fork.fork.git, fork.past.git):
        for hook in ("post-checkout", "reference-transaction", "pre-auto-gc"):
            (git.path / "hooks").mkdir(exist_ok=True)
            (git.path / "hooks" / hook).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
            (git.path / "hooks" / hook).chmod(0o755)
    fetched(fork, "b100..main")
    assert not (tmp_path / "ran").exists()


def test_the_history_is_only_read(fork: ForkPast) -> None:
    before = fork.past.footprint()
    fetched(fork, "b100..main")
    assert fork.past.git.commit_of(fork.tip) is None
    refs, files = fork.past.footprint()
    assert (refs, tuple(file for file in files if file != "incoming.lock")) == before


def ground(fork: ForkPast, name: str, start: str = "", *, git: Git | None = None) -> Ground:
    arrived = Fetched(git=git or fork.fork.git, start=start or fork.base, end=fork.tip)
    return ground_of(fork.past.git, arrived, Span(start=name, end="main"))


def test_the_ground_is_the_build_with_the_same_files(fork: ForkPast) -> None:
    tree = str(fork.past.git.tree_of("b100"))
    assert ground(fork, "anything") == Ground(tag=BuildTag(100), tree=tree, commit=None)


def test_a_start_that_is_no_build_is_refused_with_the_build_below(fork: ForkPast) -> None:
    with pytest.raises(RangeProblem, match=r"no upstream build of the history; builds there: b100") as caught:
        ground(fork, "main", fork.tip)
    assert caught.value.hint.startswith(f"--range {fork.base}..main begins at b100")


def test_the_named_build_wins_where_two_have_the_same_files(fork: ForkPast) -> None:
    fork.past.build("b101", START)
    for name, number in (("b100", 100), ("b101", 101), ("x", 101)):
        assert ground(fork, name).tag == BuildTag(number)


def test_a_build_with_other_files_is_a_mismatch(fork: ForkPast) -> None:
    with pytest.raises(BaseMismatch, match="b100: its tree in the fork is"):
        ground(fork, "b100", fork.tip)


def test_a_range_across_a_build_is_refused(fork: ForkPast) -> None:
    fork.past.build("b101", {"a.txt": b"new\n"})
    upstream = fork.fork.commit(fork.fork.tree({"a.txt": b"new\n"}), [fork.base], "llama.cpp b101")
    fork.commit("speed", {"a.txt": b"fast\n"}, on=upstream)
    with pytest.raises(RangeProblem, match=f"the range holds upstream's build b101 .commit {upstream}") as caught:
        ground(fork, "b100")
    assert caught.value.hint == f"--range {upstream}..main begins there"
    assert ground(fork, upstream, upstream).tag == BuildTag(101)


def test_upstreams_own_commit_is_known_when_it_came_from_a_remote(fork: ForkPast) -> None:
    git = fork.past.git
    theirs = fork.past.commit(str(git.tree_of("b100")), [], "upstream's own", env=UPSTREAM)
    fork.tip = theirs
    assert ground(fork, "b100", theirs, git=git).commit is None
    git.update_ref(aside_ref(BuildTag(100)), theirs, None)
    assert ground(fork, "b100", theirs, git=git).commit == theirs


def test_span_is_a_value() -> None:
    assert parse_span("a..b") == Span(start="a", end="b")
