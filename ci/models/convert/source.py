"""Upstream's converter with its own gguf package, out of a git tree, byte for byte."""

from pathlib import Path

from ci.errors import SourceTreeProblem
from ci.files import no_space_as_error
from ci.git import Git
from ci.gittree import EXECUTABLE, FILE, TreeFile

SCRIPT = "convert_hf_to_gguf.py"
PARTS = (SCRIPT, "conversion/", "gguf-py/gguf/")


def write_converter(git: Git, tree: str, into: Path) -> Path:
    """Write the converter's files below an empty folder.

    Returns:
        The script to run.

    Raises:
        SourceTreeProblem: the tree has no such converter, or a name that would leave the folder.
        DiskFull: no room.
    """
    files = [file for file in git.files_of(tree) if file.name.startswith(PARTS)]
    if not any(file.name == SCRIPT for file in files):
        raise SourceTreeProblem(f"{git.path}: tree {tree} has no {SCRIPT}", hint="invoke rebase-upstream")
    with no_space_as_error(str(into)):
        for file, content in git.blobs_of([_plain(file) for file in files]):
            (into / file.name).parent.mkdir(parents=True, exist_ok=True)
            (into / file.name).write_bytes(content)
    return into / SCRIPT


def _plain(file: TreeFile) -> TreeFile:
    if file.mode not in (FILE, EXECUTABLE) or any(part in ("", ".", "..") for part in file.name.split("/")):
        raise SourceTreeProblem(f"the converter's tree holds {file.name!r}, mode {file.mode}: no plain file")
    return file
