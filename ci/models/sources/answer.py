"""How a server's answer to a request for the rest of a file is to be taken: the rules of a resumed transfer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from ci.config import Model

OK = 200
PARTIAL = 206
UNSATISFIABLE = 416
_RANGE = re.compile(r"bytes (?:(?P<start>\d+)-(?P<end>\d+)|\*)/(?P<total>\d+|\*)", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)
"""No file is longer; thousands of digits are an attack on whoever reads them."""
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


class Origin(Model):
    """Which file a partial belongs to: what the server called it when its first byte came.

    `linked` and `size` are of the first answer that has them (the hub gives X-Linked-Etag and X-Linked-Size before it
    redirects to another host, which may call the same bytes something else). `tag` is the validator of the host that
    sends the bytes, the only one that it understands in If-Range.
    """

    address: str
    linked: str | None = None
    tag: str | None = None
    size: int | None = None

    def contradicts(self, now: "Origin") -> bool:
        """Whether the two cannot be one version of one file; silence contradicts nothing."""
        if self.address != now.address or _differ(self.size, now.size):
            return True
        if None not in (self.linked, now.linked):
            return self.linked != now.linked
        return _differ(self.tag, now.tag)

    def agrees(self, now: "Origin") -> bool:
        """Whether a name that both give is the same."""
        named = {(self.linked, now.linked), (self.tag, now.tag)}
        return not self.contradicts(now) and any(mine is not None and mine == other for mine, other in named)

    @property
    def digest(self) -> str | None:
        """The SHA-256 that the hub states for the file, in hex."""
        return self.linked if self.linked and _DIGEST.fullmatch(self.linked) else None


def _differ(one: object, other: object) -> bool:
    return None not in (one, other) and one != other


class Take(Enum):
    """What to do with an answer."""

    APPEND = "its bytes follow those that are here"
    REPLACE = "its bytes are the whole file"
    COMPLETE = "nothing is missing"
    RESTART = "what is here belongs to another file: ask for all of it"
    FAIL = "it brings no bytes of the file"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The last answer of a request: status, and the headers that count, their names in lower case."""

    status: int
    headers: Mapping[str, str]

    @property
    def encoded(self) -> bool:
        """Whether the bytes on the wire are not the bytes of the file, although that was asked for."""
        return self.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity")

    @property
    def span(self) -> tuple[int | None, int | None]:
        """First byte and total of Content-Range, as far as they are said."""
        shape = _RANGE.fullmatch(self.headers.get("content-range", "").strip())
        if shape is None:
            return None, None
        start, total = shape["start"], shape["total"]
        return number(start or ""), number(total)

    @property
    def total(self) -> int | None:
        """Size of the whole file in bytes, where this answer says it."""
        if self.status in (PARTIAL, UNSATISFIABLE):
            return self.span[1]
        return number(self.headers.get("content-length", "")) if self.status == OK and not self.encoded else None


def number(text: str) -> int | None:
    """A count of bytes or seconds in a header; None for anything else."""
    return int(text) if _NUMBER.fullmatch(text) else None


def validator(headers: Mapping[str, str]) -> str | None:
    """What If-Range may hold: a strong ETag, else the date of the last change."""
    tag = headers.get("etag", "").strip()
    if tag and not tag.startswith("W/"):
        return tag
    return headers.get("last-modified") or None


def take(answer: Answer, *, have: int, same: bool) -> Take:
    """What to do with an answer to a request for all bytes from `have` on.

    Args:
        answer: what came.
        have: bytes that are here; 0 when the request was for the whole file.
        same: whether the answer is about the version of the file that the bytes here came from.
    """
    if answer.status == OK:
        return Take.REPLACE
    if not have:
        return Take.FAIL
    start, total = answer.span
    if answer.status == PARTIAL:
        return Take.APPEND if same and start == have and not answer.encoded else Take.RESTART
    if answer.status == UNSATISFIABLE:
        return Take.COMPLETE if same and total == have else Take.RESTART
    return Take.FAIL
