"""Archives into a real history: exact bytes and modes, deterministic ids, nothing half done."""

import functools
import hashlib
import os
import signal
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import ci.upstream.fastimport as fastimport_module
from ci.errors import (
    CommandFailed,
    ConfigProblem,
    DigestMismatch,
    DiskFull,
    IndexUnreachable,
    SourceArchiveProblem,
    TreeMismatch,
    UnknownBuild,
)
from ci.git import Git
from ci.process import run
from ci.upstream.pinning import entry_for, to_toml
from ci.upstream.quarantine import quarantine
from ci.upstream.snapshot import (
    LOCK_FILE,
    Snapshot,
    SnapshotLock,
    SnapshotSource,
    import_archive,
    load_lock,
)
from ci.upstream.source import Found, compare, local_builds
from ci.upstream.tags import BuildTag
from tests.helpers.archives import PROJECT, Member, lock_for, write_archive

CHECKOUT = Path(__file__).parents[3]
ODD = (
    Member(name=b"LICENSE", data=b"MIT\n"),
    Member(name=b"crlf.txt", data=b"one\r\ntwo\r\n"),
    Member(name=b".gitattributes", data=b"* text=auto eol=crlf\n*.c filter=evil\n"),
    Member(name=b"src/main.c", data=b"int main(void) { return 0; }\n"),
    Member(name=b"bin/data.bin", data=bytes(range(256)) * 5),
    Member(name=b"empty", data=b""),
    Member(name=b"run.sh", data=b"#!/bin/sh\n", mode=0o755),
    Member(name=b'names/caf\xe9 "q" \\ tab\t nl\n end', data=b"latin-1 name\n"),
    Member(name="names/ünïcödé".encode(), data=b"utf-8 name\n"),
    Member(name=b"link", kind=tarfile.SYMTYPE, link=b"src/main.c", mode=0o777),
)


class World:
    """A home with downloads and a history, and pins for some builds."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.downloads = root / "downloads"
        self.downloads.mkdir(parents=True)
        self.git = Git.open_bare(root / "history.git")
        self.archives: dict[int, Path] = {}
        self.trees: dict[int, str] = {}

    def add(self, build: int, *files: Member) -> None:
        """An archive in `downloads`, with its true pin."""
        files = files or contents(build)
        self.archives[build] = write_archive(self.downloads, build, files)
        self.trees[build] = tree_inside(build, files)

    @property
    def lock(self) -> SnapshotLock:
        return lock_for(self.archives, self.trees)

    @property
    def source(self) -> SnapshotSource:
        return SnapshotSource(git=self.git, downloads=self.downloads, lock=self.lock)

    def visible(self) -> tuple[str, list[str]]:
        """Refs, and whatever stands in the repository that git did not put there."""
        return self.git("for-each-ref").text, [path.name for path in self.git.path.glob("incoming-*")]


@functools.cache
def tree_inside(build: int, files: tuple[Member, ...]) -> str:
    """The tree id of an archive, found in a repository of its own."""
    with tempfile.TemporaryDirectory() as folder:
        archive = write_archive(Path(folder), build, files)
        return entry_for(Git.open_bare(Path(folder) / "scratch.git"), archive, BuildTag(build)).tree


def contents(build: int) -> tuple[Member, ...]:
    """Files that are mostly the same from build to build."""
    same = tuple(Member(name=b"d/f%d" % i, data=b"%d\n" % i * 50) for i in range(8))
    return (*same, Member(name=b"version", data=b"%d\n" % build), Member(name=b"run", data=b"#!x\n", mode=0o755))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def synced(world: World, *builds: int) -> dict[int, str]:
    report = world.source.sync([BuildTag(build) for build in builds])
    return {build.tag.number: build.commit for build in report.builds}


def test_the_tree_is_the_archives_to_the_byte_and_mode(world: World) -> None:
    world.add(7, *ODD)
    synced(world, 7)
    listed = world.git("ls-tree", "-r", "-z", "b7").stdout.split(b"\0")[:-1]
    modes = {line.split(b"\t", 1)[1]: line.split()[0] for line in listed}
    assert set(modes) == {member.name for member in ODD}
    assert {name: mode for name, mode in modes.items() if mode != b"100644"} == {
        b"run.sh": b"100755",
        b"link": b"120000",
    }
    blobs = {line.split(b"\t", 1)[1]: line.split()[2].decode() for line in listed}
    for member in ODD:
        assert world.git("cat-file", "blob", blobs[member.name]).stdout == (member.link or member.data)


def test_git_add_of_the_unpacked_files_gives_the_same_tree(world: World, tmp_path: Path) -> None:
    files = tuple(member for member in ODD if b"names" not in member.name and member.name != b".gitattributes")
    world.add(7, *files)
    synced(world, 7)
    work = tmp_path / "work"
    for member in files:
        path = work / member.name.decode()
        path.parent.mkdir(parents=True, exist_ok=True)
        if member.link:
            path.symlink_to(member.link.decode())
        else:
            path.write_bytes(member.data)
            path.chmod(member.mode)
    ours = Git(path=work)
    ours("init", "--quiet", ".")
    ours("add", "--all", "--force", ".")
    assert ours("write-tree").text == world.git.tree_of("b7")


def test_a_synced_history_is_sound_and_holds_nothing_of_the_wrapper(world: World) -> None:
    world.add(7)
    world.add(8)
    synced(world, 7, 8)
    world.git("fsck", "--strict", "--no-dangling")
    names = world.git("ls-tree", "-r", "--name-only", "b7").text.splitlines()
    assert "setup.py" not in names
    assert world.visible() == (world.git("for-each-ref").text, [])
    assert world.git.tags() == ("b7", "b8")


@pytest.mark.parametrize("batch", [1, 100, 1 << 25])
def test_ids_do_not_depend_on_how_content_was_cut_into_batches(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    world.add(7)
    expected = synced(world, 7)
    monkeypatch.setattr(fastimport_module, "BATCH_BYTES", batch)
    other = World(tmp_path / "other")
    other.add(7)
    assert synced(other, 7) == expected
    other.git("fsck", "--strict")


def test_one_new_file_after_many_old_ones_is_kept(world: World) -> None:
    """A pack of a single object once fell through between git's rule for loose objects and ours for packs."""
    world.add(7)
    world.add(8, *contents(7)[:-1], Member(name=b"only-new", data=b"x\n"))
    synced(world, 7, 8)
    world.git("rev-list", "--objects", "--quiet", "b8")
    assert world.git("cat-file", "blob", "b8:only-new").stdout == b"x\n"


