"""What a source archive may have lost against the git tree it was made from, as counts and names.

An archive tool can drop executable bits, replace links by files or copies, and leave files out. With a git remote
at hand the two trees are compared exactly; without one only signs can be listed, and no sign is not proof.
"""

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ci.git import Git
from ci.gittree import EXECUTABLE, SUBMODULE, SYMLINK, TreeFile
from ci.outcome import JsonMap
from ci.upstream.tags import BuildTag

LINK_TEXT_BYTES = 200
"""A link stored as text is its target's path; longer files are not looked at."""
SHOWN = 10
NOT_COMPARED = "not compared with git: give --remote; the signs above prove nothing by their absence"
SHOWN_DIFFERENCES = 100


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One path that differs: modes and blob ids here and there, None where the path does not exist."""

    path: bytes
    here: tuple[str, str] | None
    there: tuple[str, str] | None

    def describe(self) -> str:
        """The path, and what git has instead."""
        return f"{_text(self.path)}: {self._what()}"

    def _what(self) -> str:
        if self.here is None:
            return "missing here"
        if self.there is None:
            return "not in git"
        mode = f"mode {self.here[0]}, in git {self.there[0]}" if self.here[0] != self.there[0] else ""
        content = "other content" if self.here[1] != self.there[1] else ""
        return "; ".join(words for words in (mode, content) if words)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A tree against git's own: `differences` is empty exactly when the ids are equal."""

    tree: str
    differences: tuple[Difference, ...]

    def verdict(self) -> str:
        """In a few words."""
        if not self.differences:
            return "equal to git's tree"
        many = len(self.differences)
        return f"{_count(many, 'path')} differ{'s' if many == 1 else ''} from git's tree {self.tree}"

    def lines(self) -> tuple[str, ...]:
        """The verdict, then one path a line."""
        listed = tuple(f"  {difference.describe()}" for difference in self.differences[:SHOWN_DIFFERENCES])
        left = len(self.differences) - SHOWN_DIFFERENCES
        return (self.verdict(), *listed, *([f"  and {left} more (--json lists all)"] if left > 0 else []))

    def to_json(self) -> JsonMap:
        """Plain JSON form, every path."""
        return {
            "tree": self.tree,
            "equal": not self.differences,
            "differences": [
                {"path": _text(d.path), "here": list(d.here or ()), "git": list(d.there or ())}
                for d in self.differences
            ],
        }


@dataclass(frozen=True, kw_only=True)
class Fidelity:
    """Signs of loss in one build's tree; paths ascending."""

    tag: BuildTag
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

    def summary(self) -> str:
        """The report in one line."""
        return (
            f"{self.tag}: {_count(self.files, 'file')}, {self.executables} executable, "
            f"{_count(self.symlinks, 'link')}; "
            f"{_count(len(self.scripts_not_executable), 'script')} without the executable bit; "
            f"{self.compared.verdict() if self.compared else 'not compared with git'}"
        )

    def lines(self) -> tuple[str, ...]:
        """The report for people, one fact a line; what was compared comes before mere signs."""
        return (
            *self._compared_lines(),
            f"{self.tag}: tree {self.tree}, {self.files} files",
            f"executable: {self.executables}; symbolic links: {self.symlinks}; submodules: {self.submodules}",
            f"begin with #! but are not executable: {_named(self.scripts_not_executable)}",
            f"look like a symbolic link that became a file: {_named(self.likely_lost_symlinks)}",
            f"have another's exact content, as a link that was followed would: {_named(self.copies)}",
            f".gitmodules: {'present' if self.gitmodules else 'none'}",
            f"export-ignore or export-subst in: {_named(self.export_attributes)}",
            *(() if self.compared else (NOT_COMPARED,)),
        )

    def _compared_lines(self) -> tuple[str, ...]:
        if self.compared is None:
            return ()
        verdict, *paths = self.compared.lines()
        return (f"{self.tag}: {verdict}", *paths)

    def to_json(self) -> JsonMap:
        """Plain JSON form."""
        return {
            "build": str(self.tag),
            "tree": self.tree,
            "files": self.files,
            "executable": self.executables,
            "links": self.symlinks,
            "submodules": self.submodules,
            "scripts_not_executable": [_text(path) for path in self.scripts_not_executable],
            "likely_lost_links": [_text(path) for path in self.likely_lost_symlinks],
            "copies": [_text(path) for path in self.copies],
            "gitmodules": self.gitmodules,
            "export_attributes": [_text(path) for path in self.export_attributes],
            "compared": self.compared.to_json() if self.compared else None,
        }


