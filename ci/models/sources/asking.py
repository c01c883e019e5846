"""One request for the bytes of a file: redirects, headers, and no credentials for hosts they were not given for."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from urllib.parse import urljoin, urlsplit

import requests
from urllib3.exceptions import HTTPError

from ci.errors import DownloadFailed, ModelNotOffered
from ci.files import CHUNK
from ci.models.head import fault_of_head
from ci.models.sources.answer import Answer, Origin, number, validator
from ci.redact import without_credentials

TIMEOUT_S = (10.0, 60.0)
"""Seconds to connect, and to wait for the next bytes."""
MAX_REDIRECTS = 5
REDIRECTS = (301, 302, 303, 307, 308)
BUSY = (408, 425, 429)
SERVER_ERROR = 500
REFUSED = (401, 403)
GONE = (404, 410)
TERMS = (
    "accept the model's terms on its page and export HF_TOKEN=... (it is sent to a Hugging Face repository only), "
    "then run the command again"
)
LOG_IN = (
    "the server wants a log-in, and none is sent to an address: download the file yourself, and pin it as a local "
    "model: invoke pin-model --model ID --file FILE"
)
OTHER_ADDRESS = "name the address of the file itself in ci/config/models.toml, then run the command again"
UNSAFE = (
    "check this machine's date and certificates (export REQUESTS_CA_BUNDLE=FILE names those of a proxy), "
    "then run the command again"
)
MOST_PATIENCE_S = 60.0
"""Seconds that a server may ask us to wait."""


class Broken(Exception):
    """The connection ended too early, or the server is busy: another try may go on, after `wait_s` if it says so."""

    def __init__(self, words: str, wait_s: float = 0.0) -> None:
        super().__init__(words)
        self.wait_s = wait_s


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One file to fetch.

    Attributes:
        address: where it is; http or https.
        size: bytes it must have, where that is pinned.
        sha256: digest it must have, where that is pinned: then bytes may follow bytes of a server that names neither.
        token: goes to the host of `address` and to no other.
        log_in: what a person does when the server refuses.
        fault_of_head: what the first bytes say it is, when it is not what it should be; a GGUF file, if nobody says.
    """

    address: str
    size: int | None = None
    sha256: str | None = None
    token: str | None = None
    log_in: str = LOG_IN
    fault_of_head: Callable[[bytes], str | None] = fault_of_head

    @property
    def shown(self) -> str:
        """The address as it may be printed."""
        return without_credentials(self.address)


@dataclass(frozen=True, kw_only=True, eq=False)
class Reply:
    """What came, and what it says of the file; its bytes can be taken once."""

    answer: Answer
    origin: Origin
    chunks: Iterator[bytes]


class _Session(requests.Session):
    """Leaves redirects alone: the library would read an address, and fail, before we have judged it."""

    def get_redirect_target(self, _: requests.Response) -> str | None:
        """None."""
        return None


@contextlib.contextmanager
def asked(wanted: Wanted, *, have: int, before: Origin | None) -> Iterator[Reply]:
    """Ask for all bytes from `have` on; `before` is the origin of those that are here.

    Raises:
        Broken: also from the block, while it takes the bytes.
        DownloadFailed: too many redirects, or one to nowhere.
    """
    with _Session() as session:
        with _faults(wanted):
            response, answers = _followed(session, wanted, have, before)
        with response:
            # counted here instead: the library would throw away the bytes it has when a connection ends early
            response.raw.enforce_content_length = answers[-1].encoded
            yield Reply(answer=answers[-1], origin=_origin(wanted, answers), chunks=_chunks(response, wanted))


@contextlib.contextmanager
def _faults(wanted: Wanted) -> Iterator[None]:
    """The libraries' errors as ours; a ValueError is an address that none of them can read."""
    try:
        yield
    except requests.exceptions.SSLError as unsafe:
        raise DownloadFailed(f"{wanted.shown}: {without_credentials(str(unsafe))}", hint=UNSAFE) from unsafe
    except ValueError as final:
        raise DownloadFailed(f"{wanted.shown}: {without_credentials(str(final))}", hint=OTHER_ADDRESS) from final
    except (requests.RequestException, HTTPError, OSError) as broken:
        raise Broken(without_credentials(str(broken))) from broken


