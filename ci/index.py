"""The one door to the package index: list files, download a pinned one, and let only the pinned bytes get its name.

Where the index is comes from pip's own settings (PIP_INDEX_URL, else `pip config`), else from the library's
default. Nothing is installed and no build hook runs: files are data here.
"""

import ast
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import requests
import tenacity
from pypi_simple import (
    PYPI_SIMPLE_ENDPOINT,
    DistributionPackage,
    NoSuchProjectError,
    PyPISimple,
    UnsupportedRepoVersionError,
)

from ci.errors import DigestMismatch, IndexUnreachable, UsageProblem
from ci.files import no_space_as_error, require_free_space, sha256_file, staged_file
from ci.process import run, scrubbed_env
from ci.redact import without_credentials

OnProgress = Callable[[int, int | None], None]
"""Called with bytes so far and bytes in all (None when the index does not say)."""

T = TypeVar("T")

TRIES = 4
"""One try and three more: an index that fails for longer than their waits is down, not busy."""
WAITS = tenacity.wait_exponential(multiplier=0.5, max=8)
"""Half a second, then doubled."""
TIMEOUT_S = (10.0, 60.0)
"""Seconds to connect, and to wait for the next bytes."""
TOO_MANY_REQUESTS = 429
SERVER_ERROR = 500
_PIP_PLACES = ("PIP_CONFIG_FILE", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "VIRTUAL_ENV")


@dataclass(frozen=True, kw_only=True)
class IndexSettings:
    """Where the index is, and the certificates to trust when they are not the usual ones."""

    endpoint: str
    cert: str | None = None


@dataclass(frozen=True, kw_only=True)
class IndexFile:
    """One file that the index offers; `sha256` and `size` (bytes) where the index states them."""

    filename: str
    sha256: str | None
    size: int | None


def settings_from(environ: Mapping[str, str], pip_config: Mapping[str, str]) -> IndexSettings:
    """Choose endpoint and certificates: environment first, then pip's configuration, then the default."""
    endpoint = environ.get("PIP_INDEX_URL") or pip_config.get("global.index-url") or PYPI_SIMPLE_ENDPOINT
    return IndexSettings(endpoint=endpoint, cert=environ.get("PIP_CERT") or pip_config.get("global.cert"))


def parse_pip_config(listing: str) -> dict[str, str]:
    """Values by key out of what `pip config list` prints (`key='value'` lines, the value as a Python literal)."""
    pairs = (line.partition("=") for line in listing.splitlines())
    return {key.strip(): _literal(value) for key, equals, value in pairs if equals}


def _literal(text: str) -> str:
    try:
        return str(ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError):
        return text.strip()


def read_settings(environ: Mapping[str, str]) -> IndexSettings:
    """The settings of this machine; pip is asked only for what the environment leaves open."""
    if environ.get("PIP_INDEX_URL") and environ.get("PIP_CERT"):
        return settings_from(environ, {})
    child = scrubbed_env(environ, extra={name: environ[name] for name in _PIP_PLACES if name in environ})
    # exit code 1: no pip in this environment, or nothing configured
    listing = run([sys.executable, "-m", "pip", "config", "list"], env=child, ok_codes=(0, 1)).text
    return settings_from(environ, parse_pip_config(listing))


def list_files(project: str, *, environ: Mapping[str, str] | None = None) -> tuple[IndexFile, ...]:
    """What the index says about the files of a project, in its order.

    Raises:
        IndexUnreachable: no answer, or no such project.
    """
    with _client(os.environ if environ is None else environ) as client:
        found = _packages(client, project)
    return tuple(
        IndexFile(filename=package.filename, sha256=package.digests.get("sha256"), size=package.size)
        for package in found
    )


