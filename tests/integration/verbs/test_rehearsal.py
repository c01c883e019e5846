"""The rehearsal of `docs/rehearsal.md` on the real builds, by somebody who types only what is printed."""

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ci.git import Git
from ci.home import Home
from ci.process import run, scrubbed_env
from tests.helpers.rehearsal import AIM, BASE, BRANCH, COMMITS, SETTLED, Commit, make_fork
from tests.helpers.synthetic import borrowed

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "rehearsal.md"
FETCHED = (BASE, "b11401", AIM)
SHELL = f"""
invoke() {{ {sys.executable} -m invoke "$@"; }}
edit() {{ PYTHONPATH={ROOT} {sys.executable} -m tests.helpers.rehearsal edit "$1"; }}
set -e
"""
IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Newcomer"), ("EMAIL", "newcomer@example.org"))
}

pytestmark = [pytest.mark.native, pytest.mark.timeout(900)]


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    text: str

    @property
    def steps(self) -> tuple[str, ...]:
        """What stands behind the last `next:`: the command, or the indented lines of a block."""
        told = self.text.rpartition("next:")[2].strip("\n").split("\n")
        block = tuple(line for line in told[1:] if line.startswith("  "))
        return block or (told[0].strip(),)


@dataclass(frozen=True, kw_only=True)
class Newcomer:
    """A person at a shell in a checkout of the fork."""

    checkout: Path
    state: Path
    typed: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)

    def type(self, *lines: str) -> Said:
        """Type lines into one shell, up to the first that fails."""
        env = scrubbed_env(extra={"SPEEDFORK_HOME": str(self.state), "PYTHONPATH": str(ROOT), **IDENTITY})
        script = "\n".join((SHELL, *lines))
        done = run(("bash", "-c", f"{{ {script}\n}} 2>&1"), cwd=self.checkout, env=env, ok_codes=range(256))
        said = Said(code=done.code, text=done.stdout.decode())
        self.typed.extend(line.partition("  # ")[0].strip() for line in lines)
        self.read.extend(said.text.splitlines())
        return said

    def commit(self) -> None:
        """Commit the queue."""
        assert self.type("git add -A patches", "git commit -qm 'the series'").code == 0


@pytest.fixture
def newcomer(real_home: Home, tmp_path: Path) -> Newcomer:
    """Has a checkout, and of the real history the builds that the story begins with."""
    history = borrowed(Git(path=real_home.history), tmp_path / "state" / "history.git")
    for tag in history.tags():
        if tag not in FETCHED:
            history("tag", "--delete", tag)
    real_home.downloads.mkdir(exist_ok=True)
    (tmp_path / "state" / "downloads").symlink_to(real_home.downloads)
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT / "patches", checkout / "patches")
    for name in ("tasks.py", ".gitattributes"):
        shutil.copy(ROOT / name, checkout / name)
    person = Newcomer(checkout=checkout, state=tmp_path / "state")
    assert person.type("git init -q", "git add -A", "git commit -qm start").code == 0
    done = person.type(f"invoke sync-upstream {' '.join(f'--build {build}' for build in FETCHED)}")
    assert done.code == 0, done
    return person


def fill_in(patches: Path, commits: Sequence[Commit]) -> None:
    """Write the values that are asked for, as a maintainer does."""
    names = (patches / "series").read_text().split()
    for name, commit in zip(names, commits, strict=True):
        text = (patches / name).read_text()
        for key, value in commit.trailers:
            text = text.replace(f"\n{key}: TODO\n", f"\n{key}: {value}\n")
        (patches / name).write_text(text)


def way(steps: Sequence[str], option: str) -> tuple[str, ...]:
    """The block up to where several commands are offered, and of those the one with an option."""
    offered = [step for step in steps if "invoke rebase-upstream --" in step]
    return (*(step for step in steps if step not in offered), *(step for step in offered if option in step))


def acknowledge(checkout: Path, said: Said) -> str:
    """Put the printed trailer where the words say; the command that they name."""
    command: str
    (command,) = re.findall(r"then (invoke rebase-upstream .*)", said.text)
    ((name, trailer),) = re.findall(r"^  (patches/\S+\.patch): (Drift-Ack: .+)$", said.text, re.MULTILINE)
    path = checkout / name
    path.write_text(path.read_text().replace("\n\ndiff --git", f"\n{trailer}\n\ndiff --git", 1))
    return command


