"""A git remote as source: real repositories over file and path, with names that no build has."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import DiskFull, SourceUnreachable, TreeMismatch, UnknownBuild, UsageProblem
from ci.git import Git
from ci.process import run
from ci.upstream.address import checked_address
from ci.upstream.fidelity import fidelity
from ci.upstream.mirror import MirrorSource
from ci.upstream.snapshot import SnapshotSource
from ci.upstream.source import Found
from ci.upstream.tags import BuildTag
from tests.helpers.archives import Member, lock_for, write_archive

B7, B8 = BuildTag(7), BuildTag(8)
OTHER_NAMES = ("v0.6.0", "gguf-v0.1", "b07", "b7-rc", "latest", "B7", "b", "b1x")


class Remote:
    """A repository with history, as upstream has one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git = Git(path=path)
        self.git("init", "--quiet", ".")

    def commit(self, name: str, files: dict[str, str], *, executable: str = "") -> str:
        for file, text in files.items():
            (self.path / file).parent.mkdir(parents=True, exist_ok=True)
            (self.path / file).write_text(text, encoding="utf-8")
        if executable:
            (self.path / executable).chmod(0o755)
        self.git("add", "--all", ".")
        self.git("commit", "--quiet", "-m", name)
        return str(self.git.commit_of("HEAD"))

    def tag(self, name: str, *, annotated: bool = False) -> None:
        self.git("tag", *(("-a", "-m", name) if annotated else ()), name)


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    made = Remote(tmp_path / "remote")
    made.commit("one", {"a.txt": "1\n", "run.sh": "#!/bin/sh\n"}, executable="run.sh")
    made.tag("b7")
    made.commit("two", {"a.txt": "2\n"})
    made.tag("b8", annotated=True)
    made.commit("not built", {"secret.txt": "3\n"})
    for name in OTHER_NAMES:
        made.tag(name)
    # names that git's own commands refuse, but a remote can send
    for odd in ("refs/tags/-b9", "refs/tags/--upload-pack=x", "refs/heads/b10", "refs/tags/x/b11"):
        made.git("update-ref", odd, "HEAD")
    return made


@pytest.fixture
def history(tmp_path: Path) -> Git:
    return Git.open_bare(tmp_path / "history.git")


@pytest.fixture
def mirror(remote: Remote, history: Git) -> MirrorSource:
    return MirrorSource(git=history, address=str(remote.path))


def refs(git: Git) -> list[str]:
    return git("for-each-ref", "--format=%(refname)").text.splitlines()


def test_only_names_of_the_right_shape_are_builds(mirror: MirrorSource) -> None:
    assert mirror.known() == (B7, B8)


def test_a_build_arrives_with_its_real_history_and_nothing_else(
    mirror: MirrorSource, remote: Remote, history: Git
) -> None:
    report = mirror.sync([B8, B7])
    assert [(build.tag, build.found) for build in report.builds] == [(B7, Found.ADDED), (B8, Found.ADDED)]
    assert refs(history) == ["refs/tags/b7", "refs/tags/b8"]
    for tag in ("b7", "b8"):
        assert history.commit_of(tag) == remote.git.commit_of(tag)
        assert history.tree_of(tag) == remote.git.tree_of(tag)
    assert history.commit_of(str(remote.git.commit_of("HEAD"))) is None
    history("fsck", "--strict", "--no-dangling")
    assert list(history.path.glob("incoming-*")) == []


