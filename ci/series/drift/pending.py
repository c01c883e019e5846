"""Drift that nobody has acknowledged yet: `patches/drift.toml`.

A rebase that rewrites the queue moves its base, and the next comparison begins there: what changed before would never
be seen again. So the queue carries it until the patch acknowledges it or goes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.config import Model, load_toml
from ci.errors import ConfigProblem, UsageProblem
from ci.series.drift.declared import Kind
from ci.series.drift.drifting import PatchDrift, headline
from ci.series.drift.drifts import Drift
from ci.series.drift.usage import identifiers, uses_of
from ci.series.order import Series
from ci.series.patch import Patch
from ci.upstream.tags import BuildTag

PENDING = "drift.toml"
"""Its name in the queue."""

HEADING = """\
# What upstream changed under the patches without a conflict, and nobody has acknowledged. `invoke rebase-upstream`
# writes this file. While it names anything, a release needs the parity stage to pass. Looked at and fine? Then add
# the trailer "Drift-Ack: <declaration> <until>" to the patch, and its entry goes with the next rebase.
"""


class PendingEntry(Model):
    """One `[[drift]]` table as it is written."""

    patch: str
    declaration: str
    kind: Kind
    path: str
    old_path: str
    why: str
    since: str
    until: str
    used: tuple[str, ...]
    before: str
    after: str


class PendingFile(Model):
    """`drift.toml` as it is written."""

    drift: tuple[PendingEntry, ...]


@dataclass(frozen=True, kw_only=True)
class Pending:
    """A drift under a patch that came between two builds: `since` had the text before, `until` has the one after."""

    patch_id: str
    drift: Drift
    since: BuildTag
    until: BuildTag

    @property
    def headline(self) -> str:
        """One line: patch, declaration, what changed and when."""
        return f"{self.patch_id}: {headline(self.drift)}, between {self.since} and {self.until}"

    @property
    def trailer(self) -> str:
        """What acknowledges it."""
        return f"Drift-Ack: {self.drift.declaration} {self.until}"


def load_pending(patches_dir: Path) -> tuple[Pending, ...]:
    """What the queue carries; nothing when there is no such file.

    Raises:
        ConfigProblem: the file is not what we write; lists every fault.
    """
    path = patches_dir / PENDING
    if not path.is_file():
        return ()
    return tuple(_read(path, entry) for entry in load_toml(PendingFile, path).drift)


def _read(path: Path, entry: PendingEntry) -> Pending:
    try:
        since, until = BuildTag.parse(entry.since), BuildTag.parse(entry.until)
    except UsageProblem as problem:
        raise ConfigProblem(f"{path}: {entry.patch}, {entry.declaration}: {problem.message}") from None
    fields = entry.model_dump(exclude={"patch", "since", "until"})
    return Pending(patch_id=entry.patch, drift=Drift(**fields), since=since, until=until)


def merge_pending(
    carried: Iterable[Pending], found: Iterable[PatchDrift], series: Series, onto: BuildTag
) -> tuple[Pending, ...]:
    """What is still to be looked at once the series stands on `onto`, in series order.

    A declaration that drifts again keeps the text and build that it had when the patch was last known to be right,
    and goes when that text is back.

    Args:
        carried: what the queue carried so far.
        found: between the series' base and `onto`.
        series: the patches that stay, on their old base; entries of other patches are dropped, and those whose names
            a rewritten patch does not use any more.
        onto: the new base.
    """
    entries = {_key(entry): entry for entry in carried}
    for patch in found:
        for drift in patch.drifts:
            new = Pending(patch_id=patch.patch_id, drift=drift, since=series.base.tag, until=onto)
            entries[_key(new)] = _joined(entries.get(_key(new)), new)
    acknowledged = {(patch.patch_id, drift.declaration) for patch in found for drift in patch.acknowledged}
    kept = [entry for key, entry in entries.items() if key[:2] not in acknowledged]
    return tuple(_still_pending(kept, series.patches))


def no_longer(carried: Iterable[Pending], pending: Iterable[Pending]) -> tuple[Pending, ...]:
    """The entries that were carried and need not be any more."""
    left = {_key(entry) for entry in pending}
    return tuple(entry for entry in carried if _key(entry) not in left)


def _key(entry: Pending) -> tuple[str, str, Kind]:
    return entry.patch_id, entry.drift.declaration, entry.drift.kind


def _joined(old: Pending | None, new: Pending) -> Pending:
    """One entry for a declaration that changed before and changed again."""
    if old is None:
        return new
    first, last = old.drift, new.drift
    drift = Drift(
        declaration=last.declaration,
        kind=last.kind,
        path=last.path,
        old_path=first.old_path,
        before=first.before,
        after=last.after,
        why="; ".join(dict.fromkeys((*first.why.split("; "), *last.why.split("; ")))),
        used=tuple(sorted({*first.used, *last.used})),
    )
    return Pending(patch_id=new.patch_id, drift=drift, since=old.since, until=new.until)


def _still_pending(entries: Iterable[Pending], patches: Sequence[Patch]) -> Iterator[Pending]:
    """The entries, in series order, whose patch is there, uses the declaration, and has not acknowledged it.

    Without the history an acknowledgement counts from the build on that the entry's new text is known of.
    """
    of_patch: Mapping[str, list[Pending]] = {patch.id: [] for patch in patches}
    for entry in entries:
        if entry.patch_id in of_patch:
            of_patch[entry.patch_id].append(entry)
    for patch in patches:
        names = identifiers(uses_of(patch)) if of_patch[patch.id] else frozenset()
        for entry in sorted(of_patch[patch.id], key=_key):
            drift = entry.drift
            acks = (a.build for a in patch.trailers.drift_ack if a.declaration == drift.declaration)
            is_back = (drift.before, drift.path) == (drift.after, drift.old_path)
            if names & set(drift.used) and not is_back and not any(build >= entry.until for build in acks):
                yield entry


def pending_toml(entries: Sequence[Pending]) -> bytes:
    """The file's bytes: the same entries give the same bytes; empty when there is nothing to carry."""
    if not entries:
        return b""
    return (HEADING + "".join(_table(entry) for entry in entries)).encode("utf-8", "backslashreplace")


def _table(entry: Pending) -> str:
    drift = entry.drift
    lines = (
        ("patch", entry.patch_id),
        ("declaration", drift.declaration),
        ("kind", drift.kind.value),
        ("path", drift.path),
        ("old_path", drift.old_path),
        ("why", drift.why),
        ("since", str(entry.since)),
        ("until", str(entry.until)),
        ("used", list(drift.used)),
        ("before", drift.before),
        ("after", drift.after),
    )
    return "".join(("\n[[drift]]\n", *(f"{key} = {_toml(value)}\n" for key, value in lines)))


def _toml(value: str | list[str]) -> str:
    """A value as TOML: texts of several lines stay readable."""
    if isinstance(value, list):
        return f"[{', '.join(_toml(word) for word in value)}]"
    if "\n" in value:
        return '"""\n' + "\n".join(_escaped(line)[1:-1] for line in value.split("\n")) + '"""'
    return _escaped(value)


def _escaped(text: str) -> str:
    """A basic string; JSON's escapes are TOML's, but for DEL and for halves of surrogate pairs."""
    plain = text.encode("utf-8", "replace").decode()
    return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")