def test_ids_do_not_depend_on_order_or_company(tmp_path: Path) -> None:
    found = []
    for number, order in enumerate([(7, 8, 9), (9, 8, 7), (8,), (9, 7)]):
        here = World(tmp_path / str(number))
        for build in (7, 8, 9):
            here.add(build)
        one_by_one: dict[int, str] = {}
        for build in order:
            one_by_one |= synced(here, build)
        found.append(one_by_one)
    for commits in found[1:]:
        assert commits.items() <= found[0].items()


def test_a_commit_has_no_parent_and_a_date_from_its_number(world: World) -> None:
    world.add(7)
    synced(world, 7)
    said = world.git("log", "-1", "--format=%P|%an|%ae|%at|%ct|%s", "b7").text
    assert said == "|speedfork|speedfork@example.org|1700000007|1700000007|llama.cpp b7"


def test_a_build_that_is_there_needs_neither_archive_nor_index(world: World) -> None:
    world.add(7)
    first = world.source.sync([BuildTag(7)])
    pins = world.lock
    world.archives[7].unlink()
    again = SnapshotSource(git=world.git, downloads=world.downloads, lock=pins, fetch=never).sync([BuildTag(7)])
    assert [build.found for build in (*first.builds, *again.builds)] == [Found.ADDED, Found.PRESENT]
    assert first.builds[0].commit == again.builds[0].commit


def never(*_: object) -> Path:
    raise AssertionError("asked the index")


def test_an_unknown_build_is_refused_before_anything_is_fetched(world: World) -> None:
    world.add(7)
    source = SnapshotSource(git=world.git, downloads=world.downloads, lock=world.lock, fetch=never)
    with pytest.raises(UnknownBuild, match="b8"):
        source.sync([BuildTag(7), BuildTag(8)])


def test_another_tree_than_pinned_is_refused_and_leaves_no_trace(world: World) -> None:
    world.add(7)
    true = world.trees[7]
    world.trees[7] = "f" * 40
    before = world.visible()
    with pytest.raises(TreeMismatch) as refused:
        synced(world, 7)
    assert true in refused.value.message
    assert "f" * 40 in refused.value.message
    assert world.visible() == before
    assert world.git("count-objects").text == "0 objects, 0 kilobytes"


