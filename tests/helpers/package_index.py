"""A package index on 127.0.0.1 that can misbehave in the ways indexes do."""

import contextlib
import gzip
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JSON_TYPE = "application/vnd.pypi.simple.v1+json"


@dataclass(kw_only=True)
class Index:
    """What the index offers and how it fails; `requests` are the paths asked for, in order."""

    files: dict[str, bytes]
    project: str = "some-project"
    as_json: bool = True
    digests: bool = True
    cut_transfers: int = 0
    server_errors: int = 0
    compress: bool = False
    garbled_page: bool = False
    requests: list[str] = field(default_factory=list)
    url: str = ""

    @property
    def environ(self) -> dict[str, str]:
        """Environment that points pip's settings here; with a certificate named, pip itself is not asked."""
        return {"PIP_INDEX_URL": f"{self.url}/simple", "PIP_CERT": "/nonexistent/ca.pem"}

    def page(self) -> tuple[str, bytes]:
        if self.garbled_page:
            return JSON_TYPE, b"{not json"
        return (JSON_TYPE, self._json()) if self.as_json else ("text/html", self._html())

    def _json(self) -> bytes:
        files = [
            {"filename": name, "url": f"{self.url}/files/{name}", "size": len(data), "hashes": self._hashes(data)}
            for name, data in self.files.items()
        ]
        return json.dumps(
            {"meta": {"api-version": "1.1"}, "name": self.project, "files": files, "versions": []}
        ).encode()

    def _html(self) -> bytes:
        links = (
            f'<a href="../../files/{name}#sha256={hashlib.sha256(data).hexdigest()}">{name}</a>'
            if self.digests
            else f'<a href="../../files/{name}">{name}</a>'
            for name, data in self.files.items()
        )
        return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode()

    def _hashes(self, data: bytes) -> dict[str, str]:
        return {"sha256": hashlib.sha256(data).hexdigest()} if self.digests else {}


class _Handler(BaseHTTPRequestHandler):
    index: Index

    def do_GET(self) -> None:
        self.index.requests.append(self.path)
        if self.index.server_errors:
            self.index.server_errors -= 1
            self._answer(503, "text/plain", b"busy")
        elif self.path == f"/simple/{self.index.project}/":
            self._answer(200, *self.index.page())
        elif (name := self.path.removeprefix("/files/")) in self.index.files:
            self._send_file(self.index.files[name])
        else:
            self._answer(404, "text/plain", b"no such thing")

    def _send_file(self, data: bytes) -> None:
        if self.index.cut_transfers:
            self.index.cut_transfers -= 1
            self._answer(200, "application/octet-stream", data[: len(data) // 2], length=len(data))
            self.close_connection = True
        elif self.index.compress and "gzip" in self.headers.get("Accept-Encoding", ""):
            self._answer(200, "application/octet-stream", gzip.compress(data), encoding="gzip")
        else:
            self._answer(200, "application/octet-stream", data)

    def _answer(self, code: int, kind: str, body: bytes, *, length: int | None = None, encoding: str = "") -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Nothing on standard error."""


@contextlib.contextmanager
def serving(index: Index) -> Iterator[Index]:
    """Serve the index until the block ends."""
    handler = type("Handler", (_Handler,), {"index": index})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        index.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield index
        finally:
            server.shutdown()
            thread.join()
