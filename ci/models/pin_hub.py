"""Which files of a Hugging Face repository a model is, and which bytes those are."""

import hashlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from ci.errors import DigestMismatch, ModelNotOffered, UsageProblem
from ci.files import CHUNK, exclusive
from ci.home import Home
from ci.models import checkpoints
from ci.models.head import fault_of_answer
from ci.models.lock import FromHub, ModelEntry, Shard
from ci.models.plain_names import require_plain_paths
from ci.models.shard_names import split_names
from ci.models.shelf import Report, digest, shard_of
from ci.models.sources.asking import TERMS, Wanted
from ci.models.sources.hub import Found, HubFile, address_of
from ci.models.sources.hub_settings import token_of
from ci.models.sources.transfer import Partial, transfer

ENDING = ".gguf"
FEW = 12
"""Files of a repository that a message lists."""


def hub_model(file: str | None, found: Found, repo: str, model: str) -> tuple[Shard, ...]:
    """The files of one GGUF model of a repository, by the digests that the hub states."""
    offered = {each.name: each for each in found.files}
    names = siblings(file or only_model(list(offered), repo), list(offered), repo)
    require_plain_paths(names, repo, model)
    return tuple(shard_of(name, offered[name].size, offered[name].sha256, repo) for name in names)


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


def hub_checkpoint(
    home: Home, entry: ModelEntry, source: FromHub, found: Found, environ: Mapping[str, str], report: Report
) -> tuple[Shard, ...]:
    """The files of a checkpoint; the small ones, whose digests the hub does not state, are fetched to be hashed."""
    offered = {each.name: each for each in found.files if each.size != 0}  # an empty file says nothing
    if fault := checkpoints.fault_of(list(offered), weights=entry.has_weights):
        raise ModelNotOffered(f"{source.repo}: {fault}")
    names = checkpoints.wanted(list(offered), weights=entry.has_weights)
    require_plain_paths(names, source.repo, entry.id)
    at, shelf = source.model_copy(update={"revision": found.commit}), home.models / entry.id
    with exclusive(shelf / ".lock"):
        return tuple(
            shard_of(name, file.size, file.sha256 or _sha256_of(file, at, shelf, environ, report), source.repo)
            for name in names
            for file in (offered[name],)
        )


def _sha256_of(file: HubFile, at: FromHub, shelf: Path, environ: Mapping[str, str], report: Report) -> str:
    """The digest of a file that the hub knows by git's id only, once that was compared."""
    if file.size is None or file.blob is None:
        raise ModelNotOffered(
            f"{at.repo} states neither SHA-256 nor git's id for {file.name}, so it cannot be pinned"
        )
    wanted = Wanted(
        address=address_of(at, file.name, environ),
        size=file.size,
        token=token_of(environ),
        log_in=TERMS,
        fault_of_head=fault_of_answer,
    )
    partial = Partial.of(shelf / file.name)  # never the file itself, which may be the one that is pinned now
    try:
        transfer(wanted, partial, report, threading.Event())
        if (found := git_id(partial.path)) != file.blob:
            raise DigestMismatch(f"{wanted.shown}: git's id of it is {found}, the hub states {file.blob}")
        return digest(partial.path, report)
    finally:
        partial.drop()


def git_id(path: Path) -> str:
    """Git's id of a file: hex SHA-1 of `blob SIZE`, a zero byte and its bytes (gitobjects in Git's book)."""
    state = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)  # SHA-256 is the pin
    with path.open("rb") as stream:
        while data := stream.read(CHUNK):
            state.update(data)
    return state.hexdigest()


def _plain(name: str) -> str:
    return PurePosixPath(name).name