def test_a_local_tag_with_another_tree_is_refused_and_kept(world: World) -> None:
    world.add(7)
    world.add(8)
    commit = synced(world, 8)[8]
    world.git.update_ref("refs/tags/b7", commit, None)
    with pytest.raises(TreeMismatch) as refused:
        synced(world, 7)
    assert world.trees[7] in refused.value.message
    assert world.trees[8] in refused.value.message
    assert world.git.commit_of("refs/tags/b7") == commit


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[:-20], lambda raw: raw[:100] + b"\0" + raw[101:], lambda raw: b""]
)
def test_a_damaged_archive_with_no_index_at_hand_is_an_error_and_removed(
    world: World, monkeypatch: pytest.MonkeyPatch, damage: Callable[[bytes], bytes]
) -> None:
    world.add(7)
    source = world.source
    path = world.archives[7]
    path.write_bytes(damage(path.read_bytes()))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_CERT", "x")
    monkeypatch.setattr("ci.index.TRIES", 1)
    with pytest.raises((IndexUnreachable, DigestMismatch)):
        source.sync([BuildTag(7)])
    assert not path.exists()
    assert world.visible() == ("", [])


def test_an_archive_cut_short_but_pinned_so_leaves_no_trace(world: World) -> None:
    world.add(7)
    path = world.archives[7]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(SourceArchiveProblem, match=path.name):
        synced(world, 7)
    assert world.visible() == ("", [])


def shim(folder: Path, script: str) -> None:
    """A `git` that stands before the real one on PATH."""
    real = run(["sh", "-c", "command -v git"]).text
    folder.mkdir()
    program = folder / "git"
    program.write_text(f'#!/bin/sh\nREAL={real}\n{script}\nexec $REAL "$@"\n', encoding="utf-8")
    program.chmod(0o755)


@pytest.mark.parametrize("words", ["write error. Out of diskspace", "cannot write: No space left on device"])
def test_a_full_disk_while_unpacking_is_said_and_leaves_no_trace(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    world.add(7)
    source = world.source
    shim(tmp_path / "bin", f'case "$*" in *fast-import*) echo "fatal: {words}" >&2; exit 128;; esac')
    with monkeypatch.context() as full:
        full.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        with pytest.raises(DiskFull) as refused:
            source.sync([BuildTag(7)])
    assert "SPEEDFORK_HOME" in refused.value.hint
    assert world.visible() == ("", [])
    assert [build.found for build in source.sync([BuildTag(7)]).builds] == [Found.ADDED]


def test_too_little_room_is_said_before_unpacking(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.add(7)
    source = world.source
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10})())
    with pytest.raises(DiskFull, match="history of b7"):
        source.sync([BuildTag(7)])


KILL = """
import os, signal, sys
from pathlib import Path
import ci.upstream.fastimport as fastimport
import ci.upstream.quarantine as quarantine
from ci.git import Git
from ci.upstream.snapshot import SnapshotLock, SnapshotSource
from ci.upstream.tags import BuildTag

root, point, pins = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def dying_after(function, calls):
    left = [calls]
    def wrapper(*args, **kwargs):
        answer = function(*args, **kwargs)
        left[0] -= 1
        if left[0] == 0:
            die()
        return answer
    return wrapper

fastimport.BATCH_BYTES = 200
if point == "in the middle of the content":
    fastimport._store = dying_after(fastimport._store, 2)
elif point == "before the objects move":
    quarantine.Quarantine.admit = die
elif point == "while the objects move":
    Path.replace = dying_after(Path.replace, 1)
elif point == "before the tag":
    Git.update_ref = die
elif point == "after the tag":
    Git.update_ref = dying_after(Git.update_ref, 1)

lock = SnapshotLock.model_validate_json(pins)
SnapshotSource(git=Git(path=root / "history.git"), downloads=root / "downloads", lock=lock).sync(
    [BuildTag(7), BuildTag(8)]
)
"""