def _chunks(response: requests.Response, wanted: Wanted) -> Iterator[bytes]:
    """Every byte as soon as it is here: none is lost when the next one does not come."""
    while True:
        with _faults(wanted):
            data = response.raw.read1(CHUNK, decode_content=True)
        if not data:
            return
        yield data


def _followed(
    session: requests.Session, wanted: Wanted, have: int, before: Origin | None
) -> tuple[requests.Response, Sequence[Answer]]:
    address, answers = wanted.address, list[Answer]()
    for _ in range(MAX_REDIRECTS + 1):
        headers = _headers(wanted, address, have, before)
        # a callable as `auth` keeps the library from looking for passwords in ~/.netrc
        response = session.get(
            address,
            headers=headers,
            auth=lambda request: request,
            allow_redirects=False,
            stream=True,
            timeout=TIMEOUT_S,
        )
        answers.append(_answer(response))
        if answers[-1].status not in REDIRECTS:
            return response, answers
        response.close()
        address = _next(wanted, address, answers[-1].headers.get("location", ""))
    raise DownloadFailed(f"{wanted.shown}: more than {MAX_REDIRECTS} redirects", hint=OTHER_ADDRESS)


def _headers(wanted: Wanted, address: str, have: int, before: Origin | None) -> dict[str, str]:
    # identity: compressed on the fly, bytes could neither be counted nor gone on from
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if before and before.tag:
            headers["If-Range"] = before.tag
    if wanted.token and _place(address) == _place(wanted.address):
        headers["Authorization"] = f"Bearer {wanted.token}"
    return headers


def _place(address: str) -> tuple[str, str]:
    found = urlsplit(address)
    return found.scheme, found.netloc


def _answer(response: requests.Response) -> Answer:
    return Answer(
        status=response.status_code, headers={name.lower(): value for name, value in response.headers.items()}
    )


def _next(wanted: Wanted, address: str, location: str) -> str:
    target = urljoin(address, location)
    safe = ("https",) if urlsplit(address).scheme == "https" else ("http", "https")
    if not location or urlsplit(target).scheme not in safe:
        raise DownloadFailed(
            f"{wanted.shown}: redirects to {without_credentials(location) or 'nothing'}", hint=OTHER_ADDRESS
        )
    return target


def _origin(wanted: Wanted, answers: Sequence[Answer]) -> Origin:
    """What is known of the file: the hub names it before it redirects to a host that may call it something else."""
    last = answers[-1]
    linked = _first_of(answers, "x-linked-etag").removeprefix("W/").strip('"')
    size = number(_first_of(answers, "x-linked-size"))
    return Origin(
        address=wanted.shown,
        linked=linked or None,
        tag=validator(last.headers),
        size=last.total if size is None else size,
    )


def _first_of(answers: Sequence[Answer], header: str) -> str:
    return next((answer.headers[header] for answer in answers if header in answer.headers), "")


def refuse(wanted: Wanted, answer: Answer) -> None:
    """Say what a status without bytes means.

    Raises:
        Broken: another try may bring them.
        DownloadFailed, ModelNotOffered: it will not.
    """
    status = answer.status
    if status in BUSY or status >= SERVER_ERROR:
        raise Broken(f"the server answers {status}", wait_s=asked_wait_s(answer.headers.get("retry-after", "")))
    if status in REFUSED:
        raise DownloadFailed(f"{wanted.shown}: access refused ({status})", hint=wanted.log_in)
    if status in GONE:
        raise ModelNotOffered(f"{wanted.shown}: the server has no such file ({status})")
    raise DownloadFailed(f"{wanted.shown}: the server answers {status}, and sends no file", hint=OTHER_ADDRESS)


def asked_wait_s(text: str) -> float:
    """Seconds that Retry-After asks for (RFC 9110, 10.2.3: a number or a date), bounded; 0 for anything else."""
    seconds: float | None = number(text.strip())
    if seconds is None:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time()
        except (ValueError, OverflowError):
            return 0.0
    return min(max(seconds, 0.0), MOST_PATIENCE_S)
