"""The git door against real git: nothing ambient counts, nothing exotic runs."""

from pathlib import Path

import pytest

from ci.errors import CommandFailed, UsageProblem
from ci.git import Git, refuse_dash
from tests.helpers.histories import Past


@pytest.fixture
def bare(tmp_path: Path) -> Git:
    return Git.open_bare(tmp_path / "bare.git")


def commit(git: Git, text: bytes) -> str:
    blob = git("hash-object", "-w", "--stdin", stdin=text).text
    tree = git("mktree", stdin=f"100644 blob {blob}\tf\n".encode()).text
    return git("commit-tree", "-m", "m", tree).text


def test_the_same_input_gives_the_same_commit_id(bare: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    first = commit(bare, b"x")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "somebody")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1 +0000")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert commit(bare, b"x") == first


def test_a_users_configuration_does_not_count(bare: Git, sealed: Path) -> None:
    (sealed / ".gitconfig").write_text("[user]\n name = Somebody Else\n[commit]\n gpgSign = true\n")
    assert b"Somebody" not in bare("cat-file", "-p", commit(bare, b"x")).stdout


def test_hooks_do_not_run(bare: Git, tmp_path: Path) -> None:
    witness = tmp_path / "ran"
    hook = bare.path / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {witness}\n")
    hook.chmod(0o755)
    bare.update_ref("refs/heads/x", commit(bare, b"x"), None)
    assert not witness.exists()


@pytest.mark.parametrize("remote", ["ext::sh -c touch% ran", "git://127.0.0.1/x", "fd::7"])
def test_exotic_protocols_are_refused(bare: Git, remote: str) -> None:
    with pytest.raises(CommandFailed, match="not allowed"):
        bare("ls-remote", remote)


def test_a_ref_moves_only_from_the_value_that_was_read(bare: Git) -> None:
    one, two = commit(bare, b"1"), commit(bare, b"2")
    bare.update_ref("refs/heads/x", one, None)
    with pytest.raises(CommandFailed):
        bare.update_ref("refs/heads/x", two, None)
    with pytest.raises(CommandFailed):
        bare.update_ref("refs/heads/x", two, two)
    bare.update_ref("refs/heads/x", two, one)
    assert bare.commit_of("refs/heads/x") == two


def test_questions_have_none_for_an_answer(bare: Git) -> None:
    head = commit(bare, b"x")
    bare.update_ref("refs/tags/b1", head, None)
    assert bare.resolve("b1") == head
    assert bare.tree_of("b1") != head
    assert bare.resolve("b2") is None
    assert bare.tags("b*") == ("b1",)


@pytest.mark.parametrize("name", ["", "-x", "--upload-pack=touch x"])
def test_names_that_read_as_options_are_refused(bare: Git, name: str) -> None:
    with pytest.raises(UsageProblem):
        refuse_dash(name, what="branch")
    with pytest.raises(UsageProblem):
        bare.resolve(name)


def test_open_bare_opens_an_existing_repository(bare: Git) -> None:
    head = commit(bare, b"x")
    assert Git.open_bare(bare.path).resolve(head) == head


def test_each_tag_is_told_with_the_commit_behind_it(tmp_path: Path) -> None:
    past = Past(tmp_path)
    plain = past.build("b100", {"f": b"1\n"})
    past.git("tag", "--annotate", "--message", "said", "b101", plain)
    past.git("tag", "blob", past.git("rev-parse", "b100:f").text)
    assert past.git.commits_of_tags() == {"b100": plain, "b101": plain}