@pytest.mark.parametrize(
    ("point", "tags"),
    [
        ("in the middle of the content", ()),
        ("before the objects move", ()),
        ("while the objects move", ()),
        ("before the tag", ()),
        ("after the tag", ("b7",)),
    ],
)
def test_killed_at_any_point_the_next_run_ends_the_same(
    world: World, tmp_path: Path, point: str, tags: tuple[str, ...]
) -> None:
    whole = World(tmp_path / "whole")
    for build in (7, 8):
        world.add(build)
        whole.add(build)
    expected = synced(whole, 7, 8)
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    argv = [sys.executable, "-c", KILL, str(world.root), point, world.lock.model_dump_json()]
    killed = run(argv, env=env, ok_codes=(-signal.SIGKILL, 128 + signal.SIGKILL))
    assert killed.code != 0
    assert world.git.tags() == tags
    world.git("fsck", "--strict")
    assert synced(world, 7, 8) == expected
    assert world.visible()[1] == []
    world.git("fsck", "--strict")


def test_archives_with_many_files_come_back_exactly(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastimport_module, "BATCH_BYTES", 3000)
    files = {b"d%d/%d" % (i % 9, i): hashlib.shake_128(b"%d" % i).digest(i * 8) for i in range(120)}
    world.add(7, *(Member(name=name, data=data) for name, data in files.items()))
    synced(world, 7)
    tar = world.git("archive", "--format=tar", "b7").stdout
    (world.root / "out.tar").write_bytes(tar)
    with tarfile.open(world.root / "out.tar") as back:
        streams = {member.name.encode(): back.extractfile(member) for member in back if member.isfile()}
        found = {name: stream.read() for name, stream in streams.items() if stream}
    assert found == files


def test_a_pin_written_out_is_read_back_the_same(world: World, tmp_path: Path) -> None:
    world.add(7)
    world.add(8)
    path = tmp_path / "upstream.toml"
    body = "\n".join(to_toml(pinned) for pinned in world.lock.snapshot)
    path.write_text(f'project = "{PROJECT}"\n\n{body}', encoding="utf-8")
    assert load_lock(path) == world.lock


def test_a_quarantine_leaves_the_history_alone_when_the_block_fails(world: World) -> None:
    world.add(7)

    def fail_late() -> None:
        with quarantine(world.git) as side:
            import_archive(side, world.archives[7], BuildTag(7))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_late()
    assert world.visible() == ("", [])


def test_a_build_with_a_missing_object_is_never_admitted(world: World) -> None:
    world.add(7)
    with quarantine(world.git) as side:
        made = import_archive(side, world.archives[7], BuildTag(7))
        biggest = max((side.git.path / "objects" / "pack").glob("*.idx"), key=lambda file: file.stat().st_size)
        biggest.unlink()
        with pytest.raises(CommandFailed):
            side.admit(made.commit)


def test_the_state_says_what_is_known_and_what_is_here(world: World) -> None:
    for build in (7, 8, 9):
        world.add(build)
    synced(world, 7)
    found = compare(BuildTag(7), known=world.source.known(), local=local_builds(world.git))
    assert found.known == tuple(BuildTag(n) for n in (7, 8, 9))
    assert found.local == local_builds(world.git) == (BuildTag(7),)
    assert (found.newest, found.behind_builds, found.behind_numbers) == (BuildTag(9), 2, 2)


def test_the_committed_lock_is_in_order_and_names_files_by_build() -> None:
    lock = load_lock(LOCK_FILE)
    builds = [pinned.build for pinned in lock.snapshot]
    assert builds == sorted(set(builds))
    assert {11292, 11334, 11349, 11368, 11378, 11382, 11393, 11401, 11434} <= set(builds)
    assert all(f"-{pinned.build}." in pinned.file for pinned in lock.snapshot)
    for values in zip(*((p.sha256, p.tree, p.file) for p in lock.snapshot), strict=True):
        assert len(set(values)) == len(builds)


def test_a_build_pinned_twice_is_refused(world: World, tmp_path: Path) -> None:
    world.add(7)
    entry = to_toml(world.lock.snapshot[0])
    path = tmp_path / "upstream.toml"
    path.write_text(f'project = "{PROJECT}"\n{entry}{entry}', encoding="utf-8")
    with pytest.raises(ConfigProblem, match="build 7 is pinned twice"):
        load_lock(path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("file", "../x.tar.gz"),
        ("file", "-x.tar.gz"),
        ("file", "x.zip"),
        ("sha256", "00"),
        ("tree", "F" * 40),
        ("build", 0),
    ],
)
def test_a_pin_with_an_impossible_value_is_refused(world: World, field: str, value: object) -> None:
    world.add(7)
    data = world.lock.snapshot[0].model_dump() | {field: value}
    with pytest.raises(ValueError, match=field):
        Snapshot.model_validate(data)
