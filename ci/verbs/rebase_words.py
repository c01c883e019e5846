"""rebase-upstream in words: what was asked for, what became of each patch, what to look at, what to type next."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from ci.console import Console
from ci.outcome import JsonMap
from ci.series.byhand.resolutions import Store
from ci.series.byhand.resolutions import describe as describe_resolutions
from ci.series.drift.drifting import PatchDrift
from ci.series.drift.drifting import describe as describe_drift
from ci.series.drift.pending import PENDING, Pending
from ci.series.order import Series
from ci.series.results import Rebased
from ci.series.review import Review
from ci.stages.rebase import carried, release_of
from ci.upstream.tags import BuildTag


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asked for; `go_on` is `--continue`."""

    onto: str = ""
    dry_run: bool = False
    matrix: bool = False
    accept_partial: tuple[str, ...] = ()
    go_on: bool = False
    abort: bool = False
    skip: tuple[str, ...] = ()

    @property
    def decides(self) -> bool:
        """Whether it says something about single patches that a waiting move can go on with."""
        return bool(self.skip or self.accept_partial) and not self.dry_run

    @property
    def command(self) -> str:
        """The rebase as typed, without `--dry-run`."""
        onto = f" --onto {self.onto}" if self.onto else ""
        accepted = "".join(f" --accept-partial {name}" for name in self.accept_partial)
        return f"invoke rebase-upstream{onto}{accepted}{''.join(f' --skip {name}' for name in self.skip)}"


@dataclass(frozen=True, kw_only=True)
class Found:
    """What there is to look at after a move: by patch; drift, new, pending, and pending no more."""

    reviews: tuple[Review, ...]
    drift: tuple[PatchDrift, ...]
    pending: tuple[Pending, ...]
    settled: tuple[Pending, ...] = ()


def show(console: Console, series: Series, rebased: Rebased, found: Found, store: Store, asked: Request) -> None:
    """What became of each patch, what to look at, and what to type next."""
    by_id = {one.patch_id: one for one in found.reviews}
    rows = [
        (one.id, one.words, by_id[one.id].moved_words if one.id in by_id else "", one.subject)
        for one in carried(series, rebased)
    ]
    console.table(("patch", "outcome", "where", "subject"), rows, title=title_of(series.base.tag, rebased.onto))
    moved = rebased.onto != series.base.tag
    for line in (*review_words(found.reviews, store, moved=moved), *drift_words(found, rebased.onto)):
        console.result(line)
    command = replace(asked, onto=str(rebased.onto), dry_run=False).command
    console.result(closing_words(rebased, command, dry_run=asked.dry_run, moved=moved))
    console.document(document(series, rebased, found, unused_of(found.reviews, store), dry_run=asked.dry_run))


def title_of(base: BuildTag, onto: BuildTag) -> str:
    """From where to where; one build when the series stays."""
    return f"{base} to {onto}" if onto != base else f"on {base}"


def review_words(reviews: Sequence[Review], store: Store, *, moved: bool) -> tuple[str, ...]:
    """What to look at in single patches, and recorded resolutions: what was replayed, and what was not used.

    A series that stays where it is meets no conflict: that nothing was used there says nothing.
    """
    places = [f"look at {one.patch_id}: {note}" for one in reviews for note in one.notes]
    replayed = [resolution for one in reviews for resolution in one.resolutions]
    told = describe_resolutions(store, replayed).rstrip("\n") if moved else ""
    return (*places, told) if told else tuple(places)


def unused_of(reviews: Sequence[Review], store: Store) -> tuple[str, ...]:
    """Recorded resolutions that no conflict of this move had."""
    return store.unused([resolution.conflict_id for one in reviews for resolution in one.resolutions])


def drift_words(found: Found, onto: BuildTag) -> tuple[str, ...]:
    """What upstream changed under the patches, old and new text, and what that asks for."""
    known = {(one.patch_id, drift.declaration) for one in found.drift for drift in one.drifts}
    earlier = [one.headline for one in found.pending if (one.patch_id, one.drift.declaration) not in known]
    lines = (
        *((describe_drift(found.drift),) if found.drift else ()),
        *(f"no longer in patches/{PENDING}: {one.headline}" for one in found.settled),
        *(f"still to be looked at: {headline}" for headline in earlier),
    )
    if not found.pending:
        return lines
    need = f"{len(found.pending)} drift(s) to be looked at: while {PENDING} names any, a release needs parity to pass"
    how = (
        f"what is fine as it is: add the line to the trailers of its patch, then invoke rebase-upstream --onto {onto}"
    )
    return (*lines, need, how, *(f"  patches/{one.patch_id}.patch: {one.trailer}" for one in found.pending))


def document(series: Series, rebased: Rebased, found: Found, unused: Sequence[str], *, dry_run: bool) -> JsonMap:
    """The machine's answer."""
    reviews = {one.patch_id: one.to_json() for one in found.reviews}
    patches = [{**one.model_dump(), **reviews.get(one.id, {})} for one in carried(series, rebased)]
    return {
        "base": str(series.base.tag),
        "onto": str(rebased.onto),
        "release": str(release_of(series, rebased.onto)),
        "head": rebased.head,
        "tree": rebased.tree,
        "patches": patches,
        "paths": asdict(rebased.counts),
        "drift": [one.to_json() for one in found.drift],
        "pending_drift": [one.headline for one in found.pending],
        "unused_resolutions": list(unused),
        "dry_run": dry_run,
    }


def closing_words(rebased: Rebased, command: str, *, dry_run: bool, moved: bool) -> str:
    """What happened, and what to type next."""
    if dry_run and not moved:
        return "the series stands on that build already: nothing to do"
    if dry_run:
        return f"would give tree {rebased.tree}; nothing was changed\nnext: {command}"
    if not moved:
        return "the series stands on that build already; its files are as an export writes them"
    return (
        f"patches/ now stands on {rebased.onto}, tree {rebased.tree}\nnext: git add -A patches/ && git diff --cached"
    )
