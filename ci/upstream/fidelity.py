"""What a source archive may have lost against the git tree it was made from, as counts and names.

An archive tool can drop executable bits, replace links by files or copies, and leave files out. With a git remote
at hand the two trees are compared exactly; without one only signs can be listed, and no sign is not proof.
"""

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ci.git import Git
from ci.upstream.archive import EXECUTABLE, SYMLINK

GITLINK = "160000"
LINK_TEXT_BYTES = 200
"""A link stored as text is its target's path; longer files are not looked at."""
SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One path that differs: modes and blob ids here and there, None where the path does not exist."""

    path: bytes
    here: tuple[str, str] | None
    there: tuple[str, str] | None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A tree against git's own: `differences` is empty exactly when the ids are equal."""

    tree: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True, kw_only=True)
class Fidelity:
    """Signs of loss in one build's tree; paths ascending."""

    tag: str
    tree: str
    files: int
    executables: int
    symlinks: int
    submodules: int
    scripts_not_executable: tuple[bytes, ...]
    likely_lost_symlinks: tuple[bytes, ...]
    copies: tuple[bytes, ...]
    gitmodules: bool
    export_attributes: tuple[bytes, ...]
    compared: Comparison | None

    def lines(self) -> tuple[str, ...]:
        """The report for people, one fact a line."""
        return (
            f"{self.tag}: tree {self.tree}, {self.files} files",
            f"executable: {self.executables}; symbolic links: {self.symlinks}; submodules: {self.submodules}",
            f"begin with #! but are not executable: {_named(self.scripts_not_executable)}",
            f"look like a symbolic link that became a file: {_named(self.likely_lost_symlinks)}",
            f"have another's exact content, as a link that was followed would: {_named(self.copies)}",
            f".gitmodules: {'present' if self.gitmodules else 'none'}",
            f"export-ignore or export-subst in: {_named(self.export_attributes)}",
            self._verdict(),
        )

    def _verdict(self) -> str:
        if self.compared is None:
            return "not compared with git: no remote was given; the signs above prove nothing by their absence"
        if not self.compared.differences:
            return "compared with git: the same tree"
        paths = tuple(difference.path for difference in self.compared.differences)
        return f"compared with git: tree {self.compared.tree} there; paths that differ: {_named(paths)}"


@dataclass(frozen=True, kw_only=True)
class _Item:
    path: bytes
    mode: str
    blob: str
    size: int


def fidelity(git: Git, tag: str, *, against: str | None = None) -> Fidelity:
    """Look for signs of loss in a build's tree.

    Args:
        git: the history.
        tag: the build, or any revision.
        against: a revision of the same build from a git remote (`MirrorSource.fetch_aside`), to compare exactly.
    """
    items = tuple(_items(git, tag))
    plain = [item for item in items if item.mode not in (SYMLINK, GITLINK)]
    scripts = _lines_matching(git, tag, "^#!", first_line=True)
    attributes = _lines_matching(git, tag, "export-(ignore|subst)", paths=(":(glob)**/.gitattributes",))
    return Fidelity(
        tag=tag,
        tree=str(git.tree_of(tag)),
        files=len(items),
        executables=sum(item.mode == EXECUTABLE for item in items),
        symlinks=sum(item.mode == SYMLINK for item in items),
        submodules=sum(item.mode == GITLINK for item in items),
        scripts_not_executable=tuple(i.path for i in plain if i.mode != EXECUTABLE and i.path in scripts),
        likely_lost_symlinks=tuple(_lost_links(git, plain, _places(items))),
        copies=tuple(_copies(plain)),
        gitmodules=any(posixpath.basename(item.path) == b".gitmodules" for item in items),
        export_attributes=tuple(sorted(attributes)),
        compared=compare_trees(git, tag, against) if against else None,
    )


def compare_trees(git: Git, here: str, there: str) -> Comparison:
    """Every path in which two revisions differ, by mode or content."""
    raw = git(
        "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", f"{here}^{{tree}}", f"{there}^{{tree}}"
    )
    fields = raw.stdout.split(b"\0")[:-1]
    found = tuple(_difference(meta, path) for meta, path in zip(fields[::2], fields[1::2], strict=True))
    return Comparison(tree=str(git.tree_of(there)), differences=found)


def _difference(meta: bytes, path: bytes) -> Difference:
    mode_here, mode_there, blob_here, blob_there, status = meta.decode().removeprefix(":").split()
    here = None if status == "A" else (mode_here, blob_here)
    there = None if status == "D" else (mode_there, blob_there)
    return Difference(path=path, here=here, there=there)


def _items(git: Git, tag: str) -> Iterator[_Item]:
    listing = git("ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options", tag).stdout
    for line in listing.split(b"\0")[:-1]:
        meta, _, path = line.partition(b"\t")
        mode, _, blob, size = meta.decode().split()
        yield _Item(path=path, mode=mode, blob=blob, size=int(size) if size.isdigit() else 0)


def _places(items: Iterable[_Item]) -> set[bytes]:
    """All files and folders of a tree."""
    places = set()
    for item in items:
        path = item.path
        while path:
            places.add(path)
            path = posixpath.dirname(path)
    return places


def _lost_links(git: Git, plain: Iterable[_Item], places: set[bytes]) -> Iterator[bytes]:
    short = [item for item in plain if 0 < item.size <= LINK_TEXT_BYTES]
    for item, text in zip(short, _contents(git, short), strict=True):
        target = text.removesuffix(b"\n")
        lands = posixpath.normpath(posixpath.join(posixpath.dirname(item.path), target))
        if target and b"\n" not in target and lands != item.path and lands in places:
            yield item.path


def _copies(plain: Iterable[_Item]) -> Iterator[bytes]:
    """Files whose name and content another folder has, too: what an archive makes of a link when it follows it."""
    first: set[tuple[bytes, str]] = set()
    for item in plain:
        key = (posixpath.basename(item.path), item.blob)
        if item.size and key in first:
            yield item.path
        first.add(key)


def _contents(git: Git, items: Iterable[_Item]) -> Iterator[bytes]:
    asked = "".join(f"{item.blob}\n" for item in items).encode()
    rest = git("cat-file", "--batch=%(objectsize)", stdin=asked).stdout
    at = 0
    while at < len(rest):
        end = rest.index(b"\n", at)
        size = int(rest[at:end])
        yield rest[end + 1 : end + 1 + size]
        at = end + 1 + size + 1


def _lines_matching(
    git: Git, tag: str, pattern: str, *, first_line: bool = False, paths: tuple[str, ...] = ()
) -> set[bytes]:
    """Files with a line that matches (`first_line`: their first line)."""
    found = git("grep", "-a", "-n", "-z", "-E", "-e", pattern, tag, "--", *paths, ok_codes=(0, 1)).stdout
    hits = (line.split(b"\0", 2) for line in found.split(b"\n") if line.count(b"\0") > 1)
    start = len(tag.encode()) + 1
    return {name[start:] for name, number, _ in hits if not first_line or number == b"1"}


def _named(paths: tuple[bytes, ...]) -> str:
    if not paths:
        return "none"
    names = ", ".join(path.decode("utf-8", "backslashreplace") for path in paths[:SHOWN])
    more = f", and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    return f"{len(paths)} ({names}{more})"
