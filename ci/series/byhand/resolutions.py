"""Resolutions of conflicts that everybody shares: `patches/resolutions/<conflict id>/{preimage,postimage}[.N]`.

The format is git's rerere cache, and git alone writes and applies it (`ci.series.byhand.rerere`). An entry is code:
it is checked before it is used, shown when it was used, and never replaced by another one.
"""

import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ci.digest import digest_json, sha256_bytes
from ci.errors import ResolutionProblem
from ci.files import write_atomic
from ci.git import Git
from ci.series.byhand.rerere import MARKER, HalfMerged, Pair, file_name, half_merged, misplaced
from ci.series.results import Resolution

FOLDER = "resolutions"
"""Name of the store in `patches/`."""

MAX_BYTES = 16_000_000
"""No file of upstream's sources is a fifth of that; a larger one is not a resolution."""

_ID = re.compile(r"[0-9a-f]{40}")
_IMAGE = re.compile(r"(preimage|postimage)(?:\.([1-9][0-9]{0,3}))?")


@dataclass(frozen=True, kw_only=True)
class Store:
    """What `patches/resolutions/` holds: finished resolutions, and ids of entries that were never finished."""

    place: Path
    pairs: tuple[Pair, ...] = ()
    unfinished: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Digest over all finished entries: what a replay may depend on."""
        pairs = sorted(self.pairs)
        return digest_json(
            [[p.conflict_id, p.variant, sha256_bytes(p.preimage), sha256_bytes(p.postimage)] for p in pairs]
        )

    @property
    def ids(self) -> tuple[str, ...]:
        """Conflict ids of all finished entries, sorted."""
        return tuple(sorted({pair.conflict_id for pair in self.pairs}))

    def of(self, ids: Iterable[str]) -> tuple[Pair, ...]:
        """The finished resolutions of some conflicts."""
        wanted = set(ids)
        return tuple(pair for pair in self.pairs if pair.conflict_id in wanted)

    def unused(self, used: Collection[str]) -> tuple[str, ...]:
        """Conflict ids that no conflict of this rebase had, sorted."""
        return tuple(conflict_id for conflict_id in self.ids if conflict_id not in used)


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """What recorded resolutions made of a conflict: blob ids by path (the blobs are in the repository), and how."""

    settled: Mapping[str, str]
    resolutions: tuple[Resolution, ...]


@dataclass(frozen=True, kw_only=True)
class NotRecorded:
    """A path whose resolution the store cannot hold, and why: it must be resolved again on the next machine."""

    path: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Ids of the conflicts whose resolution is new in the store, and the paths that it cannot hold."""

    ids: tuple[str, ...] = ()
    left: tuple[NotRecorded, ...] = ()


def load_store(place: Path) -> Store:
    """Read and check a store; one that is not there is empty. Names that begin with a dot are passed over.

    Raises:
        ResolutionProblem: lists everything in it that is not a resolution.
    """
    faults: list[str] = []
    pairs: list[Pair] = []
    unfinished: list[str] = []
    for entry in _listing(place, faults):
        if not _ID.fullmatch(entry.name) or _kind(entry) != "directory":
            faults.append(f"{entry}: expected a directory with 40 hex digits as its name")
            continue
        images = dict(_images(entry, faults))
        for variant in sorted({number for _, number in images} or {0}):
            before, after = images.get(("preimage", variant)), images.get(("postimage", variant))
            if before is not None and after is not None:
                pairs.append(Pair(conflict_id=entry.name, variant=variant, preimage=before, postimage=after))
            elif after is not None:
                faults.append(f"{entry / file_name('preimage', variant)}: missing, its postimage is there")
            else:
                unfinished.append(entry.name)
    if faults:
        listed = "".join(f"\n    {fault}" for fault in faults)
        raise ResolutionProblem(f"{place}: {len(faults)} fault(s) in recorded resolutions{listed}")
    return Store(place=place, pairs=tuple(pairs), unfinished=tuple(dict.fromkeys(unfinished)))


def _listing(folder: Path, faults: list[str]) -> tuple[Path, ...]:
    kind = _kind(folder)
    if kind not in ("directory", "nothing"):
        faults.append(f"{folder}: a {kind}, expected a directory")
    if kind != "directory":
        return ()
    return tuple(sorted(path for path in folder.iterdir() if not path.name.startswith(".")))


