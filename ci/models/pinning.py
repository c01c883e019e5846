"""Pin a model: ask its source which bytes it is, and put the answer into models.toml."""

import shlex
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ci.config import parse
from ci.console import Console
from ci.errors import CheckpointProblem, ConfigProblem, NotAModel, UsageProblem
from ci.files import exclusive, no_space_as_error, staged_file
from ci.home import Home
from ci.models import checkpoints
from ci.models.head import HEAD, fault_of_head
from ci.models.lock import FromHub, FromUrl, Local, ModelEntry, Shard, load_models
from ci.models.pin_text import with_pin
from ci.models.plain_names import require_plain_files, require_plain_paths
from ci.models.shard_names import split_names
from ci.models.shelf import Report, Stamp, digest, require_no_folder, shard_of
from ci.models.sources.asking import Wanted
from ci.models.sources.hub_settings import endpoint_of
from ci.models.sources.transfer import Partial, transfer

UNKNOWN = "unknown"
"""The licence of an entry that nobody has looked up yet."""
MAIN = "main"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line asked for; empty strings mean the default.

    Attributes:
        model: id of an entry.
        revision: branch, tag or commit of a Hugging Face repository; its main branch when empty.
        file: the file in the repository, or the path of a local one; the folder of a local checkpoint.
    """

    model: str
    revision: str = ""
    file: str = ""

    @property
    def anew(self) -> bool:
        """Whether a pinned entry is to be pinned again."""
        return bool(self.revision or self.file)

    @property
    def command(self) -> str:
        """What a person types to ask for it."""
        options = (("--model", self.model), ("--revision", self.revision), ("--file", self.file))
        return " ".join(("invoke pin-model", *(f"{name} {shlex.quote(value)}" for name, value in options if value)))


@dataclass(frozen=True, kw_only=True)
class Pin:
    """What an entry gets: files, keys of the entry and of its source's table; and what a person should know."""

    source: str
    shards: tuple[Shard, ...]
    own: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def put_on(self, entry: ModelEntry) -> ModelEntry:
        """The entry with this pin."""
        source = getattr(entry, self.source).model_dump() | dict(self.keys) | {"shard": self.shards}
        data = entry.model_dump() | dict(self.own) | {self.source: source}
        return parse(ModelEntry, data, source=f"the pin of {entry.id}")


def new_pin(home: Home, entry: ModelEntry, asked: Asked, console: Console, environ: Mapping[str, str]) -> Pin:
    """Ask the source of an entry which bytes it is.

    Raises:
        UsageProblem: an option that the source does not have, or several models to choose from.
        ModelNotOffered: the source does not have the model.
        NotAModel: it has something else.
        SpeedforkError: the source does not answer, or there is no room.
    """
    if asked.revision and entry.hub is None:
        raise UsageProblem(f"model {entry.id!r} does not come from a hub: it has no revision", hint="leave it away")
    if entry.hub is not None:
        with console.task(f"model {entry.id}") as task:
            return hub_pin(home, entry, entry.hub, asked, environ, task.update)
    if entry.local is not None:
        with console.task(f"model {entry.id}") as task:
            return local_pin(home, entry, entry.local, asked, task.update)
    if entry.url is not None and not asked.file:
        with console.task(f"model {entry.id}") as task:
            return url_pin(home, entry, entry.url, task.update)
    raise UsageProblem(
        f"model {entry.id!r} comes from one place: it has no --file to choose",
        hint="edit its source in ci/config/models.toml, and remove its pins there to pin it again",
    )


def hub_pin(
    home: Home, entry: ModelEntry, source: FromHub, asked: Asked, environ: Mapping[str, str], report: Report
) -> Pin:
    """The commit, and sizes and digests as the hub states them; no weights are downloaded."""
    endpoint_of(environ)
    from ci.models.pin_hub import hub_checkpoint, hub_model
    from ci.models.sources.hub import look_up

    if entry.is_checkpoint and asked.file:
        raise UsageProblem(f"model {entry.id!r} is a checkpoint, which is several files", hint="leave --file away")
    found = look_up(source.repo, asked.revision or MAIN, environ)
    keys = {"revision": found.commit}
    if entry.is_checkpoint:
        shards = hub_checkpoint(home, entry, source, found, environ, report)
    else:
        shards = hub_model(asked.file or source.file, found, source.repo, entry.id)
        keys = ({"file": shards[0].file} if asked.file else {}) | keys
    own = {"licence": found.licence} if found.licence and entry.licence == UNKNOWN else {}
    notes = () if found.licence else (f"{source.repo} states no licence: read its card before you use the model",)
    return Pin(source="hub", shards=shards, own=own, keys=keys, notes=notes)


