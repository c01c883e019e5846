"""What must hold for every generated history, with plain git as the oracle. Each law raises AssertionError."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import fsdecode
from pathlib import Path

from ci.errors import SeriesProblem
from ci.git import Git
from ci.series.conflict import PARTLY_UPSTREAM, SWALLOWED, Conflict
from ci.series.export import export_commits
from ci.series.fold import Decisions
from ci.series.importing import import_series
from ci.series.order import Series, load_series
from ci.series.patch import read_mail
from ci.series.replay import rebase
from ci.series.results import Absorbed, Applied, CommitOf, Counts, Rebased, Result, Stopped
from ci.series.workshop import workshop
from ci.upstream.tags import BuildTag
from tests.helpers.generated import AIM
from tests.helpers.generated_repository import Built
from tests.helpers.git_reference import AmFailure, ReferenceRebase, git_am, git_rebase


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What one history, or the sum of many, had in it."""

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
    second = load_series(_saved(series, again, place / "second"))
    commits = _imported(built, second, again, place / "am-second")
    assert _exported(Git(path=place / "am-second"), second, commits, place) == again, (
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
    return tuple(git("rev-parse", *(f"{commit}^{{tree}}" for commit in commits)).text.split())


def _exported(git: Git, series: Series, commits: Sequence[str], place: Path) -> tuple[bytes, ...]:
    named = [CommitOf(patch_id=name, commit=commit) for name, commit in zip(series.ids, commits, strict=True)]
    return export_commits(git, named, work=place)


def _saved(series: Series, raws: Sequence[bytes], patches_dir: Path) -> Path:
    old = series.patches[0].path.parent
    patches_dir.mkdir()
    for name in ("series", "base.toml"):
        (patches_dir / name).write_bytes((old / name).read_bytes())
    for name, raw in zip(series.ids, raws, strict=True):
        (patches_dir / f"{name}.patch").write_bytes(raw)
    return patches_dir


# rebase -----------------------------------------------------------------------------------------------------------


def check_rebase(built: Built, place: Path) -> Seen:
    """Each tree is that of `git rebase` up to its first conflict, which is ours too, in the same paths.

    Parts that upstream landed are accepted: git merges those without a word, and only merges are compared here.
    """
    series = load_series(built.save(place / "queue"))
    decisions = Decisions(accept_partial=series.ids)
    try:
        ours = rebase(built.git, series, BuildTag.parse(AIM), work=place, decisions=decisions)
    except SeriesProblem:
        assert not _imported(built, series, built.raws, place / "am")
        return Seen(refused=1)
    theirs = git_rebase(built.git, built.commits, built.aim, place / "rebase")
    _same_trees(built, ours.results, theirs)
    _same_conflict(ours, theirs)
    return _seen(ours.results, ours.counts)


def _same_trees(built: Built, ours: Sequence[Result], theirs: ReferenceRebase) -> None:
    tips = [built.aim]
    for number, result in enumerate(ours[: len(theirs.trees)]):
        clean = isinstance(result, Applied | Absorbed) or _is_swallowed(result)
        assert clean, f"patch {number} is clean for git: {result}"
        tips.append(result.commit if isinstance(result, Applied) else tips[-1])
    trees = _trees(built.git, tips)[1:]
    assert trees == theirs.trees, f"{trees}, git rebase makes {theirs.trees}"


def _is_swallowed(result: Result) -> bool:
    """A patch of which nothing is left, though upstream has not got it: git keeps it empty, we ask."""
    return isinstance(result, Conflict) and {path.kind for path in result.paths} == {SWALLOWED}


def _same_conflict(ours: Rebased | Stopped, theirs: ReferenceRebase) -> None:
    if theirs.conflict is None:
        assert isinstance(ours, Rebased) or all(_is_swallowed(conflict) for conflict in ours.conflicts), ours
        return
    assert isinstance(ours, Stopped), f"git conflicts at patch {theirs.conflict.index}: {theirs.conflict.said}"
    first = ours.results[theirs.conflict.index]
    assert isinstance(first, Conflict), f"git conflicts at patch {theirs.conflict.index}: {theirs.conflict.said}"
    assert PARTLY_UPSTREAM not in {path.kind for path in first.paths}
    paths = tuple(sorted(path.path for path in first.paths))
    assert paths == theirs.conflict.paths, f"{paths} != {theirs.conflict.paths}: {theirs.conflict.said}"


def _seen(results: Sequence[Result], counts: Counts) -> Seen:
    return Seen(
        conflicts=any(isinstance(result, Conflict) for result in results),
        absorbed=any(isinstance(result, Absorbed) for result in results),
        merged=counts.merged > 0,
        spliced=counts.spliced > 0,
    )
