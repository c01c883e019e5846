"""One patch file as a value: mail headers, message, trailers and touched paths, all read from bytes.

Commits are made elsewhere (`ci.series.engine.importing`); here only what a person or a check wants to know is read,
by the rules of git-mailinfo(1). Hunks are never decoded: a source line in latin-1 must come out as it went in.
"""

import binascii
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ci.series.hunks import HUNKS_BEGIN, FileDiff, parse_diff
from ci.series.message import read_trailers
from ci.series.patch_diff import stray_line
from ci.series.sender import sender
from ci.series.trailers import Trailers, parse_trailers

MBOX_LINE = re.compile(rb"^From .*\d?\d:\d\d:\d\d.* \d{4}\r?$", re.MULTILINE)
"""What `git mailsplit` takes for the start of a mail; prose that begins with "From " has no clock in it."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CONVERTED = "patch file has CRLF line ends (an editor or a checkout converted it): restore it from git"

HEADER = re.compile(rb"([!-9;-~]+):[ \t]*(.*)", re.DOTALL)
ENCODED_WORD = re.compile(rb"=\?([!->@-~]+)\?([bBqQ])\?([!->@-~]*)\?=")
IN_BODY = ("from", "date", "subject")
BARE_SUBJECT = re.compile(rb"\[PATCH\](?:\s|$)")
QUOTED_MBOX_LINE = re.compile(rb">From [0-9a-f]{40} Mon Sep 17 00:00:00 2001")
"""`git mailinfo` takes the one for a subject and passes the other over, on top of a message."""

PLAIN_ENCODINGS = ("", "7bit", "8bit", "binary")


@dataclass(frozen=True, kw_only=True)
class Mail:
    """The readable part of a patch mail: decoded metadata, and the diff as raw bytes."""

    headers: tuple[tuple[str, str], ...]
    author: str
    date: str
    subject: str
    body: str
    diff: bytes


@dataclass(frozen=True, kw_only=True)
class Patch:
    """A speed commit as it stands in the queue."""

    id: str
    path: Path
    raw: bytes
    subject: str
    author: str
    trailers: Trailers
    files: tuple[str, ...]

    @property
    def about(self) -> str:
        """The message between its first paragraph, the subject, and its last, the trailers."""
        return read_mail(self.raw).body.rstrip().rpartition("\n\n")[0].partition("\n\n")[2].strip()


def parse_patch(path: Path, raw: bytes) -> Patch | tuple[str, ...]:
    """Read one patch file.

    Args:
        path: where it lies; only its name is used.
        raw: the whole file.

    Returns:
        The patch, or every fault in words (without the file name).
    """
    if raw.startswith(BYTE_ORDER_MARK):
        return ("begins with a byte order mark (an editor added it): restore it from git",)
    if b"\r\n" in raw[: raw.find(b"\n") + 1]:
        return (CONVERTED,)
    mail = read_mail(raw)
    trailers = parse_trailers(read_trailers(mail.body))
    faults = (*_mail_faults(raw, mail), *_diff_faults(raw, mail.diff))
    if isinstance(trailers, tuple):
        return (*faults, *trailers)
    if faults:
        return faults
    return Patch(
        id=trailers.id,
        path=path,
        raw=raw,
        subject=mail.subject,
        author=mail.author,
        trailers=trailers,
        files=touched_files(mail.diff),
    )


def _mail_faults(raw: bytes, mail: Mail) -> Iterable[str]:
    mails = len(MBOX_LINE.findall(raw))
    if mails > 1:
        yield f"holds {mails} mails: one file holds one patch"
    if not re.fullmatch(r".*<[^<>\s]+@?[^<>\s]*>", mail.author):
        yield f"From: {mail.author!r} is not 'Name <address>'"
    if not mail.date:
        yield "Date: missing header"
    if not mail.subject:
        yield "Subject: missing or empty header"
    fields = dict(reversed(mail.headers))
    encoding = fields.get("content-transfer-encoding", "")
    if encoding.lower() not in PLAIN_ENCODINGS:
        yield f"Content-Transfer-Encoding {encoding!r}: made by a mail program; export it with git format-patch"
    if fields.get("content-type", "").lower().startswith("multipart/"):
        yield "is a multipart mail: export it with git format-patch --no-attach"


def _diff_faults(raw: bytes, diff: bytes) -> Iterable[str]:
    files = parse_diff(diff)
    if not files:
        yield "carries no change: there is no 'diff --git' line"
    for file in files:
        if any(line.startswith(b"Binary files ") for line in file.head):
            yield f"{', '.join(file.paths)}: made without --binary, the new bytes are not in the patch"
    if any(_is_converted(file) for file in files):
        yield CONVERTED
    elif len(MBOX_LINE.findall(raw)) <= 1:  # else the second mail is the fault, and named already
        stray = stray_line(diff, raw.count(b"\n", 0, len(raw) - len(diff)))
        if stray:
            yield stray


def _is_converted(file: FileDiff) -> bool:
    """Whether git's own lines end in CRLF; those of a hunk may, their file decides."""
    block = file.raw_lines
    begin = next((at for at, line in enumerate(block) if line.startswith(HUNKS_BEGIN)), len(block))
    own = (*block[:begin], *(line for line in block[begin:] if line.startswith(HUNKS_BEGIN)))
    return any(line.endswith(b"\r") for line in own)