def fidelity(git: Git, tag: BuildTag, *, against: str | None = None) -> Fidelity:
    """Look for signs of loss in a build's tree.

    Args:
        git: the history.
        tag: the build.
        against: a revision of the same build from a git remote (`MirrorSource.fetch_aside`), to compare exactly.
    """
    items = git.files_of(tag.ref)
    plain = [item for item in items if item.mode not in (SYMLINK, SUBMODULE)]
    scripts = _lines_matching(git, tag.ref, "^#!", first_line=True)
    attributes = _lines_matching(git, tag.ref, "export-(ignore|subst)", paths=(":(glob)**/.gitattributes",))
    return Fidelity(
        tag=tag,
        tree=str(git.tree_of(tag.ref)),
        files=len(items),
        executables=sum(item.mode == EXECUTABLE for item in items),
        symlinks=sum(item.mode == SYMLINK for item in items),
        submodules=sum(item.mode == SUBMODULE for item in items),
        scripts_not_executable=tuple(i.path for i in plain if i.mode != EXECUTABLE and i.path in scripts),
        likely_lost_symlinks=tuple(_lost_links(git, plain, _places(items))),
        copies=tuple(_copies(plain)),
        gitmodules=any(posixpath.basename(item.path) == b".gitmodules" for item in items),
        export_attributes=tuple(sorted(attributes)),
        compared=compare_trees(git, tag.ref, against) if against else None,
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


def _places(items: Iterable[TreeFile]) -> set[bytes]:
    """All files and folders of a tree."""
    places = set()
    for item in items:
        path = item.path
        while path:
            places.add(path)
            path = posixpath.dirname(path)
    return places


def _lost_links(git: Git, plain: Iterable[TreeFile], places: set[bytes]) -> Iterator[bytes]:
    short = [item for item in plain if 0 < item.size <= LINK_TEXT_BYTES]
    for item, text in git.blobs_of(short):
        target = text.removesuffix(b"\n")
        lands = posixpath.normpath(posixpath.join(posixpath.dirname(item.path), target))
        if target and b"\n" not in target and lands != item.path and lands in places:
            yield item.path


def _copies(plain: Iterable[TreeFile]) -> Iterator[bytes]:
    """Files whose name and content another folder has, too: what an archive makes of a link when it follows it."""
    first: set[tuple[bytes, str]] = set()
    for item in plain:
        key = (posixpath.basename(item.path), item.object_id)
        if item.size and key in first:
            yield item.path
        first.add(key)


def _lines_matching(
    git: Git, revision: str, pattern: str, *, first_line: bool = False, paths: tuple[str, ...] = ()
) -> set[bytes]:
    """Files with a line that matches (`first_line`: their first line)."""
    found = git("grep", "-a", "-n", "-z", "-E", "-e", pattern, revision, "--", *paths, ok_codes=(0, 1)).stdout
    hits = (line.split(b"\0", 2) for line in found.split(b"\n") if line.count(b"\0") > 1)
    start = len(revision.encode()) + 1
    return {name[start:] for name, number, _ in hits if not first_line or number == b"1"}


def _named(paths: tuple[bytes, ...]) -> str:
    if not paths:
        return "none"
    names = ", ".join(_text(path) for path in paths[:SHOWN])
    more = f", and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    return f"{len(paths)} ({names}{more})"


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def _text(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
