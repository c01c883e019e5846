"""The fold: patch after patch onto a growing tip, each with a result of its own."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from ci.gittree import Entry
from ci.series.absorbed import Share, landed, share_present
from ci.series.byhand.resolutions import Store, replay_resolutions
from ci.series.conflict import Conflict, conflict_of_merge, not_through_upstream, partly_upstream
from ci.series.engine.importing import conflict_at
from ci.series.engine.picking import Picked, Picker
from ci.series.engine.threeway import Path, Text, find, parted
from ci.series.engine.workshop import Workshop
from ci.series.order import Series
from ci.series.patch import Patch, read_mail
from ci.series.results import Absorbed, Applied, Counts, Resolution, Result, Skipped
from ci.upstream.tags import BuildTag

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with (steps done, steps in all, words)."""


def unheard(_done: int, _total: int, _words: str) -> None:
    """Progress that nobody listens to."""


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What a person made of one conflict: the tip's tree that it was settled on, the tree that it became.

    `commit`, when the person committed, carries the message and author to use instead of the patch's.
    """

    tip_tree: str
    tree: str
    commit: str | None = None


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """What people decided about single patches, by patch id.

    Attributes:
        accept_partial: upstream may have landed a part of these; others with that are conflicts.
        skip: these are left out.
        settled: conflicts that were settled by hand.
    """

    accept_partial: Collection[str] = ()
    skip: Collection[str] = ()
    settled: Mapping[str, Settled] = field(default_factory=dict)


UNDECIDED = Decisions()


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """The fold's end: the last commit, one result a patch, and tip and patch of the first conflict."""

    head: str
    results: tuple[Result, ...]
    counts: Counts
    stopped_at: tuple[str, str] | None


