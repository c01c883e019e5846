"""What must hold for every generated history, with plain git as the oracle. Each law raises AssertionError."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from os import fsdecode
from pathlib import Path
from typing import TypeAlias

from ci.errors import SeriesProblem
from ci.git import Git
from ci.series.conflict import SWALLOWED, Conflict
from ci.series.engine.fold import Decisions
from ci.series.engine.importing import import_series
from ci.series.engine.workshop import workshop
from ci.series.export import export_commits
from ci.series.order import Series, load_series
from ci.series.patch import read_mail
from ci.series.replay import rebase
from ci.series.results import Absorbed, Applied, CommitOf, Counts, Result
from ci.upstream.tags import BuildTag
from tests.helpers.generated import AIM
from tests.helpers.generated_repository import Built
from tests.helpers.git_reference import AmFailure, GitBroke, ReferenceConflict, git_am, git_rebase_skipping

Steps: TypeAlias = tuple[str | ReferenceConflict, ...]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What one history, or the sum of many, had in it.

    `refused`: nothing to compare, because `git am` refused its own patch file or `git rebase` itself broke.
    """

    examples: int = 1
    conflicts: int = 0
    absorbed: int = 0
    merged: int = 0
    spliced: int = 0
    refused: int = 0

    def __add__(self, other: "Seen") -> "Seen":
        return Seen(**{name: getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__})

    def __str__(self) -> str:
        """`examples=2000 conflicts=...`: how many histories had at least one of each."""
        return " ".join(f"{name}={getattr(self, name)}" for name in self.__dataclass_fields__)


# values -----------------------------------------------------------------------------------------------------------


def check_values(built: Built, place: Path) -> None:
    """A patch file is read as git reads it, and no byte of it is lost."""
    series = load_series(built.save(place / "values"))
    for patch, raw, commit in zip(series.patches, built.raws, built.commits, strict=True):
        assert patch.raw == raw
        check_mail(built.git, raw, place)
        listed = built.git("diff-tree", "-r", "-z", "--no-renames", "--name-only", f"{commit}^", commit).stdout
        assert patch.files == tuple(sorted(fsdecode(path) for path in listed.split(b"\0")[:-1]))


def check_mail(git: Git, raw: bytes, place: Path) -> None:
    """`read_mail` and `git mailinfo` agree on author, date, subject and message, and on where the diff begins."""
    said = git("mailinfo", "-b", place / "message", place / "diff", stdin=raw).stdout
    told = dict(line.split(b": ", 1) for line in said.split(b"\n") if b": " in line)
    author, email, date, subject = (_text(told.get(key, b"")) for key in (b"Author", b"Email", b"Date", b"Subject"))
    mail = read_mail(raw)
    ours = (mail.author, mail.date, mail.subject)
    theirs = (f"{author} <{email}>", date.strip(), subject)
    assert ours == theirs, f"{ours} != {theirs}"
    body = _text((place / "message").read_bytes())
    ours_body = mail.body.removeprefix(mail.subject)
    assert ours_body.strip("\n") == body.strip("\n"), f"{ours_body!r} != {body!r}"
    assert raw.endswith(mail.diff)
    assert mail.diff == (place / "diff").read_bytes()


def _text(data: bytes) -> str:
    """Text of unknown encoding, guessed as ours is."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


# import and export ------------------------------------------------------------------------------------------------


def check_import(built: Built, place: Path) -> None:
    """Import gives the commits of `git am` and the series' trees; export is a fixed point after one round."""
    series = load_series(built.save(place / "first"))
    commits = _imported(built, series, built.raws, place / "am-first")
    if not commits:
        return
    made = Git(path=place / "am-first")
    assert _trees(made, commits) == _trees(built.git, built.commits)
    again = _exported(made, series, commits, place)
    second = git_am(built.git, built.base, again, place / "am-second")
    assert not isinstance(second, AmFailure), second
    assert _exported(Git(path=place / "am-second"), series, second, place) == again, (
        "a second round changes the export"
    )


