"""The converter out of a git tree: its own files, byte for byte, and no others."""

from pathlib import Path

import pytest

from ci.errors import SourceTreeProblem
from ci.git import Git
from ci.models.convert.source import SCRIPT, write_converter

FILES = {
    SCRIPT: b"print(1)\r\n",
    "conversion/base.py": b"",
    "gguf-py/gguf/constants.py": b"\xff",
    "src/llama.cpp": b"int x;",
    "gguf-py/tests/test.py": b"",
    ".gitattributes": b"* text eol=lf\nconversion export-ignore\n",
}


def tree_of(folder: Path, files: dict[str, bytes]) -> tuple[Git, str]:
    """A repository whose index became a tree."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    git = Git(path=folder)
    git("init", "--quiet")
    git("add", "--all")
    return git, git("write-tree").text


def test_the_converter_is_written_as_the_tree_has_it(tmp_path: Path) -> None:
    git, tree = tree_of(tmp_path / "repository", FILES)
    script = write_converter(git, tree, tmp_path / "out")
    found = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert found == {SCRIPT, "conversion/base.py", "gguf-py/gguf/constants.py"}
    assert script.read_bytes() == git("cat-file", "blob", f"{tree}:{SCRIPT}").stdout


def test_a_tree_without_converter_is_refused(tmp_path: Path) -> None:
    git, tree = tree_of(tmp_path / "repository", {"src/llama.cpp": b"int x;"})
    with pytest.raises(SourceTreeProblem, match=f"has no {SCRIPT}"):
        write_converter(git, tree, tmp_path / "out")


def test_a_link_among_its_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "repository" / "conversion").mkdir(parents=True)
    (tmp_path / "repository" / "conversion" / "base.py").symlink_to("/etc/hostname")
    git, tree = tree_of(tmp_path / "repository", {SCRIPT: b""})
    with pytest.raises(SourceTreeProblem, match="mode 120000: no plain file"):
        write_converter(git, tree, tmp_path / "out")
    assert not (tmp_path / "out").exists()