def read_mail(raw: bytes) -> Mail:
    """Split a mail and decode its metadata as `git mailinfo -b` does; never fails, absent parts are empty."""
    head, _, rest = (raw.partition(b"\n")[2] if raw.startswith(b"From ") else raw).partition(b"\n\n")
    headers = tuple(_unfolded(head.split(b"\n")))
    fields = dict(reversed(headers))
    charset = _charset_of(fields.get("content-type", ""))
    message, diff = _split_message(rest)
    inner, body = _in_body_headers(message.split(b"\n"))
    fields.update(inner)
    return Mail(
        headers=headers,
        author=sender(fields.get("from", "")),
        date=fields.get("date", ""),
        subject=clean_subject(fields.get("subject", "")),
        body=f"{clean_subject(fields.get('subject', ''))}\n\n{_decoded(body, charset)}",
        diff=diff,
    )


def _unfolded(lines: list[bytes]) -> Iterator[tuple[str, str]]:
    whole: list[bytes] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and whole:
            whole[-1] += b" " + line.strip()
        else:
            whole.append(line.rstrip())
    for line in whole:
        match = HEADER.fullmatch(line)
        if match:
            yield match[1].decode("ascii").lower(), decode_words(match[2])


def decode_words(value: bytes) -> str:
    """A header value with its RFC 2047 words decoded; unknown charsets and raw bytes never fail."""
    pieces: list[tuple[bytes, str]] = []
    end = 0
    for word in ENCODED_WORD.finditer(value):
        gap = value[end : word.start()]
        if gap.strip() or end == 0:  # blanks between two encoded words mean nothing
            pieces.append((gap, ""))
        charset = word[1].decode("ascii").lower()
        before = pieces.pop()[0] if pieces[-1][1] == charset else b""  # a character may be cut in two
        pieces.append((before + _word_bytes(word), charset))
        end = word.end()
    return "".join(_decoded(data, charset or "utf-8") for data, charset in (*pieces, (value[end:], "")))


def _word_bytes(word: re.Match[bytes]) -> bytes:
    try:
        return binascii.a2b_base64(word[3]) if word[2] in b"bB" else binascii.a2b_qp(word[3], header=True)
    except binascii.Error:
        return word[0]


def _decoded(data: bytes, charset: str) -> str:
    for name in (charset, "utf-8"):
        try:
            return data.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("latin-1")


def _charset_of(content_type: str) -> str:
    match = re.search(r"charset\s*=\s*\"?([\w.:-]+)", content_type, re.IGNORECASE)
    return match[1] if match else "utf-8"


def _split_message(rest: bytes) -> tuple[bytes, bytes]:
    """The commit message, and everything from the line that ends it."""
    match = re.search(rb"^(?:---[ \t\r]*$|--- (?=\S)|diff -|Index: )", rest, re.MULTILINE)
    return (rest[: match.start()], rest[match.start() :]) if match else (rest, b"")


def _in_body_headers(lines: list[bytes]) -> tuple[dict[str, str], bytes]:
    """From, Date and Subject lines on top of the message: they win over the mail's own (git-am(1))."""
    found: list[bytes] = []
    names: set[str] = set()
    unfinished = False  # a header that may go on in the next line; an empty line behind it ends them all
    for at, line in enumerate(lines):
        name = _in_body_name(line)
        if unfinished and (not line or line[:1] in (b" ", b"\t")):
            if not line:
                return dict(_unfolded(found)), b"\n".join(lines[at + 1 :])
            found.append(line)
        elif name and name not in names:
            names.add(name)
            found.append(line)
            unfinished = True
        elif BARE_SUBJECT.match(line):
            found.append(b"Subject: " + line)
            unfinished = False
        elif line and not QUOTED_MBOX_LINE.fullmatch(line):
            return dict(_unfolded(found)), b"\n".join(lines[at:])
    return dict(_unfolded(found)), b""


def _in_body_name(line: bytes) -> str | None:
    match = HEADER.fullmatch(line)
    name = match[1].decode("ascii").lower() if match else ""
    return name if name in IN_BODY else None


def clean_subject(text: str) -> str:
    """A subject without `Re:` and `[PATCH n/m]`; other brackets such as `[CUDA]` stay (git-am --keep-non-patch)."""
    kept = ""
    while True:
        text = text.lstrip(" \t:")
        if len(text) > len("re:") and text[:3].lower() == "re:":
            text = text[3:]
        elif text.startswith("[") and "]" in text:
            bracket, _, text = text.partition("]")
            if "PATCH" not in bracket:
                space = text[:1] if text[:1].isspace() else ""
                kept, text = f"{kept}{bracket}]{space}", text[len(space) :]
        else:
            return " ".join(f"{kept}{text}".split())


def touched_files(diff: bytes) -> tuple[str, ...]:
    """Every path that the diff names, old and new, sorted; undecodable bytes as surrogates (os.fsencode inverts)."""
    return tuple(sorted({path for file in parse_diff(diff) for path in file.paths}))


def changed_lines(diff: bytes) -> Iterator[bytes]:
    """Each added and removed line of a diff, with its sign."""
    body = (line for file in parse_diff(diff) for hunk in file.hunks for line in hunk.body)
    yield from (line for line in body if line[:1] in (b"+", b"-"))