def local_pin(home: Home, entry: ModelEntry, source: Local, asked: Asked, report: Report) -> Pin:
    """The place of a model of the user's, and its digests."""
    if not (asked.file or source.path):
        kind = "folder" if entry.is_checkpoint else "file"
        raise UsageProblem(
            f"model {entry.id!r} is a local {kind}, and nobody has said which",
            hint=f"invoke pin-model --model {entry.id} --file {kind.upper()}",
        )
    file = Path(asked.file or source.path or "").expanduser().absolute()  # the hub's cache links to nameless blobs
    if entry.is_checkpoint:
        parts = _local_parts(home, entry, file, report)
        return Pin(source="local", shards=parts, keys={"path": str(file)}, notes=_licence_notes(entry))
    paths = _local_files(entry, file)
    shards = tuple(_hashed(home, entry, path, report) for path in paths)
    return Pin(source="local", shards=shards, keys={"path": str(paths[0])}, notes=_licence_notes(entry))


def _licence_notes(entry: ModelEntry) -> tuple[str, ...]:
    """What a person does where the source states no licence."""
    if entry.licence != UNKNOWN:
        return ()
    return (f"the licence of {entry.id} is unknown: read the model's card, then set licence in its entry",)


def _local_parts(home: Home, entry: ModelEntry, folder: Path, report: Report) -> tuple[Shard, ...]:
    if not folder.is_dir():
        raise UsageProblem(f"{folder}: no such folder", hint=f"invoke pin-model --model {entry.id} --file FOLDER")
    there = [path.name for path in folder.iterdir() if path.is_file() and path.stat().st_size]
    if fault := checkpoints.fault_of(there, weights=entry.has_weights):
        raise CheckpointProblem(f"{folder}: {fault}")
    names = checkpoints.wanted(there, weights=entry.has_weights)
    require_plain_paths(names, str(folder), entry.id)
    return tuple(_hashed(home, entry, folder / name, report) for name in names)


def _local_files(entry: ModelEntry, file: Path) -> tuple[Path, ...]:
    """All files of a model on this machine; what is wrong with one is told before any is hashed."""
    paths = tuple(file.with_name(name) for name in split_names(file.name)) if file.name else (file,)
    for path in (file, *paths):
        if not path.is_file():
            raise UsageProblem(f"{path}: no such file", hint=f"invoke pin-model --model {entry.id} --file FILE")
    require_plain_files(paths, entry.id)
    for path in paths:
        with path.open("rb") as stream:
            fault = fault_of_head(stream.read(HEAD))
        if fault:
            raise NotAModel(f"{path}: {fault}", hint="name a .gguf file")
    return paths


def _hashed(home: Home, entry: ModelEntry, path: Path, report: Report) -> Shard:
    shard = shard_of(path.name, path.stat().st_size, digest(path, report), str(path.parent))
    Stamp.of(home.models / entry.id, shard).put(path, shard)
    return shard


def url_pin(home: Home, entry: ModelEntry, source: FromUrl, report: Report) -> Pin:
    """The digests of the files behind an address: they are downloaded, and stay on the shelf."""
    shelf, names = home.models / entry.id, split_names(source.name)
    require_plain_paths(names, source.address, entry.id)
    for name in names:
        require_no_folder(shelf / name)
        require_no_folder(Partial.of(shelf / name).path)
    with exclusive(shelf / ".lock"):
        shards = tuple(_url_shard(shelf, source, name, report) for name in names)
    return Pin(source="url", shards=shards, notes=_licence_notes(entry))


def _url_shard(shelf: Path, source: FromUrl, name: str, report: Report) -> Shard:
    final = shelf / name
    partial = Partial.of(final)
    wanted = Wanted(address=source.beside(name))
    transfer(wanted, partial, report, threading.Event())
    shard = shard_of(name, partial.path.stat().st_size, digest(partial.path, report), wanted.shown)
    partial.finish(final)
    Stamp.of(shelf, shard).put(final, shard)
    return shard


def place_of(entry: ModelEntry, path: Path) -> int:
    """Which entry of a lock it is, counted from 0."""
    return list(load_models(path)).index(entry.id)


def pinned_text(path: Path, entry: ModelEntry, pin: Pin) -> str:
    """The lock's text with the pin of one entry; nothing is written.

    Raises:
        ConfigProblem: the entry is not written as tables of its own.
    """
    text = path.read_bytes().decode()  # with its line ends as they are
    return with_pin(text, place_of(entry, path), pin.source, own=pin.own, keys=pin.keys, shards=pin.shards)


def write_pin(path: Path, entry: ModelEntry, pin: Pin) -> None:
    """Put the pin into the lock's file; what was written is read back before the file gets its name.

    Raises:
        ConfigProblem: as `pinned_text`, or the result does not say what it should; the file is as it was.
        DiskFull: the file is as it was.
    """
    expected = {**load_models(path), entry.id: pin.put_on(entry)}
    text = pinned_text(path, entry, pin)
    with no_space_as_error(str(path)), staged_file(path) as staging:
        staging.write_bytes(text.encode())
        if load_models(staging) != expected:
            raise ConfigProblem(f"{path}: the pin of {entry.id} has no place in it", hint=f"pin {entry.id} by hand")
        staging.chmod(0o644)
