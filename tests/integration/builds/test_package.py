"""Archives from real git trees and real programs, checked by the tools that users have."""

import tarfile
from pathlib import Path

import pytest

from ci.builds.native import build
from ci.builds.package import pack_build, pack_source, smoke, source_archive_name, write_sums
from ci.builds.tree import write_tree
from ci.console import Console
from ci.errors import ArchiveProblem, CommandFailed
from ci.git import Git
from ci.home import Home
from ci.process import run
from tests.helpers.made_build import made_build
from tests.helpers.tiny_project import FILES, commit_tree, request

# bytes and names that attributes, line ends or a careless tar writer would change or drop
ODD = {
    ".gitattributes": "* text eol=crlf\ndropped.txt export-ignore\nstamped.txt export-subst ident\n",
    "dropped.txt": "kept\n",
    "stamped.txt": "$Format:%H$ $Id$\n",
    "with space/ümlaut.txt": "crlf\r\n",
    "deep/" + "d" * 90 + "/" + "e" * 90 + "/" + "f" * 90 + ".txt": "long\n",
}


def odd_tree(folder: Path) -> tuple[Git, str]:
    """The tiny project with odd files, an executable and a link."""
    git, _ = commit_tree(folder, {**ODD, "run.sh": "#!/bin/sh\n"})
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("run.sh")
    git("-c", "core.autocrlf=false", "add", "--all", ".")
    return git, git("write-tree").text


def blob(git: Git, tree: str, path: str) -> bytes:
    return git("cat-file", "blob", f"{tree}:{path}").stdout


def test_a_written_tree_is_the_tree_whatever_its_attributes_say(tmp_path: Path) -> None:
    git, tree = odd_tree(tmp_path / "git")
    count = write_tree(git, tree, tmp_path / "src")
    names = git("ls-tree", "-r", "-z", "--name-only", tree).stdout.decode().split("\0")[:-1]
    assert count == len(names) == len(FILES) + len(ODD) + 2
    for name in set(names) - {"link"}:
        assert (tmp_path / "src" / name).read_bytes() == blob(git, tree, name)
    assert (tmp_path / "src" / "stamped.txt").read_text(encoding="utf-8") == "$Format:%H$ $Id$\n"
    assert (tmp_path / "src" / "link").readlink() == Path("run.sh")
    assert (tmp_path / "src" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "src" / "LICENSE").stat().st_mode & 0o777 == 0o644


def test_a_source_archive_is_the_tree_and_the_same_bytes_every_time(tmp_path: Path) -> None:
    git, tree = odd_tree(tmp_path / "git")
    archives = [pack_source(git, tree, "b7-speed.1", tmp_path / name) for name in ("one", "two")]
    assert archives[0].name == source_archive_name("b7-speed.1")
    assert archives[0].read_bytes() == archives[1].read_bytes()
    run(("tar", "-xzf", archives[0], "-C", tmp_path))
    top = tmp_path / "llama-b7-speed.1-source"
    again = Git(path=top)
    again("init", "--quiet")
    again("-c", "core.autocrlf=false", "add", "--all", "--force", ".")
    assert again("write-tree").text == git("write-tree").text == tree


def test_an_archive_runs_alone_and_names_its_label(tmp_path: Path) -> None:
    git, tree = commit_tree(tmp_path / "git")
    made = build(
        git,
        request(tree, variant="speed", label="b7-speed.1"),
        Home(root=tmp_path / "home", checkout=tmp_path),
        Console(),
    )
    archive = pack_build(made, tmp_path / "out")
    line = smoke(archive, tmp_path / "smoke", label="b7-speed.1")
    assert line == "version: 0.1 (build 7, commit b7-speed.1)"
    with pytest.raises(ArchiveProblem, match=r"names no b7-speed\.10.*commit b7-speed\.1"):
        smoke(archive, tmp_path / "other", label="b7-speed.10")
    with tarfile.open(archive) as members:
        assert members.getnames()[0] == "llama-b7-speed.1/LICENSE"


def test_an_archive_whose_program_does_not_run_fails_the_smoke_test(tmp_path: Path) -> None:
    files = {"llama-server": b"#!/bin/sh\necho broken >&2\nexit 3\n", "LICENSE": b"MIT\n"}
    archive = pack_build(made_build(tmp_path, files=files), tmp_path / "out")
    with pytest.raises(ArchiveProblem, match=r"does not run on its own(.|\n)*broken"):
        smoke(archive, tmp_path / "smoke", label="b7-speed.1")


def test_sums_are_what_sha256sum_reads(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(b"a")
    write_sums(tmp_path, ["a.tar.gz"])
    assert run(("sha256sum", "-c", "SHA256SUMS"), cwd=tmp_path).text == "a.tar.gz: OK"
    (tmp_path / "a.tar.gz").write_bytes(b"b")
    with pytest.raises(CommandFailed, match="did NOT match"):
        run(("sha256sum", "-c", "SHA256SUMS"), cwd=tmp_path)
