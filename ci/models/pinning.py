"""Pin a model: ask its source which bytes it is, and put the answer into models.toml."""

import shlex
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ci.config import parse
from ci.console import Console
from ci.errors import ConfigProblem, ModelNotOffered, NotAModel, UsageProblem
from ci.files import exclusive, no_space_as_error, staged_file
from ci.home import Home
from ci.models.head import HEAD, fault_of_head
from ci.models.lock import FromHub, FromUrl, Local, ModelEntry, Shard, load_models, split_names
from ci.models.pin_text import with_pin
from ci.models.shelf import Report, Stamp, digest
from ci.models.sources.asking import Wanted
from ci.models.sources.transfer import Partial, transfer
from ci.outcome import JsonMap

UNKNOWN = "unknown"
"""The licence of an entry that nobody has looked up yet."""
ENDING = ".gguf"
MAIN = "main"
FEW = 12
"""Files of a repository that a message lists."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line asked for; empty strings mean the default.

    Attributes:
        model: id of an entry.
        revision: branch, tag or commit of a Hugging Face repository; its main branch when empty.
        file: the file in the repository, or the path of a local one.
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
        return hub_pin(entry, entry.hub, asked, environ)
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


def hub_pin(entry: ModelEntry, source: FromHub, asked: Asked, environ: Mapping[str, str]) -> Pin:
    """The commit, and sizes and digests as the hub states them: nothing is downloaded."""
    from ci.models.sources.hub import look_up

    found = look_up(source.repo, asked.revision or MAIN, environ)
    offered = {file.name: file for file in found.files}
    file = asked.file or source.file or only_model(list(offered), source.repo)
    shards = tuple(
        shard_of(name, offered[name].size, offered[name].sha256, source.repo)
        for name in siblings(file, list(offered), source.repo)
    )
    own = {"licence": found.licence} if found.licence and entry.licence == UNKNOWN else {}
    notes = () if found.licence else (f"{source.repo} states no licence: read its card before you use the model",)
    keys = ({"file": shards[0].file} if asked.file else {}) | {"revision": found.commit}
    return Pin(source="hub", shards=shards, own=own, keys=keys, notes=notes)


def only_model(names: Sequence[str], repo: str) -> str:
    """The one model among the files of a repository; of a split one its first file.

    Raises:
        ModelNotOffered: there is none.
        UsageProblem: there are several; lists them.
    """
    models = [name for name in names if name.endswith(ENDING) and split_names(_plain(name))[:1] == (_plain(name),)]
    if len(models) == 1:
        return models[0]
    if not models:
        raise ModelNotOffered(f"{repo} has no {ENDING} file among its {len(names)} files")
    listed = "".join(f"\n    {name}" for name in models[:FEW])
    raise UsageProblem(f"{repo} has {len(models)} models{listed}", hint="choose one: --file FILE")


def siblings(file: str, names: Sequence[str], repo: str) -> tuple[str, ...]:
    """All files of the model that a file belongs to, in order, where the repository has them.

    Raises:
        ModelNotOffered: one is missing.
    """
    wanted = tuple(str(PurePosixPath(file).with_name(name)) for name in split_names(_plain(file)))
    missing = [name for name in (file, *wanted) if name not in names]
    if missing:
        raise ModelNotOffered(f"{repo} has no {missing[0]}", hint="name a file of the repository: --file FILE")
    return wanted


def shard_of(name: str, size: int | None, sha256: str | None, shown: str) -> Shard:
    """The pin of a file, from what its source states.

    Raises:
        ModelNotOffered: the source states no digest, or no size.
        ConfigProblem: a name or digest of another shape.
    """
    if size is None or sha256 is None:
        raise ModelNotOffered(f"{shown} states no size or SHA-256 for {name}, so it cannot be pinned")
    data: JsonMap = {"file": name, "size": size, "sha256": sha256}
    return parse(Shard, data, source=f"{shown}: {name}", hint="such a file cannot be pinned")


def local_pin(home: Home, entry: ModelEntry, source: Local, asked: Asked, report: Report) -> Pin:
    """The place of a file of the user's, and its digest."""
    if not (asked.file or source.path):
        raise UsageProblem(
            f"model {entry.id!r} is a local file, and nobody has said which",
            hint=f"invoke pin-model --model {entry.id} --file FILE",
        )
    file = Path(asked.file or source.path or "").expanduser().absolute()  # the hub's cache links to nameless blobs
    paths = [file.with_name(name) for name in split_names(file.name)]
    shards = tuple(_local_shard(home, entry, path, report) for path in paths)
    return Pin(source="local", shards=shards, keys={"path": str(paths[0])})


def _local_shard(home: Home, entry: ModelEntry, path: Path, report: Report) -> Shard:
    if not path.is_file():
        raise UsageProblem(f"{path}: no such file", hint=f"invoke pin-model --model {entry.id} --file FILE")
    with path.open("rb") as stream:
        fault = fault_of_head(stream.read(HEAD))
    if fault:
        raise NotAModel(f"{path}: {fault}", hint="name a .gguf file")
    shard = shard_of(path.name, path.stat().st_size, digest(path, report), str(path.parent))
    Stamp.of(home.models / entry.id, shard).put(path, shard)
    return shard


def url_pin(home: Home, entry: ModelEntry, source: FromUrl, report: Report) -> Pin:
    """The digests of the files behind an address: they are downloaded, and stay on the shelf."""
    shelf = home.models / entry.id
    with exclusive(shelf / ".lock"):
        shards = tuple(_url_shard(shelf, source, name, report) for name in split_names(source.name))
    return Pin(source="url", shards=shards)


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
    text = path.read_text(encoding="utf-8")
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
        staging.write_text(text, encoding="utf-8")
        if load_models(staging) != expected:
            raise ConfigProblem(f"{path}: the pin of {entry.id} has no place in it", hint=f"pin {entry.id} by hand")
        staging.chmod(0o644)


def _plain(name: str) -> str:
    return PurePosixPath(name).name