@pytest.mark.parametrize("spelling", ["path", "file url", "relative path"])
def test_paths_and_file_urls_are_remotes(
    remote: Remote, history: Git, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    monkeypatch.chdir(remote.path.parent)
    address = {"path": str(remote.path), "file url": f"file://{remote.path}", "relative path": remote.path.name}[
        spelling
    ]
    [build] = MirrorSource(git=history, address=address).sync([B7]).builds
    assert build.found is Found.ADDED


def test_a_second_sync_asks_nobody(mirror: MirrorSource, remote: Remote, history: Git) -> None:
    first = mirror.sync([B7])
    remote.path.rename(remote.path.with_name("gone"))
    again = mirror.sync([B7])
    assert [build.found for build in again.builds] == [Found.PRESENT]
    assert again.builds[0].commit == first.builds[0].commit


def test_an_unknown_build_is_named_with_its_neighbours_and_nothing_is_fetched(
    mirror: MirrorSource, history: Git
) -> None:
    with pytest.raises(UnknownBuild, match=r"does not have b9; of 2 there, near that: b7, b8"):
        mirror.sync([B7, BuildTag(9)])
    assert refs(history) == []


def test_another_tree_than_pinned_is_refused_with_both_ids(
    mirror: MirrorSource, remote: Remote, history: Git
) -> None:
    strict = MirrorSource(git=history, address=mirror.address, pins={B7: "f" * 40})
    with pytest.raises(TreeMismatch) as refused:
        strict.sync([B7, B8])
    assert "f" * 40 in refused.value.message
    assert str(remote.git.tree_of("b7")) in refused.value.message
    assert refs(history) == []
    assert history("count-objects").text == "0 objects, 0 kilobytes"


def test_a_local_tag_that_is_not_the_pinned_tree_is_refused(mirror: MirrorSource, history: Git) -> None:
    mirror.sync([B7])
    strict = MirrorSource(git=history, address=mirror.address, pins={B7: "f" * 40})
    with pytest.raises(TreeMismatch):
        strict.sync([B7])


def test_a_tag_that_is_no_commit_is_refused(mirror: MirrorSource, remote: Remote, history: Git) -> None:
    blob = remote.git("rev-parse", "HEAD:a.txt").text
    remote.git("update-ref", "refs/tags/b9", blob)
    with pytest.raises(SourceUnreachable, match="b9 is not a commit"):
        mirror.sync([BuildTag(9)])
    assert refs(history) == []


def test_hooks_and_submodules_of_a_remote_do_nothing(mirror: MirrorSource, remote: Remote, history: Git) -> None:
    trace = remote.path / "ran"
    for place in (remote.path / ".git" / "hooks", history.path / "hooks"):
        place.mkdir(exist_ok=True)
        for name in ("post-checkout", "reference-transaction", "post-merge", "pre-auto-gc", "update"):
            (place / name).write_text(f"#!/bin/sh\ntouch {trace}\n", encoding="utf-8")
            (place / name).chmod(0o755)
    remote.commit("modules", {".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = {remote.path}\n'})
    remote.tag("b9")
    mirror.sync([BuildTag(9)])
    assert not trace.exists()


def test_a_remote_that_is_not_there_is_an_environment_problem(history: Git, tmp_path: Path) -> None:
    source = MirrorSource(git=history, address=str(tmp_path / "nowhere"))
    with pytest.raises(SourceUnreachable) as refused:
        source.known()
    assert refused.value.exit_code == 6
    assert "nowhere" in refused.value.message


def test_a_password_in_the_address_is_neither_printed_nor_on_a_command_line(
    history: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = MirrorSource(git=history, address="https://user:hunter2@127.0.0.1:9/owner/repo")
    real = run(["sh", "-c", "command -v git"]).text
    (tmp_path / "bin").mkdir()
    shim = tmp_path / "bin" / "git"
    shim.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/words\nexec {real} "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(SourceUnreachable) as refused:
        source.known()
    assert "hunter2" not in str(refused.value) + source.name
    assert "ls-remote" in (tmp_path / "words").read_text()
    assert "hunter2" not in (tmp_path / "words").read_text()


def test_a_full_disk_while_fetching_is_said(
    mirror: MirrorSource, history: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = run(["sh", "-c", "command -v git"]).text
    (tmp_path / "bin").mkdir()
    shim = tmp_path / "bin" / "git"
    full = 'case "$*" in *" fetch "*) echo "fatal: write error: No space left on device" >&2; exit 128;; esac'
    shim.write_text(f'#!/bin/sh\n{full}\nexec {real} "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(DiskFull):
        mirror.sync([B7])
    assert refs(history) == []


@pytest.mark.parametrize(
    "address",
    [
        "",
        "-x",
        "--upload-pack=touch x",
        "ext::sh -c id",
        "fd::3",
        "http::x",
        "git://example.org/r",
        "http://example.org/r",
        "ftp://example.org/r",
        "ssh://-oProxyCommand=id/r",
        "ssh://user@-oProxyCommand=id/r",
        "-oProxyCommand=id:r",
        "user@-oProxyCommand=id:r",
        "https://example.org/r\n",
        "https://example.org/\x00",
        "EXT::x",
        "::x",
        "u@::x",
        "HTTPS2://x/y",
    ],
)
def test_an_address_of_another_kind_is_refused(history: Git, address: str) -> None:
    with pytest.raises(UsageProblem) as refused:
        MirrorSource(git=history, address=address)
    assert "https://" in refused.value.hint


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/owner/repo",
        "https://user:pw@example.org:8443/r.git",
        "ssh://git@example.org/owner/repo",
        "git@example.org:owner/repo.git",
        "example.org:repo",
        "[::1]:repo",
        "ssh://git@[::1]:22/r",
        "file:///srv/r",
        "/srv/r",
        "./r",
        "../r",
        "r",
        "/srv/a:b",
    ],
)
def test_https_ssh_and_paths_are_accepted(address: str) -> None:
    assert checked_address(address) == address


@given(st.text(alphabet="abc:/@-+.=\n\x00 ", max_size=20))
def test_nothing_that_git_reads_as_option_or_helper_is_accepted(address: str) -> None:
    try:
        accepted = checked_address(address)
    except UsageProblem:
        return
    assert not accepted.startswith("-")
    assert "\n" not in accepted
    assert "::" not in accepted.split("/")[0]


@pytest.fixture
def snapshot(remote: Remote, history: Git, tmp_path: Path) -> SnapshotSource:
    """b7 from an archive that lost the executable bit."""
    files = (Member(name=b"a.txt", data=b"1\n"), Member(name=b"run.sh", data=b"#!/bin/sh\n"))
    archive = write_archive(tmp_path, 7, files)
    remote.git("read-tree", "b7")
    remote.git("update-index", "--chmod=-x", "run.sh")
    tree = remote.git("write-tree").text
    return SnapshotSource(git=history, downloads=tmp_path, lock=lock_for({7: archive}, {7: tree}))


def test_an_archive_is_compared_with_the_remote_path_by_path(
    snapshot: SnapshotSource, mirror: MirrorSource, history: Git
) -> None:
    snapshot.sync([B7])
    found = fidelity(history, B7, against=mirror.fetch_aside([B7])[B7])
    assert found.compared is not None
    [difference] = found.compared.differences
    assert difference.path == b"run.sh"
    assert difference.here is not None
    assert difference.there is not None
    assert (difference.here[0], difference.there[0]) == ("100644", "100755")
    there = history.tree_of("refs/mirror/b7")
    assert found.lines()[:2] == (
        f"b7: 1 path differs from git's tree {there}",
        "  run.sh: mode 100644, in git 100755",
    )


def test_a_mirror_refuses_a_build_whose_archive_lost_something(
    snapshot: SnapshotSource, mirror: MirrorSource, history: Git, remote: Remote, tmp_path: Path
) -> None:
    other = Git.open_bare(tmp_path / "other.git")
    strict = MirrorSource(git=other, address=mirror.address, pins=snapshot.lock.trees())
    with pytest.raises(TreeMismatch) as refused:
        strict.sync([B7])
    assert snapshot.lock.trees()[B7] in refused.value.message
    assert str(remote.git.tree_of("b7")) in refused.value.message


def test_the_same_tree_is_said_to_be_the_same(mirror: MirrorSource, history: Git) -> None:
    mirror.sync([B7])
    found = fidelity(history, B7, against=mirror.fetch_aside([B7])[B7])
    assert found.lines()[0] == "b7: equal to git's tree"
    assert mirror.fetch_aside([B7]) == {B7: history.commit_of("b7")}