@dataclass(frozen=True, kw_only=True)
class Fold:
    """The second half: the imported commits, one by one, onto an aim."""

    shop: Workshop
    series: Series
    imported: tuple[str, ...]
    base_commit: str
    decisions: Decisions = UNDECIDED
    resolutions: Store | None = None
    picker: Picker = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "picker", Picker(self.shop))

    def onto(self, build: BuildTag, commit: str, hear: Progress = unheard) -> Replayed:
        """Put all patches onto a build, each after those before it that do not conflict."""
        tip, counts = commit, Counts()
        results: list[Result] = []
        stopped_at: tuple[str, str] | None = None
        for number, (patch, picked) in enumerate(zip(self.series.patches, self.imported, strict=True)):
            hear(number + 1, len(self.imported) + 1, f"{patch.id} on {build}")
            result, done = self._step(patch, number, tip, build, commit)
            results.append(result)
            counts += done
            if isinstance(result, Applied):
                tip = result.commit
            if isinstance(result, Conflict):
                stopped_at = stopped_at or (tip, picked)
        return Replayed(head=tip, results=tuple(results), counts=counts, stopped_at=stopped_at)

    def foresee(self, commits: Sequence[str], *, only: Sequence[int] | None = None) -> None:
        """Merge beforehand, and together, what the series will need on some builds; it changes no answer.

        Args:
            commits: the builds.
            only: the patches that count, when not all do.
        """
        patches = [self._sides(number) for number in (range(len(self.imported)) if only is None else only)]
        self.picker.foresee(patches, [self.shop.tree_of(commit) for commit in commits])

    def alone(self, number: int, build: BuildTag, commit: str) -> Result:
        """Put one patch onto a build without its predecessors."""
        return self._step(self.series.patches[number], number, commit, build, commit)[0]

    def _step(self, patch: Patch, number: int, tip: str, build: BuildTag, aim: str) -> tuple[Result, Counts]:
        if patch.id in self.decisions.skip:
            return Skipped(patch_id=patch.id, subject=patch.subject), Counts()
        tip_tree = self.shop.tree_of(tip)
        base, theirs = self._sides(number)
        picked = self.picker.pick(base, tip_tree, theirs)
        settled = self.decisions.settled.get(patch.id)
        if settled and settled.tip_tree == tip_tree:
            return self._as_settled(patch, number, tip, picked, settled), picked.counts
        at = conflict_at(self.series, patch, str(build))
        if picked.tree is None:
            return self._resolved(patch, number, tip, picked) or self._conflict(
                patch, number, at, picked, aim
            ), picked.counts
        if picked.tree == tip_tree:
            return self._vanished(patch, number, at, build, aim), picked.counts
        if picked.lost and patch.id not in self.decisions.accept_partial:
            return partly_upstream(at, picked.lost), picked.counts
        return self._applied(patch, self.imported[number], picked.tree, tip), picked.counts

    def _sides(self, number: int) -> tuple[str, str]:
        """The trees before and after a patch on its own base."""
        before = self.imported[number - 1] if number else self.base_commit
        return self.shop.tree_of(before), self.shop.tree_of(self.imported[number])

    def _applied(
        self, patch: Patch, like: str, tree: str, tip: str, resolutions: tuple[Resolution, ...] = ()
    ) -> Applied:
        commit = self.shop.same_commit_on(like, tree=tree, parent=tip)
        return Applied(patch_id=patch.id, subject=patch.subject, commit=commit, resolutions=resolutions)

    def _as_settled(self, patch: Patch, number: int, tip: str, picked: Picked, settled: Settled) -> Applied:
        """What a person made of the patch, with the recorded resolutions that come to the same in their files."""
        replayed = self._resolved(patch, number, tip, picked) if picked.tree is None else None
        same = self._agreeing(replayed, settled.tree) if replayed else ()
        return self._applied(patch, settled.commit or self.imported[number], settled.tree, tip, same)

    def _agreeing(self, replayed: Applied, tree: str) -> tuple[Resolution, ...]:
        paths = {one: parted(one.path) for one in replayed.resolutions}
        ours = self.shop.tree_of(replayed.commit)
        return tuple(
            one for one, path in paths.items() if find(self.shop.read, ours, path) == find(self.shop.read, tree, path)
        )

    def _resolved(self, patch: Patch, number: int, tip: str, picked: Picked) -> Applied | None:
        """The patch with its conflict settled by recorded resolutions, when there is one for every file."""
        if self.resolutions is None or not picked.texts:
            return None
        sides = self._commits_of(picked.texts)
        work = self.shop.repo.path / ".git"
        found = replay_resolutions(self.shop.repo, self.resolutions, **sides, work=work)
        blobs = {parted(path): blob for path, blob in found.settled.items()}
        if any(text.path not in blobs for text in picked.texts):
            return None
        changes = {path: self._with_mode(picked, path, blob) for path, blob in blobs.items()}
        tree = self.shop.changed_tree(picked.half_tree, changes)
        return self._applied(patch, self.imported[number], tree, tip, found.resolutions)

    def _with_mode(self, picked: Picked, path: Path, blob: str) -> Entry:
        """A resolved blob with the mode that git's merge chose."""
        merged = find(self.shop.read, str(picked.half_tree), path)
        assert merged is not None  # noqa: S101 - for the type checker: it is one of the files in conflict
        return Entry(merged.mode, blob)

    def _commits_of(self, texts: Sequence[Text]) -> dict[str, str]:
        """Two commits that hold the files in conflict and nothing else, on a common one."""
        base = self.shop.synthetic_commit(self.shop.changed_tree(None, {text.path: text.base for text in texts}))
        ours = self.shop.changed_tree(None, {text.path: text.ours for text in texts})
        theirs = self.shop.changed_tree(None, {text.path: text.theirs for text in texts})
        return {
            "ours": self.shop.synthetic_commit(ours, base),
            "theirs": self.shop.synthetic_commit(theirs, base),
        }

    def _conflict(self, patch: Patch, number: int, at: Conflict, picked: Picked, aim: str) -> Conflict:
        assert picked.merged is not None  # noqa: S101 - for the type checker: without a tree there is an answer
        share = self._share(patch, number, aim)
        return conflict_of_merge(
            picked.merged,
            replace(at, landed=share.words if share.present else ""),
            half_merged=picked.half_merged,
            blob=self.shop.objects.blob,
        )

    def _vanished(self, patch: Patch, number: int, at: Conflict, build: BuildTag, aim: str) -> Absorbed | Conflict:
        """What to say when nothing of a patch is left: upstream has it all, or something else swallowed it."""
        base, theirs = self._sides(number)
        upstream = self.shop.tree_of(aim)
        share = self._share(patch, number, aim)
        if landed(share).retires or self.picker.pick(base, upstream, theirs).tree == upstream:
            return Absorbed(patch_id=patch.id, subject=patch.subject, build=build, evidence=share.words)
        return not_through_upstream(at, patch.files)

    def _share(self, patch: Patch, number: int, aim: str) -> Share:
        """How much of a patch upstream has, line by line."""
        trees = self._sides(number)[0], self.shop.tree_of(aim)
        before, after = (partial(self.shop.objects.file, tree) for tree in trees)
        return share_present(read_mail(patch.raw).diff, before=before, aim=after)
