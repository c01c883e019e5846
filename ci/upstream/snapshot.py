"""Upstream builds from pinned source archives of a package index.

An archive is one build's tree inside a wrapper of its own licence: only the tree is read, no build hook runs. Each
becomes a commit without parent in the history, so the order of arrival does not show in any id.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ci.config import CONFIG_DIR, Field, Model, ObjectId, Sha256, load_toml
from ci.errors import ConfigProblem
from ci.files import require_free_space
from ci.git import Git
from ci.index import download
from ci.upstream.archive import read_folder
from ci.upstream.fastimport import Imported, import_tree
from ci.upstream.quarantine import Quarantine, quarantine
from ci.upstream.source import Found, Progress, SyncedBuild, SyncReport, check_tree, no_progress, require_known
from ci.upstream.tags import BuildTag

LOCK_FILE = CONFIG_DIR / "upstream.toml"
SUFFIX = ".tar.gz"
FOLDER = "llama.cpp"
ROOM_PER_ARCHIVE_BYTE = 3
"""Free space wanted before an import, by size of the archive: the first one takes a little over one."""
_REF = "refs/heads/incoming"

ArchiveName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\.tar\.gz$")]
Fetch = Callable[[str, str, str, Path, Callable[[int, int | None], None]], Path]
"""`ci.index.download`, or a stand-in: project, file name, sha256, folder, progress."""


class Snapshot(Model):
    """One pinned archive: build number, file name and digest on the index, size in bytes, id of the tree inside."""

    build: int = Field(gt=0)
    file: ArchiveName
    sha256: Sha256
    size: int = Field(gt=0)
    tree: ObjectId

    @property
    def tag(self) -> BuildTag:
        """The build."""
        return BuildTag(self.build)


class SnapshotLock(Model):
    """`ci/config/upstream.toml`: the project on the index, and its pinned archives."""

    project: str = Field(min_length=1)
    snapshot: tuple[Snapshot, ...] = Field(min_length=1)

    def by_tag(self) -> dict[BuildTag, Snapshot]:
        """The archives by build, ascending."""
        return {pinned.tag: pinned for pinned in sorted(self.snapshot, key=lambda pinned: pinned.build)}

    def trees(self) -> dict[BuildTag, str]:
        """The pinned tree ids by build."""
        return {tag: pinned.tree for tag, pinned in self.by_tag().items()}


def load_lock(path: Path = LOCK_FILE) -> SnapshotLock:
    """Read the pins.

    Raises:
        ConfigProblem: malformed, or the same build or file twice.
    """
    lock = load_toml(SnapshotLock, path)
    for what, values in (("build", [s.build for s in lock.snapshot]), ("file", [s.file for s in lock.snapshot])):
        twice = [value for value, times in Counter(values).items() if times > 1]
        if twice:
            raise ConfigProblem(f"{path}: {what} {twice[0]} is pinned twice", hint=f"edit {path}")
    return lock


@dataclass(frozen=True, kw_only=True)
class SnapshotSource:
    """The pinned archives as a source of builds; archives are kept in `downloads`."""

    git: Git
    downloads: Path
    lock: SnapshotLock
    fetch: Fetch = download

    @property
    def name(self) -> str:
        """What to call it."""
        return f"the pinned archives of {self.lock.project}"

    def known(self) -> tuple[BuildTag, ...]:
        """The pinned builds, ascending."""
        return tuple(self.lock.by_tag())

    def sync(self, tags: Sequence[BuildTag], progress: Progress = no_progress) -> SyncReport:
        """See `ci.upstream.source.Source.sync`.

        Raises:
            UnknownBuild: a build without pin; nothing is fetched.
            IndexUnreachable: an archive is needed and the index does not give it.
            DigestMismatch: the index gives other bytes than the pinned ones.
            SourceArchiveProblem: the archive is damaged or unsafe.
            TreeMismatch: the tree inside is not the pinned one, or a local tag holds another.
            DiskFull: no room; complete tags stay.
        """
        pinned = self.lock.by_tag()
        require_known(
            tags,
            tuple(pinned),
            source=self.name,
            lacks="do not have",
            command="invoke pin-upstream --build {build}",
        )
        builds = tuple(self._sync_one(pinned[tag], progress) for tag in sorted(set(tags)))
        return SyncReport(source=self.name, builds=builds)

    def _sync_one(self, pinned: Snapshot, progress: Progress) -> SyncedBuild:
        started = time.monotonic()
        commit, tree = (ask(pinned.tag.ref) for ask in (self.git.commit_of, self.git.tree_of))
        found = Found.PRESENT
        if commit is None or tree is None:
            made = self._add(pinned, progress)
            commit, tree, found = made.commit, made.tree, Found.ADDED
        else:
            check_tree(pinned.tag, pinned.tree, {f"the local tag in {self.git.path}": tree})
        seconds = time.monotonic() - started
        return SyncedBuild(tag=pinned.tag, found=found, tree=tree, commit=commit, seconds=seconds)

    def _add(self, pinned: Snapshot, progress: Progress) -> Imported:
        def on_bytes(done: int, total: int | None) -> None:
            progress(done, total or pinned.size, f"{pinned.tag}: downloading")

        archive = self.fetch(self.lock.project, pinned.file, pinned.sha256, self.downloads, on_bytes)
        progress(0, None, f"{pinned.tag}: unpacking")
        require_free_space(self.git.path, ROOM_PER_ARCHIVE_BYTE * pinned.size, what=f"the history of {pinned.tag}")
        with quarantine(self.git) as side:
            made = import_archive(side, archive, pinned.tag)
            check_tree(pinned.tag, made.tree, {f"the pin for {pinned.file}": pinned.tree})
            side.admit(made.commit)
        # the tag is the one write that others see; it comes last
        self.git.update_ref(pinned.tag.ref, made.commit, None)
        return made


def import_archive(side: Quarantine, archive: Path, tag: BuildTag) -> Imported:
    """Commit an archive's tree into a quarantine."""
    folder = f"{archive.name.removesuffix(SUFFIX)}/{FOLDER}"
    return import_tree(side.git, _REF, read_folder(archive, folder), number=tag.number, message=f"llama.cpp {tag}\n")