def _kind(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return "nothing"
    if stat.S_ISLNK(mode):
        return "symbolic link"
    if stat.S_ISDIR(mode):
        return "directory"
    return "file" if stat.S_ISREG(mode) else "special file"


def _images(entry: Path, faults: list[str]) -> Iterator[tuple[tuple[str, int], bytes]]:
    for path in _listing(entry, faults):
        name = _IMAGE.fullmatch(path.name)
        if name is None:
            faults.append(f"{path}: expected preimage, postimage, preimage.N or postimage.N")
            continue
        data, fault = _content(path, marked=name[1] == "preimage")
        if fault:
            faults.append(f"{path}: {fault}")
        yield (name[1], int(name[2] or 0)), data


def _content(path: Path, *, marked: bool) -> tuple[bytes, str]:
    """The bytes of an image, and what is wrong with them."""
    kind = _kind(path)
    if kind != "file":
        return b"", f"a {kind}, expected a plain file"
    if path.stat().st_size > MAX_BYTES:
        return b"", f"{path.stat().st_size} bytes, expected at most {MAX_BYTES}"
    data = path.read_bytes()
    if not data:
        return data, "empty"
    if bool(MARKER.search(data)) != marked:
        return data, "holds no conflict" if marked else "still holds conflict markers"
    return data, ""


def describe(store: Store, resolutions: Iterable[Resolution]) -> str:
    """For a person: every resolution that was replayed with its diff, then the entries that did nothing."""
    replayed = tuple(resolutions)
    used = {resolution.conflict_id for resolution in replayed}
    said = [f"{one.path}: settled by {store.place.name}/{one.conflict_id}\n{one.diff}" for one in replayed]
    said += [f"{store.place.name}/{name}: not used by this rebase\n" for name in store.unused(used)]
    said += [f"{store.place.name}/{name}: unfinished, it counts for nothing\n" for name in store.unfinished]
    return "".join(said)


def replay_resolutions(repo: Git, store: Store, *, ours: str, theirs: str, work: Path) -> Replayed:
    """Settle what can be settled of a conflict; the paths that are not in the answer wait for a person.

    Args:
        repo: has both commits, and gets the resolved blobs.
        store: the recorded resolutions.
        ours: upstream's side with what stands on it, in a commit that holds the paths in conflict.
        theirs: the patch's side of them, in a commit with the same one parent.
        work: directory for a tiny repository.

    Raises:
        ResolutionProblem: an entry that would be used is filed under a conflict that it does not hold.
    """
    if not store.pairs:
        return Replayed(settled={}, resolutions=())
    with half_merged(repo, ours=ours, theirs=theirs, work=work) as conflict:
        pairs = store.of(conflict.ids.values())
        _refuse_misplaced(repo, store.place, pairs, work=work)
        conflict.settle(pairs)
        return _replayed(repo, conflict)


def _refuse_misplaced(repo: Git, place: Path, pairs: Iterable[Pair], *, work: Path) -> None:
    wrong = misplaced(repo, pairs, work=work)
    if wrong:
        names = ", ".join(str(place / pair.conflict_id / file_name("preimage", pair.variant)) for pair in wrong)
        raise ResolutionProblem(f"{names}: does not hold the conflict that its directory is named after")


def _replayed(repo: Git, conflict: HalfMerged) -> Replayed:
    settled: dict[str, str] = {}
    resolutions: list[Resolution] = []
    for path, data in sorted(conflict.settled().items()):
        settled[path] = repo("hash-object", "-w", "--no-filters", "--stdin", stdin=data).text
        diff = conflict.diff(path, data)
        resolutions.append(Resolution(conflict_id=conflict.ids[path], path=path, diff=diff))
    return Replayed(settled=settled, resolutions=tuple(resolutions))


def record(repo: Git, place: Path, *, ours: str, theirs: str, resolved: Mapping[str, bytes], work: Path) -> Recorded:
    """Put a person's resolution of a conflict into the store, as far as rerere can hold it.

    Each new entry was replayed first and gave the person's bytes. The same conflict and the same resolution give the
    same files on every machine. A kill leaves whole entries, or unfinished ones that count for nothing.

    Args:
        repo: has both commits.
        place: the store's directory.
        ours: as in `replay_resolutions`.
        theirs: as in `replay_resolutions`.
        resolved: content of each path after the resolution; a path that is missing was removed by it.
        work: directory for tiny repositories.

    Raises:
        ResolutionProblem: the store is damaged.
    """
    store = load_store(place)
    with half_merged(repo, ours=ours, theirs=theirs, work=work) as conflict:
        known = store.of(conflict.ids.values())
        _refuse_misplaced(repo, place, known, work=work)
        conflict.settle(known)
        left = dict(_not_recordable(conflict, resolved))
        waiting = {path: key for path, key in conflict.watched().items() if path not in left}
        learned = {pair.key: pair for pair in conflict.learn({path: resolved[path] for path in waiting})}
    fresh = {path: learned[key] for path, key in waiting.items() if key in learned}
    fresh = _proven(repo, Store(place=place, pairs=known), fresh, resolved, ours=ours, theirs=theirs, work=work)
    for pair in sorted(fresh.values()):
        _write(place, pair)
    left |= {path: "git rerere does not give it back" for path in waiting if path not in fresh}
    return Recorded(
        ids=tuple(sorted({pair.conflict_id for pair in fresh.values()})),
        left=tuple(NotRecorded(path=path, why=why) for path, why in sorted(left.items())),
    )


def _not_recordable(conflict: HalfMerged, resolved: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    settled = conflict.settled()
    for path in conflict.unmerged:
        if path not in conflict.ids:
            yield path, "rerere has no form for this conflict: binary, or lines of its own look like markers"
        elif path not in resolved:
            yield path, "it was resolved by removing the file"
        elif not resolved[path]:
            yield path, "it was resolved to an empty file"
        elif MARKER.search(resolved[path]):
            yield path, "lines of its own look like conflict markers"
        elif path in settled and settled[path] != resolved[path]:
            yield path, f"{conflict.ids[path]} holds another resolution: remove that entry to record this one"


def _proven(
    repo: Git,
    known: Store,
    fresh: Mapping[str, Pair],
    resolved: Mapping[str, bytes],
    *,
    ours: str,
    theirs: str,
    work: Path,
) -> dict[str, Pair]:
    """Those of the new pairs, by path, with which a fresh replay gives the person's bytes."""
    kept = dict(fresh)
    while kept:
        with half_merged(repo, ours=ours, theirs=theirs, work=work) as conflict:
            wrong = misplaced(repo, kept.values(), work=work)
            conflict.settle((*known.pairs, *kept.values()))
            given = conflict.settled()
        good = {path: pair for path, pair in kept.items() if pair not in wrong and given.get(path) == resolved[path]}
        if len(good) == len(kept):
            break
        kept = good
    return kept


def _write(place: Path, pair: Pair) -> None:
    """Preimage first: an entry without postimage is unfinished and counts for nothing."""
    for kind, data in (("preimage", pair.preimage), ("postimage", pair.postimage)):
        write_atomic(place / pair.conflict_id / file_name(kind, pair.variant), data)
