"""Pin another source archive: find it on the index, look inside, and put its entry into the lock."""

import re
from collections.abc import Iterable
from pathlib import Path

from ci.errors import ConfigProblem, UnknownBuild
from ci.files import no_space_as_error, require_free_space, sha256_file, staged_file
from ci.git import Git
from ci.index import IndexFile, download, list_files
from ci.upstream.quarantine import quarantine
from ci.upstream.snapshot import ROOM_PER_ARCHIVE_BYTE, Snapshot, SnapshotLock, import_archive, load_lock
from ci.upstream.source import Progress, check_tree, near
from ci.upstream.tags import BuildTag, is_build_tag

_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*snapshot[ \t]*\]\].*$", re.MULTILINE)
_COMMENTS_ABOVE = re.compile(r"(?:^#.*\n)*\Z", re.MULTILINE)


def offered(project: str, files: Iterable[IndexFile]) -> dict[BuildTag, IndexFile]:
    """The source archives among a project's files, by build; of several for one build the last version counts."""
    stem = re.escape(re.sub(r"[-_.]+", "_", project.lower()))
    shape = re.compile(rf"{stem}-([0-9]+)\.([0-9]+)\.([0-9]+)\.tar\.gz", re.ASCII)
    found = [
        (tuple(int(part) for part in match.groups()), file)
        for file in files
        if (match := shape.fullmatch(file.filename)) and is_build_tag(f"b{match[1]}")
    ]
    found.sort(key=lambda pair: pair[0])
    return {BuildTag(version[0]): file for version, file in found}


def archive_of(lock: SnapshotLock, tag: BuildTag) -> IndexFile:
    """The archive of a build on the index.

    Raises:
        UnknownBuild: the index has none; names what is near.
        IndexUnreachable: no answer.
    """
    archives = offered(lock.project, list_files(lock.project))
    if tag not in archives:
        raise UnknownBuild(
            f"the index has no source archive of {tag} in {lock.project}; {near(tag, sorted(archives))}",
            hint=f"name one of those, or invoke sync-upstream --remote URL --build {tag}",
        )
    return archives[tag]


def new_pin(git: Git, downloads: Path, lock: SnapshotLock, tag: BuildTag, progress: Progress) -> Snapshot:
    """Download the archive of a build and look inside: the entry it would have in the lock.

    Args:
        git: the history; only looked into and used as a place to unpack, no ref of it moves.
        downloads: where the archive stays.
        lock: the pins so far.
        tag: a build that is not among them.
        progress: hears of bytes and steps.

    Raises:
        UnknownBuild: the index has no archive of it.
        IndexUnreachable: no answer.
        DigestMismatch: the bytes are not those that the index announces.
        SourceArchiveProblem: the archive is damaged or unsafe.
        TreeMismatch: the history has that build, from elsewhere, with another tree.
        DiskFull: no room.
    """
    found = archive_of(lock, tag)

    def on_bytes(done: int, total: int | None) -> None:
        progress(done, total or found.size, f"{tag}: downloading")

    archive = download(lock.project, found.filename, found.sha256, downloads, on_bytes)
    progress(0, None, f"{tag}: unpacking")
    require_free_space(git.path, ROOM_PER_ARCHIVE_BYTE * archive.stat().st_size, what=f"the tree of {tag}")
    entry = entry_for(git, archive, tag)
    check_tree(tag, entry.tree, {f"the build in {git.path}": git.tree_of(tag.ref)})
    return entry


def entry_for(git: Git, archive: Path, tag: BuildTag) -> Snapshot:
    """The lock's entry for an archive: digest, size and tree as they are."""
    with quarantine(git) as side:
        tree = import_archive(side, archive, tag).tree
    size = archive.stat().st_size
    return Snapshot(build=tag.number, file=archive.name, sha256=sha256_file(archive), size=size, tree=tree)


def to_toml(pinned: Snapshot) -> str:
    """The entry as it stands in the lock."""
    lines = (
        "[[snapshot]]",
        f"build = {pinned.build}",
        f'file = "{pinned.file}"',
        f'sha256 = "{pinned.sha256}"',
        f"size = {pinned.size}",
        f'tree = "{pinned.tree}"',
    )
    return "\n".join(lines) + "\n"


def with_entry(text: str, lock: SnapshotLock, entry: Snapshot) -> str:
    """The lock's text with one entry more, before the first one of a later build; all else stays as it is.

    Args:
        text: the lock's file.
        lock: what it says.
        entry: a build that is not in it.

    Raises:
        ConfigProblem: the entries are not written as `[[snapshot]]` tables.
    """
    headers = [match.start() for match in _HEADER.finditer(text)]
    if len(headers) != len(lock.snapshot):
        raise ConfigProblem(
            f"the lock has {len(lock.snapshot)} entries and {len(headers)} [[snapshot]] headers",
            hint=f"add this by hand:\n{to_toml(entry)}",
        )
    later = [at for at, pinned in zip(headers, lock.snapshot, strict=True) if pinned.build > entry.build]
    if not later:
        return f"{text.rstrip()}\n\n{to_toml(entry)}"
    comments = _COMMENTS_ABOVE.search(text, 0, later[0])
    at = comments.start() if comments else later[0]
    return f"{text[:at]}{to_toml(entry)}\n{text[at:]}"


def write_pin(path: Path, lock: SnapshotLock, entry: Snapshot) -> None:
    """Put the entry into the lock's file; what was written is read back before the file gets its name.

    Raises:
        ConfigProblem: as `with_entry`, or the result does not say what it should; the file is as it was.
        DiskFull: the file is as it was.
    """
    text = with_entry(path.read_text(encoding="utf-8"), lock, entry)
    with no_space_as_error(str(path)), staged_file(path) as staging:
        staging.write_text(text, encoding="utf-8")
        if load_lock(staging).by_tag() != {**lock.by_tag(), entry.tag: entry}:
            raise ConfigProblem(
                f"{path}: the entry of {entry.tag} has no place in it", hint=f"add by hand:\n{to_toml(entry)}"
            )
        staging.chmod(0o644)