def download(
    project: str,
    filename: str,
    sha256: str | None,
    dest_dir: Path,
    on_progress: OnProgress | None = None,
    *,
    environ: Mapping[str, str] | None = None,
) -> Path:
    """Fetch a file; one that is here with the pinned bytes is answered without any network.

    Args:
        project: name of the project on the index.
        filename: the file's name there, and its name in `dest_dir`.
        sha256: the pin, in hex; None when there is none yet, and only the index's own digest can count.
        dest_dir: created when missing; the file gets its name there only when its bytes are the pinned ones.
        on_progress: called now and then with bytes done and bytes in all.
        environ: environment to read pip's settings from; this process's when omitted.

    Raises:
        IndexUnreachable: no answer after some tries, no such project or file, or an answer with an error code.
        DigestMismatch: the index offers or sends other bytes than the pinned ones; nothing is kept.
        DiskFull: no room; nothing is kept.
    """
    final = dest_dir / _plain_name(filename)
    if final.is_file():
        if sha256_file(final) == sha256:
            return final
        final.unlink()
    with _client(os.environ if environ is None else environ) as client:
        package = _find(client, project, filename)
        _check_announced(package, sha256)
        require_free_space(dest_dir, package.size or 0, what=filename)
        with no_space_as_error(str(final)), staged_file(final) as staging:
            _transfer(client, package, staging, on_progress)
            _check_received(filename, sha256_file(staging), sha256 or package.digests.get("sha256"))
            staging.chmod(0o644)
    return final


def _plain_name(filename: str) -> str:
    if filename in ("", ".", "..") or Path(filename).name != filename:
        raise UsageProblem(f"{filename!r} is not a plain file name", hint="correct the file name in the lock")
    return filename


def _check_announced(package: DistributionPackage, pin: str | None) -> None:
    announced = package.digests.get("sha256")
    if None not in (announced, pin) and announced != pin:
        raise DigestMismatch(
            f"{package.filename}: the index announces sha256 {announced}, the pin is {pin}",
            hint="the index offers another file than the pinned one: use another index (PIP_INDEX_URL)",
        )


def _check_received(filename: str, found: str, pin: str | None) -> None:
    if pin is not None and found != pin:
        raise DigestMismatch(f"{filename}: the bytes received have sha256 {found}, the pin is {pin}")


def _client(environ: Mapping[str, str]) -> PyPISimple:
    settings = read_settings(environ)
    session = requests.Session()
    if settings.cert:
        session.verify = settings.cert
    return PyPISimple(settings.endpoint, session=session)


def _find(client: PyPISimple, project: str, filename: str) -> DistributionPackage:
    packages = _packages(client, project)
    for package in packages:
        if package.filename == filename:
            return package
    shown = without_credentials(client.endpoint)
    raise IndexUnreachable(f"{filename}: the index at {shown} has {len(packages)} file(s) of {project}, not this one")


def _packages(client: PyPISimple, project: str) -> list[DistributionPackage]:
    return _asked(lambda: client.get_project_page(project, timeout=TIMEOUT_S).packages, f"project {project}", client)


def _transfer(client: PyPISimple, package: DistributionPackage, to: Path, on_progress: OnProgress | None) -> None:
    # identity: a server that compresses on the fly would otherwise change the bytes we hash
    headers = {"Accept-Encoding": "identity"}

    def once() -> None:
        client.download_package(
            package,
            to,
            verify=False,
            progress=lambda total: _Meter(on_progress, total),
            timeout=TIMEOUT_S,
            headers=headers,
            keep_on_error=True,
        )

    _asked(once, package.filename, client)


def _asked(question: Callable[[], T], what: str, client: PyPISimple) -> T:
    """Ask, again after a pause where that can help; every way in which an index can fail becomes one error."""
    patiently = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(TRIES),
        wait=WAITS,
        retry=tenacity.retry_if_exception(is_transient),
        reraise=True,
    )
    try:
        return patiently(question)
    except NoSuchProjectError as missing:
        shown = without_credentials(client.endpoint)
        raise IndexUnreachable(f"{what}: the index at {shown} does not know it") from missing
    except (requests.RequestException, UnsupportedRepoVersionError, ValueError) as failed:
        raise IndexUnreachable(f"{what}: {without_credentials(str(failed))}") from failed


def is_transient(error: BaseException) -> bool:
    """Whether the same question may get another answer soon: broken connections, busy or failing servers."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        code = error.response.status_code
        return code == TOO_MANY_REQUESTS or code >= SERVER_ERROR
    if isinstance(error, requests.exceptions.SSLError):
        return False
    broken = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
    return isinstance(error, broken)


class _Meter:
    """Adapts the library's progress tracker to `OnProgress`."""

    def __init__(self, report: OnProgress | None, total: int | None) -> None:
        self._report = report
        self._total = total
        self._done = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to close."""

    def update(self, increment: int) -> None:
        self._done += increment
        if self._report:
            self._report(self._done, self._total)
