"""HTTP servers on 127.0.0.1 that send model files, and fail in the ways that servers, proxies and mirrors do."""

import contextlib
import gzip
import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.helpers.made_models import sha256

COMMIT = "c0ffee" + "0" * 34


class Fault(Enum):
    """What a server does wrong."""

    NO_RANGES = auto()  # answers 200 with all of the file, whatever was asked for
    FROM_START = auto()  # answers 206, and begins at 0
    CUT = auto()  # closes the connection in the middle, after promising all
    CUT_SILENTLY = auto()  # the same without having promised a length
    GZIP = auto()  # compresses, although identity was asked for
    NO_TAG = auto()  # gives no ETag, so it cannot honour If-Range
    DEAF_TAG = auto()  # gives an ETag, and takes no notice of If-Range
    UNSATISFIABLE = auto()  # answers 416 to every range, with a text as its body
    BUSY = auto()  # answers 503
    TOO_MUCH = auto()  # sends more than it should, without a length


@dataclass(kw_only=True)
class Served:
    """A file: its bytes, and the faults of the next `times` answers, which end at byte `cut` where they end early."""

    content: bytes
    tag: str = '"v1"'
    faults: frozenset[Fault] = frozenset()
    times: int = 1 << 30
    cut: int = 700
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    started: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event | None = None

    def next_faults(self) -> frozenset[Fault]:
        self.times -= 1
        return self.faults if self.times >= 0 else frozenset()


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request that came; names of headers in lower case."""

    path: str
    headers: Mapping[str, str]


@dataclass(kw_only=True)
class Site:
    """A host: files and redirects by path, and what was asked of it, in order."""

    files: dict[str, Served] = field(default_factory=dict)
    redirects: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    url: str = ""

    @property
    def ranges(self) -> list[str | None]:
        """The Range of every request."""
        return [each.headers.get("range") for each in self.asked]


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        self.site.asked.append(Asked(path=self.path, headers={k.lower(): v for k, v in self.headers.items()}))
        path = self.path.partition("?")[0]
        if path in self.site.redirects:
            target, headers = self.site.redirects[path]
            self._head(302, {"Location": target, "Content-Length": "0", **headers})
        elif path in self.site.files:
            with contextlib.suppress(ConnectionError):  # the client may have seen enough
                self._send(self.site.files[path])
        else:
            self._whole(404, b"no such thing", {})

    def _send(self, served: Served) -> None:
        faults = served.next_faults()
        tag = {} if Fault.NO_TAG in faults else {"ETag": served.tag}
        if Fault.BUSY in faults or served.status != 200:
            self._whole(503 if Fault.BUSY in faults else served.status, b"not now", served.headers)
            return
        start = self._start(served, faults)
        total = len(served.content)
        if start is not None and (Fault.UNSATISFIABLE in faults or start >= total):
            self._whole(416, b"<html>no such range", {"Content-Range": f"bytes */{total}"})
            return
        if start is not None:
            first = 0 if Fault.FROM_START in faults else start
            part = {"Content-Range": f"bytes {first}-{total - 1}/{total}"}
            self._body(206, served, faults, served.content[first:], {**tag, **part}, cut=served.cut - first)
            return
        self._body(200, served, faults, served.content, tag, cut=served.cut)

    def _start(self, served: Served, faults: frozenset[Fault]) -> int | None:
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        changed = condition is not None and condition != served.tag and Fault.DEAF_TAG not in faults
        return None if asked is None or Fault.NO_RANGES in faults or changed else int(asked[1])

    def _body(
        self, code: int, served: Served, faults: frozenset[Fault], body: bytes, headers: dict[str, str], *, cut: int
    ) -> None:
        if Fault.GZIP in faults:
            body, headers = gzip.compress(body), {**headers, "Content-Encoding": "gzip"}
        if Fault.TOO_MUCH in faults:
            body += b"more"
        if not faults & {Fault.CUT_SILENTLY, Fault.TOO_MUCH}:
            headers = {**headers, "Content-Length": str(len(body))}
        self._head(code, headers)
        self.close_connection = True
        early = bool(faults & {Fault.CUT, Fault.CUT_SILENTLY})
        self._drip(served, body[: max(cut, 0)] if early else body)

    def _drip(self, served: Served, body: bytes) -> None:
        """All of it; where somebody holds us up, the half before and the half after."""
        half = len(body) // 2 if served.go_on else 0
        self.wfile.write(body[:half])
        served.started.set()
        if served.go_on:
            served.go_on.wait(30)
        self.wfile.write(body[half:])

    def _whole(self, code: int, body: bytes, headers: dict[str, str]) -> None:
        self._head(code, {**headers, "Content-Length": str(len(body))})
        self.wfile.write(body)

    def _head(self, code: int, headers: Mapping[str, str]) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Nothing on standard error."""


@contextlib.contextmanager
def serving(site: Site) -> Iterator[Site]:
    """Serve until the block ends."""
    handler = type("Handler", (_Handler,), {"site": site})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        site.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()


def blob_id(data: bytes) -> str:
    """Git's id of a file."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def with_repository(
    hub: Site,
    cdn: Site,
    repo: str,
    files: Mapping[str, bytes],
    licence: str = "apache-2.0",
    *,
    in_git: Mapping[str, bytes] | None = None,
) -> None:
    """Make `hub` speak as a Hugging Face hub does of a repository whose large files another host sends.

    Those that are in git it sends itself, and states git's id of them only.
    """
    siblings: list[dict[str, object]] = [
        {
            "rfilename": name,
            "size": len(data),
            "blobId": "b" * 40,
            "lfs": {"sha256": sha256(data), "size": len(data), "pointerSize": 134},
        }
        for name, data in files.items()
    ]
    for name, data in (in_git or {}).items():
        siblings.append({"rfilename": name, "size": len(data), "blobId": blob_id(data)})
        hub.files[f"/{repo}/resolve/{COMMIT}/{name}"] = Served(content=data, tag=f'"{blob_id(data)}"')
    document = {"id": repo, "sha": COMMIT, "cardData": {"license": licence}, "siblings": siblings}
    for revision in ("main", COMMIT):
        hub.files[f"/api/models/{repo}/revision/{revision}"] = Served(content=json.dumps(document).encode())
    for name, data in files.items():
        blob = f"/blobs/{sha256(data)}"
        linked = {"X-Linked-Size": str(len(data)), "X-Linked-Etag": f'"{sha256(data)}"', "X-Repo-Commit": COMMIT}
        hub.redirects[f"/{repo}/resolve/{COMMIT}/{name}"] = (f"{cdn.url}{blob}?signature=secret", linked)
        cdn.files[blob] = Served(content=data)
