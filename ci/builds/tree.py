"""Read a git tree byte for byte, without a checkout.

`git archive` and a checkout obey the tree's own `.gitattributes` (line ends, `export-ignore`, `export-subst`);
what is built and what the source archive holds must be the objects themselves, so blobs are read as they are.
"""

from pathlib import Path

from ci.errors import SourceTreeProblem
from ci.files import no_space_as_error
from ci.git import Git, refuse_dash
from ci.gittree import EXECUTABLE, SUBMODULE, SYMLINK, TreeFile


def list_tree(git: Git, tree: str) -> tuple[TreeFile, ...]:
    """All files of a tree in git's order; submodules are left out, as they have no content here.

    Raises:
        SourceTreeProblem: no such tree, or a name that would leave the folder it is written to.
    """
    found = git.tree_of(refuse_dash(tree, what="tree"))
    if found is None:
        raise SourceTreeProblem(f"{git.path}: no tree {tree}", hint="invoke sync-upstream")
    return tuple(check_name(file) for file in git.files_of(found) if file.mode != SUBMODULE)


def check_name(file: TreeFile) -> TreeFile:
    """The file, when its path may be written to disk.

    Raises:
        SourceTreeProblem: it would leave its folder, or enter a repository's own data.
    """
    if any(part.lower() in ("", ".", "..", ".git") for part in file.name.split("/")):
        raise SourceTreeProblem(f"tree holds the unsafe path {file.name!r}")
    return file


def write_tree(git: Git, tree: str, into: Path) -> int:
    """Write a tree's files below an empty folder; returns how many.

    Raises:
        SourceTreeProblem: as `list_tree`, or an object is missing from the repository.
        DiskFull: no room.
    """
    files = list_tree(git, tree)
    with no_space_as_error(str(into)):
        for folder in sorted({into, *((into / file.name).parent for file in files)}):
            folder.mkdir(parents=True, exist_ok=True)
        for file, content in git.blobs_of(files):
            _write(into / file.name, file.mode, content)
    return len(files)


def _write(path: Path, mode: str, content: bytes) -> None:
    if mode == SYMLINK:
        path.symlink_to(content.decode("utf-8", "surrogateescape"))
        return
    path.write_bytes(content)
    path.chmod(0o755 if mode == EXECUTABLE else 0o644)
