"""What `invoke compat` puts on cards: models of the lock and files of the user, as far as they are here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.errors import UsageProblem
from ci.home import Home
from ci.models.compat.answers import Answer, Fit
from ci.models.compat.matrix import Subject
from ci.models.exact_pair import PAIRS, folder_of
from ci.models.fetch import conversion_of, files_of
from ci.models.header.shards import read_model
from ci.models.header.values import ModelHeader
from ci.models.header.words import plain
from ci.models.lock import ModelEntry, Role, model_named
from ci.models.speculators import load_speculators, speculators_for

SHOWN_ROLES = (Role.TARGET, Role.SMALL, Role.PAIR)
"""What stands in a matrix by itself; drafts stand beside their targets."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """A model that was looked for.

    Attributes:
        header: of its file; None where it is not here.
        absent: why not, with what would bring it.
        size: of its files in bytes, as pinned; 0 where nobody pinned them.
    """

    header: ModelHeader | None = None
    absent: tuple[Answer, ...] = ()
    size: int = 0


def subjects_of(
    home: Home, entries: Mapping[str, ModelEntry], models: Sequence[str] | None, drafts: Sequence[str]
) -> Iterator[tuple[ModelEntry | None, Subject]]:
    """Each model with its draft; the lock's entry where there is one.

    Args:
        home: where fetched models are.
        entries: the lock.
        models: ids and files; None for every target of the lock.
        drafts: ids and files, one for each model; empty for the drafts that the lock joins with them.

    Raises:
        UsageProblem: no such id or file, or another number of drafts than of models.
        ModelUnreadable: a file that is no GGUF model.
    """
    if drafts and len(drafts) != len(models or ()):
        counts = f"{len(drafts)} drafts for {len(models or ())} models"
        raise UsageProblem(counts, hint="invoke compat --model TARGET --draft DRAFT: one draft for each model")
    every = [entry.id for entry in entries.values() if entry.role in SHOWN_ROLES and not entry.is_checkpoint]
    named = every if models is None else models
    for at, name in enumerate(named):
        entry = None if _is_file(name) else model_named(entries, name)
        target = _find(home, entries, name, "target.gguf")
        draft = _find(home, entries, drafts[at], "draft.gguf") if drafts else _own_draft(home, entries, entry)
        yield entry, _subject(name, entry, target, draft)


def _subject(name: str, entry: ModelEntry | None, target: Found, draft: Found | None) -> Subject:
    absent = (*target.absent, *(draft.absent if draft else ()))
    return Subject(
        name=entry.id if entry else plain(Path(name).name),
        target=target.header,
        draft=draft.header if draft else None,
        absent=absent,
        size=target.size or _published_size(entry),
    )


def _published_size(entry: ModelEntry | None) -> int:
    """Of a whole target with layers of its own for drafting; no other catalogue entry tells a target's size."""
    known = speculators_for([entry.id] if entry else [], load_speculators(), kind="mtp")
    return sum(one.size for one in known)


def _is_file(name: str) -> bool:
    """An id has neither a slash nor the ending of a model file."""
    return "/" in name or name.endswith(".gguf")


def _own_draft(home: Home, entries: Mapping[str, ModelEntry], entry: ModelEntry | None) -> Found | None:
    """The draft that the lock joins with a target; None for one that stands alone."""
    if entry is None:
        return None
    if entry.role is Role.PAIR:
        return _find(home, entries, entry.id, "draft.gguf")
    mates = [one for one in entries.values() if one.pair and (one.pair, one.form) == (entry.pair, entry.form)]
    joined = [one for one in mates if one.role is Role.DRAFT]
    return _find(home, entries, joined[0].id, "") if joined and entry.role is Role.TARGET else None


def _find(home: Home, entries: Mapping[str, ModelEntry], name: str, part: str) -> Found:
    """A file as it is; what the lock names, only where its pinned files are here.

    Args:
        home: where fetched models are.
        entries: the lock.
        name: id or path.
        part: which file of a generated pair.
    """
    if _is_file(name):
        if not Path(name).exists():
            raise UsageProblem(f"{name}: no such file", hint="invoke compat --model FILE.gguf, or an id of the lock")
        return Found(header=read_model(Path(name)))
    entry = model_named(entries, name)
    if entry.is_checkpoint:
        why = "a checkpoint, which has to be converted first"
        return Found(absent=(_missing(entry, why, conversion_of(entry, entries.values())),))
    size = sum(shard.size for shard in entry.shards)
    if not entry.pinned:
        file = " --file FILE" if entry.local is not None else ""
        return Found(absent=(_missing(entry, "not pinned", f"invoke pin-model --model {entry.id}{file}"),))
    path = _shelved(home, entry, part)
    if path is None:
        return Found(absent=(_missing(entry, "not fetched", f"invoke fetch-models --model {entry.id}"),), size=size)
    return Found(header=read_model(path), size=size)


def _missing(entry: ModelEntry, why: str, hint: str) -> Answer:
    return Answer(rule="file", fit=Fit.UNKNOWN, reason=f"{entry.id} is {why}", hint=hint)


def _shelved(home: Home, entry: ModelEntry, part: str) -> Path | None:
    """The first file of a pinned model, where all are here in their pinned sizes; nothing is fetched or hashed."""
    if entry.generated is not None:
        path = folder_of(home, PAIRS[entry.generated.pair]) / part
        return path if path.is_file() else None
    files = files_of(home, entry)
    return files[0].path if files and not any(file.missing for file in files) else None