def check_document(newcomer: Newcomer, places: Mapping[Path, str]) -> None:
    """Every command of the document was typed, and every whole line of its output was read."""

    def as_written(lines: Sequence[str]) -> set[str]:
        text = "\n".join(lines)
        for path, name in places.items():
            text = text.replace(str(path), name)
        return set(text.split("\n"))

    typed, read = as_written(newcomer.typed), as_written(newcomer.read)
    blocks = re.findall(r"^```console\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if "..." not in line and line[0] not in "┃│"]
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ invoke ")]
    assert (len(commands) > 10, [command for command in commands if command not in typed]) == (True, [])
    assert [line for line in lines if line[0] != "$" and line not in read | {"3", "../fork/history.git"}] == []


def test_a_newcomer_who_types_what_is_printed_moves_the_series(newcomer: Newcomer, tmp_path: Path) -> None:
    patches = newcomer.checkout / "patches"
    fork = make_fork(Git(path=newcomer.state / "history.git"), tmp_path / "fork")

    # the fork's commits become the series
    said = newcomer.type(f"invoke import-series --from {fork.path} --range {BASE}..{BRANCH}")
    assert (said.code, "holds a series already" in said.text) == (2, True), said
    said = newcomer.type(*said.steps)
    assert (said.code, "write the 24 TODO value(s)" in said.text) == (0, True), said
    lacking = newcomer.type(*said.steps)
    assert (lacking.code, lacking.text.count("TODO: write")) == (2, 6), lacking
    fill_in(patches, COMMITS)
    assert newcomer.type(*said.steps).code == 0
    assert newcomer.type("invoke export-series --check").code == 0
    newcomer.commit()

    # how it would go, and the first stop
    said = newcomer.type(f"invoke rebase-upstream --onto {AIM} --matrix")
    assert said.code == 3, said
    assert "say-that-the-draw-is-not-used: absorbed in b" in said.text
    before = {path: path.read_bytes() for path in patches.rglob("*.*")}
    said = newcomer.type(f"invoke rebase-upstream --onto {AIM} --dry-run")
    assert (said.code, "conflicts with b11434\nsince b11401 (b11393 still took it" in said.text) == (3, True), said
    said = newcomer.type(*said.steps)
    assert said.code == 3, said

    # whoever goes on too early is told what is left to do
    early = newcomer.type(way(said.steps, "--continue")[-1])
    assert (early.code, "still holds conflict markers" in early.text) == (3, True), early
    assert "in progress" in newcomer.type(f"invoke rebase-upstream --onto {AIM}").text
    assert before == {path: path.read_bytes() for path in patches.rglob("*.*")}

    # the conflict is settled; what changed silently is shown
    said = newcomer.type(*way(said.steps, "--continue"))
    assert said.code == 0, said
    for words in (
        "common/sampling.cpp: offset +4",
        "absorbed: in b11368",
        "ggml/src/ggml-cpu/ggml-cpu.c: settled by resolutions/",
        "drift under draft-once-before-the-first-request: struct common_speculative_draft_params",
        "+    float temp = 1.0f;",
    ):
        assert words in said.text, words
    difference = newcomer.type(*said.steps)
    assert (difference.code, len(difference.text.splitlines()) < 200) == (0, True), difference.text[:9000]
    assert b"\nRetired: all of it is in b11368 (b11349 did not have it" in (
        (patches / "retired" / "say-that-the-draw-is-not-used.patch").read_bytes()
    )
    newcomer.commit()

    # somebody looks at the drift and says so
    assert "drift to be looked at: draft-once" in newcomer.type("invoke series").text
    command = acknowledge(newcomer.checkout, said)
    assert "looked at: draft-once" in newcomer.type("invoke series").text
    said = newcomer.type(command)
    assert (said.code, "no longer in patches/drift.toml: draft-once" in said.text) == (0, True), said
    assert not (patches / "drift.toml").exists()
    assert newcomer.type("invoke export-series --check").code == 0
    newcomer.commit()

    # it goes out, and git makes the same of the patch files
    published = Git.open_bare(tmp_path / "published.git")
    said = newcomer.type(f"invoke publish-series --remote {published.path} --dry-run")
    said = newcomer.type(*said.steps)
    assert (said.code, "published b11434-speed.1" in said.text) == (0, True), said
    tip = published.resolve("refs/heads/speed") or ""
    content = published("cat-file", "blob", f"{tip}:ggml/src/ggml-cpu/ggml-cpu.c").stdout
    assert content.count(SETTLED) == 1
    places = {newcomer.state: ".speedfork", fork.path: "../fork/history.git", published.path: "../published.git"}
    check_document(newcomer, {**places, newcomer.checkout / "out": "out", patches: "patches"})
