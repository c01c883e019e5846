"""The one door to huggingface_hub: which commit and which files a repository has, and where a file's bytes are.

The bytes themselves come by `ci.models.sources.transfer`, as those of every address. HF_ENDPOINT names another hub or
a mirror; HF_TOKEN is sent to that host only. A token that a log-in left in a file is not looked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from httpx2 import HTTPError
from huggingface_hub import HfApi, ModelInfo, constants, hf_hub_url
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from ci.errors import DownloadFailed, ModelNotOffered, SpeedforkError
from ci.models.lock import FromHub
from ci.models.sources.asking import TERMS
from ci.models.sources.hub_settings import endpoint_of, token_of
from ci.redact import without_credentials

TIMEOUT_S = 30.0
FORBIDDEN = 403
MOST_OF_LICENCE = 100
"""Characters of what a hub calls the licence."""
constants.HF_HUB_DISABLE_TELEMETRY = True  # only what was asked for goes out
MISSING = 404


@dataclass(frozen=True, kw_only=True)
class HubFile:
    """A file of a repository: size in bytes, SHA-256 and git's own id, as far as the hub states them.

    It states the SHA-256 of large files only: those that are not kept in git.
    """

    name: str
    size: int | None
    sha256: str | None
    blob: str | None


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a repository is at one commit; `licence` as its card states it."""

    commit: str
    files: tuple[HubFile, ...]
    licence: str | None


def address_of(source: FromHub, file: str, environ: Mapping[str, str]) -> str:
    """Where the bytes of a file are, at the pinned commit."""
    return hf_hub_url(source.repo, file, revision=source.revision, endpoint=endpoint_of(environ))


def look_up(repo: str, revision: str, environ: Mapping[str, str]) -> Found:
    """What a repository is at a branch, tag or commit.

    Raises:
        ModelNotOffered: no such repository or revision.
        DownloadFailed: access refused, no answer, or one that cannot be read.
    """
    shown = f"{without_credentials(endpoint_of(environ))}/{repo} at {revision}"
    api = HfApi(endpoint=endpoint_of(environ), token=token_of(environ) or False)
    try:
        info = api.model_info(repo, revision=revision, files_metadata=True, timeout=TIMEOUT_S)
    except (HTTPError, OSError) as failed:
        raise _failed(failed, shown) from failed
    except (KeyError, TypeError, ValueError) as garbled:
        raise DownloadFailed(f"{shown}: an answer that cannot be read ({garbled!r})") from garbled
    return _found(info, shown)


def _failed(error: Exception, shown: str) -> SpeedforkError:
    """What an error of the library means to a user."""
    status = error.response.status_code if isinstance(error, HfHubHTTPError) else None
    if isinstance(error, OfflineModeIsEnabled):
        return DownloadFailed(f"{shown}: HF_HUB_OFFLINE is set", hint="unset HF_HUB_OFFLINE")
    if isinstance(error, GatedRepoError) or status == FORBIDDEN:
        return DownloadFailed(f"{shown}: access refused: accept the model's terms", hint=TERMS)
    if isinstance(error, RevisionNotFoundError):
        return ModelNotOffered(f"{shown}: no such revision", hint="name another: --revision REVISION")
    if isinstance(error, RepositoryNotFoundError) or status == MISSING:
        return ModelNotOffered(f"{shown}: no such repository, or a private one", hint=TERMS)
    first_line = str(error).strip().partition("\n")[0]
    return DownloadFailed(f"{shown}: {without_credentials(first_line) or type(error).__name__}")


def _found(info: ModelInfo, shown: str) -> Found:
    if not info.sha:
        raise DownloadFailed(f"{shown}: the answer names no commit")
    files = tuple(
        HubFile(name=each.rfilename, size=each.size, sha256=each.lfs.sha256 if each.lfs else None, blob=each.blob_id)
        for each in info.siblings or ()
    )
    licence = getattr(info.card_data, "license", None)
    return Found(commit=info.sha, files=files, licence=_plain(licence) if isinstance(licence, str) else None)


def _plain(licence: str) -> str | None:
    """What can stand in a table and in models.toml of it; None of nothing."""
    printable = "".join(letter if letter.isprintable() else " " for letter in licence[: 10 * MOST_OF_LICENCE])
    return " ".join(printable.split())[:MOST_OF_LICENCE].strip() or None