def _imported(built: Built, series: Series, raws: Sequence[bytes], place: Path) -> tuple[str, ...]:
    """The commits; none where `git am` refuses what its own format-patch wrote, and so do we, at the same patch."""
    theirs = git_am(built.git, built.base, raws, place)
    ours = _import_or_refusal(built, series)
    if isinstance(theirs, AmFailure):
        refused = series.patches[theirs.index]
        assert isinstance(ours, str), theirs
        assert ours.startswith((refused.id, str(refused.path))), f"{ours}, git am stops at {theirs}"
        return ()
    assert ours == theirs, f"{ours} != {theirs}"
    return theirs


def _import_or_refusal(built: Built, series: Series) -> tuple[str, ...] | str:
    with workshop(built.git, built.git.path.parent) as shop:
        try:
            ours = import_series(shop, series, built.base)
        except SeriesProblem as problem:
            return problem.message
    return f"{ours.patch_id}: {ours.said}" if isinstance(ours, Conflict) else ours


def _trees(git: Git, commits: Sequence[str]) -> tuple[str, ...]:
    return tuple(git("rev-parse", *(f"{commit}^{{tree}}" for commit in commits)).text.split()) if commits else ()


def _exported(git: Git, series: Series, commits: Sequence[str], place: Path) -> tuple[bytes, ...]:
    named = [CommitOf(patch_id=name, commit=commit) for name, commit in zip(series.ids, commits, strict=True)]
    return export_commits(git, named, work=place)


# rebase -----------------------------------------------------------------------------------------------------------


def check_rebase(built: Built, place: Path) -> Seen:
    """Patch by patch what `git rebase` (with `--skip` at a conflict) makes of it: the tree, or the paths in conflict.

    Parts that upstream landed are accepted: git merges those without a word, and only merges are compared here.
    """
    series = load_series(built.save(place / "queue"))
    decisions = Decisions(accept_partial=series.ids)
    try:
        ours = rebase(built.git, series, BuildTag.parse(AIM), work=place, decisions=decisions)
    except SeriesProblem:
        assert not _imported(built, series, built.raws, place / "am")
        return Seen(refused=1)
    try:
        theirs = git_rebase_skipping(built.git, built.commits, built.aim, place / "rebase")
    except GitBroke:
        return Seen(refused=1)
    _same_kinds(ours.results, theirs, built.git.tree_of(built.aim))
    _same_trees(built.git, ours.results, theirs)
    return _seen(ours.results, ours.counts)


def _same_kinds(ours: Sequence[Result], theirs: Steps, before: str | None) -> None:
    """Conflicts in the same paths; what we call absorbed changes nothing for git either."""
    for number, (result, step) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(step, ReferenceConflict):
            assert isinstance(result, Conflict), f"patch {number} conflicts for git: {step.said}"
            paths = tuple(sorted(path.path for path in result.paths))
            assert paths == step.paths or not step.paths, (
                f"patch {number}: {paths}, for git {step.paths}: {step.said}"
            )
        else:
            kept = isinstance(result, Applied)
            assert kept or isinstance(result, Absorbed) or _is_swallowed(result), f"patch {number}: {result}"
            assert kept or step == before, f"patch {number} changes something for git: {result}"
            before = step


def _same_trees(git: Git, ours: Sequence[Result], theirs: Steps) -> None:
    """Equal trees as far as our commits are in the history: up to the first conflict."""
    clean = list(itertools.takewhile(lambda result: not isinstance(result, Conflict), ours))
    pairs = [
        (result.commit, step) for result, step in zip(clean, theirs, strict=False) if isinstance(result, Applied)
    ]
    trees = _trees(git, [commit for commit, _ in pairs])
    assert trees == tuple(step for _, step in pairs), f"{trees}, git rebase makes {theirs}"


def _is_swallowed(result: Result) -> bool:
    """A patch of which nothing is left, though upstream has not got it: git keeps it empty, we ask."""
    return isinstance(result, Conflict) and {path.kind for path in result.paths} == {SWALLOWED}


def _seen(results: Sequence[Result], counts: Counts) -> Seen:
    return Seen(
        conflicts=any(isinstance(result, Conflict) for result in results),
        absorbed=any(isinstance(result, Absorbed) for result in results),
        merged=counts.merged > 0,
        spliced=counts.spliced > 0,
    )
