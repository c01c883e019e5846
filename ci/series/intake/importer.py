"""A fork's commits as a patch queue: one line of commits, messages with all trailers, files, and the proof.

The proof is git's: `git am` puts the files back onto the base. Every commit must come out with the author, date,
words and tree that it went in with, and the last tree must be the fork's own. What a mail cannot carry is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.errors import RangeProblem
from ci.git import SIGNATURE, Git
from ci.series.engine.scratch import scratch_repository
from ci.series.export import FORMAT
from ci.series.intake.linear import Dropped, Line, Progress, linearised
from ci.series.intake.mails import Refused, apply_mails
from ci.series.intake.rawcommit import RawCommit, parse_commit
from ci.series.intake.wording import Worded, as_carried, in_print, one_line, worded

AMEND = "amend it in a clone of the fork (git rebase -i), then import that branch"


@dataclass(frozen=True, kw_only=True)
class NewPatch:
    """A commit of the fork as a patch file.

    `todo` lists the trailers that a person has to write; `notes` says what the file holds differently.
    """

    name: str
    commit: str
    subject: str
    author: str
    raw: bytes
    todo: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class NewQueue:
    """What a range of commits became: `tree` is what the patches give on the base, `wanted` the fork's own."""

    patches: tuple[NewPatch, ...]
    dropped: tuple[Dropped, ...]
    tree: str
    wanted: str


@dataclass(frozen=True, kw_only=True)
class _Source:
    """A commit on its way: its id in the fork, as it was there, its new message, and the commit that holds both."""

    commit: str
    raw: RawCommit
    words: Worded
    remade: str
    tree: str


def import_range(git: Git, base: str, tip: str, *, work: Path, progress: Progress) -> NewQueue:
    """Turn the commits between two into patch files.

    Args:
        git: a repository that has both with all their history; nothing is written to it.
        base: id of the commit that the patches will stand on.
        tip: id of the fork's last commit.
        work: directory for the scratch repository (room for one checkout).
        progress: hears of each step.

    Raises:
        RangeProblem: the commits cannot become a series; says which and why.
        Busy: another rebase, export or import works in `work`.
    """
    with scratch_repository(git, work) as repo:
        line = linearised(repo, base, tip, progress)
        sources = _reworded(repo, base, line)
        files, made = _proven(repo, base, sources, progress)
        wanted, tree = repo.tree_of(tip) or "", repo.tree_of(made[-1]) or ""
        if tree != wanted:
            raise RangeProblem(f"the patches give tree {tree} on the base, the fork's tree is {wanted}")
    patches = tuple(_patch(source, raw) for source, raw in zip(sources, files, strict=True))
    return NewQueue(patches=patches, dropped=line.dropped, tree=tree, wanted=wanted)


def _reworded(repo: Git, base: str, line: Line) -> tuple[_Source, ...]:
    """The line as commits of ours: authors byte for byte, messages with all trailers."""
    sources: list[_Source] = []
    parent = base
    for step in line.steps:
        raw = parse_commit(repo("cat-file", "commit", step.commit).stdout)
        words = worded(raw, taken={source.words.name for source in sources})
        made = RawCommit(
            tree=step.tree, parents=(parent,), author=raw.author, encoding=raw.encoding, message=words.message
        )
        data = made.render(committer=SIGNATURE)
        parent = repo("hash-object", "-t", "commit", "-w", "--stdin", stdin=data).text
        sources.append(_Source(commit=step.commit, raw=raw, words=words, remade=parent, tree=step.tree))
    return tuple(sources)


def _proven(
    repo: Git, base: str, sources: Sequence[_Source], progress: Progress
) -> tuple[tuple[bytes, ...], tuple[str, ...]]:
    """Files that `git am` turns into the very commits they are exported from, and those commits."""
    files = _exported(repo, [source.remade for source in sources], progress)
    progress(len(files), len(files), "git am of every file")
    made = _applied(repo, base, sources, files)
    faults = [fault for source, commit in zip(sources, made, strict=True) for fault in _losses(repo, source, commit)]
    if faults:
        listed = "".join(f"\n    {fault}" for fault in faults)
        raise RangeProblem(
            f"{len(faults)} commit(s) hold what a patch file cannot carry{listed}",
            hint=AMEND,
        )
    again = _exported(repo, made, progress)
    return again, made if again == files else _applied(repo, base, sources, again)


def _exported(repo: Git, commits: Sequence[str], progress: Progress) -> tuple[bytes, ...]:
    files = []
    for done, commit in enumerate(commits):
        progress(done, len(commits), f"writing {commit[:12]}")
        files.append(repo(*FORMAT, "--stdout", "-1", commit).stdout)
    return tuple(files)


def _applied(repo: Git, base: str, sources: Sequence[_Source], files: Sequence[bytes]) -> tuple[str, ...]:
    made = apply_mails(repo, base, files)
    if isinstance(made, Refused):
        source = sources[made.index]
        raise RangeProblem(f"commit {_named(source)}: git am does not take its patch back: {made.said}", hint=AMEND)
    return made


def _losses(repo: Git, source: _Source, commit: str) -> list[str]:
    """What a commit lost on its way through a file."""
    back = parse_commit(repo("cat-file", "commit", commit).stdout)
    sent = RawCommit(
        tree=source.tree,
        parents=(),
        author=source.raw.author,
        encoding=source.raw.encoding,
        message=source.words.message,
    )
    faults = []
    if back.author_text != sent.author_text:
        faults.append(f"author and date {sent.author_text!r} would become {back.author_text!r}")
    if back.tree != source.tree:
        faults.append(f"its tree would become {back.tree} instead of {source.tree}")
    if as_carried(back.message_text) != as_carried(sent.message_text):
        faults.append(f"its message would change: {_first_difference(sent, back)}")
    return [f"{_named(source)}: {fault}" for fault in faults]


def _first_difference(sent: RawCommit, back: RawCommit) -> str:
    ours, theirs = (as_carried(commit.message_text).split("\n") for commit in (sent, back))
    at = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    was, becomes = (lines[at] if at < len(lines) else "(end)" for lines in (ours, theirs))
    return f"line {at + 1}: {was!r} becomes {becomes!r}"


def _named(source: _Source) -> str:
    return f"{source.commit} ({in_print(one_line(source.raw.message_text))})"


def _patch(source: _Source, raw: bytes) -> NewPatch:
    return NewPatch(
        name=source.words.name,
        commit=source.commit,
        subject=in_print(one_line(source.raw.message_text)),
        author=in_print(source.raw.author_text.rpartition(">")[0] + ">"),
        raw=raw,
        todo=source.words.todo,
        notes=source.words.notes,
    )
