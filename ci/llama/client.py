"""The one door to requests: asks one llama-server on the loopback address."""

from collections.abc import Mapping
from enum import Enum
from types import TracebackType
from typing import Self

import requests

from ci.config import parse
from ci.errors import ConfigProblem, ForeignServer, ReplyProblem, ServerProblem
from ci.llama.reply import Lenient, Reply, Request, Timings, parse_reply
from ci.outcome import JsonMap, JsonValue

__all__ = ["Client", "Health", "Props", "Reply", "Request", "Timings"]

CONNECT_S = 5.0
ANSWER_S = 600.0
OK, BUSY = 200, 503


class Health(Enum):
    """What answers on a port."""

    READY = "ready"
    LOADING = "loading"
    SILENT = "silent"
    STRANGE = "strange"


class _Defaults(Lenient):
    n_ctx: int


class Props(Lenient):
    """What a server says about itself (`GET /props`)."""

    total_slots: int
    model_path: str
    model_alias: str
    build_info: str
    default_generation_settings: _Defaults

    @property
    def n_ctx(self) -> int:
        """Context of one slot, tokens."""
        return self.default_generation_settings.n_ctx


class Client:
    """Speaks to one server.

    Args:
        base_url: such as `http://127.0.0.1:4711`.
        model: the alias that every reply must name, so that a reply of another server never counts.
    """

    def __init__(self, base_url: str, *, model: str | None = None) -> None:
        self.base_url = base_url
        self.model = model
        self._session = requests.Session()
        self._session.trust_env = False  # no proxies, no netrc: the server is on this machine
        # llama-server drops an idle connection after some seconds; a request that meets that moment would be lost
        self._session.headers["Connection"] = "close"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the session."""
        self._session.close()

    def health(self) -> Health:
        """Ask `/health`; 503 means loading (its body is JSON as well, so the code decides)."""
        try:
            answer = self._session.get(f"{self.base_url}/health", timeout=(CONNECT_S, CONNECT_S))
        except requests.RequestException:
            return Health.SILENT
        return {OK: Health.READY, BUSY: Health.LOADING}.get(answer.status_code, Health.STRANGE)

    def props(self) -> Props:
        """Ask what the server is.

        Raises:
            ForeignServer: the answer is not that of a llama-server.
            ServerProblem: no answer.
        """
        data = self._json("GET", "/props")
        try:
            return parse(Props, data, source=f"{self.base_url}/props")
        except ConfigProblem as unlike:
            raise ForeignServer(f"what answers is no llama-server: {unlike.message}") from unlike

    def complete(self, request: Request) -> Reply:
        """Send one completion request and wait for all of it.

        Raises:
            ReplyProblem: the reply must not count as a sample.
            ServerProblem: no answer, or an error status.
        """
        return parse_reply(self._json("POST", "/completion", request.to_json()), request, model=self.model)

    def tokenize(self, text: str) -> tuple[int, ...]:
        """Token ids of a text, without special tokens added.

        Raises:
            ReplyProblem: the answer holds no ids.
            ServerProblem: no answer, or an error status.
        """
        ids = self._json("POST", "/tokenize", {"content": text, "add_special": False}).get("tokens")
        if not isinstance(ids, list) or not all(isinstance(one, int) for one in ids):
            raise ReplyProblem(f"{self.base_url}/tokenize: expected token ids, found {ids!r:.80}")
        return tuple(ids)

    def _json(self, method: str, path: str, body: Mapping[str, JsonValue] | None = None) -> JsonMap:
        url = f"{self.base_url}{path}"
        try:
            answer = self._session.request(method, url, json=body, timeout=(CONNECT_S, ANSWER_S))
        except requests.RequestException as broken:
            raise ServerProblem(f"{method} {url}: no answer: {broken}") from broken
        if answer.status_code != OK:
            raise ServerProblem(f"{method} {url}: status {answer.status_code}: {answer.text[:300]}")
        try:
            data = answer.json()
        except ValueError as bad:
            raise ForeignServer(f"{method} {url}: the answer is not JSON: {answer.text[:80]!r}") from bad
        if not isinstance(data, dict):
            raise ForeignServer(f"{method} {url}: expected a JSON object, found {type(data).__name__}")
        return data
