"""Commit messages on their way into patch files: what a mail would lose, and names for patches.

Messages are handled as latin-1 text where their encoding does not matter: that keeps every byte.
"""

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass

from ci.series.intake.rawcommit import RawCommit, decoded
from ci.series.message import BLANKS, read_trailers
from ci.series.patch import MBOX_LINE, clean_subject
from ci.series.trailers import ID_PATTERN, KNOWN, READERS, REQUIRED, TODO, is_todo

ENDS_MESSAGE = re.compile(rb"---[ \t\r]*$|--- \S|diff -|Index: ")
"""A line that git-mailinfo(1) takes for the end of the message."""

IN_BODY = re.compile(rb"(?:from|date|subject)[ \t]*:|\[PATCH\]\s|>From\s", re.IGNORECASE)
"""A first line that git-mailinfo(1) takes for a header of its own."""

NO_SUBJECT = b"(no subject)"
ID_LENGTH = 40
INDENTED = "lines of the message that a mail would read as its own are indented by one blank"


@dataclass(frozen=True, kw_only=True)
class Worded:
    """A message fit for a patch file: the patch's name, keys whose trailers are to be written, remarks."""

    name: str
    message: bytes
    todo: tuple[str, ...]
    notes: tuple[str, ...]


def worded(commit: RawCommit, *, taken: Collection[str]) -> Worded:
    """Give a commit's message the trailers that it lacks, and keep its lines safe in a mail.

    Args:
        commit: the fork's commit.
        taken: names that other patches have.
    """
    subject, _, body = _paragraphs(commit.message)
    given = dict(reversed(read_trailers(commit.message.decode("latin-1")))).get("Speed-Id", "")
    wanted = given if ID_PATTERN.fullmatch(given) else slug(one_line(commit.message_text))
    name = _unique(wanted, taken)
    safe = _mail_safe(body)
    message, todo = completed((subject + b"\n\n" + safe).decode("latin-1"), patch_id=name)
    return Worded(
        name=name,
        message=message.encode("latin-1"),
        todo=todo,
        notes=tuple(_notes(commit, indented=safe != body)),
    )


def completed(message: str, *, patch_id: str) -> tuple[str, tuple[str, ...]]:
    """A commit message with every required trailer: those that it lacks are asked for, as TODO.

    They join its last paragraph when that holds trailers of ours or of people already; prose that only looks like a
    trailer ("Note: ...") stays prose.

    Args:
        message: the whole message; text in any encoding that keeps ASCII, decoded byte by byte.
        patch_id: the Speed-Id for a message that has none.

    Returns:
        The message, and the keys whose value is a TODO.
    """
    pairs = read_trailers(message)
    present = {key for key, _ in pairs}
    joins = any(key.lower() in KNOWN for key, _ in pairs)
    lacking = {key: patch_id if key == "Speed-Id" else TODO for key in REQUIRED if key not in present}
    lines = "".join(f"{key}: {value}\n" for key, value in lacking.items())
    asked = (key for key, value in (*pairs, *lacking.items()) if key in READERS and is_todo(value))
    gap = "\n" if joins or not lines else "\n\n"
    return f"{message.rstrip(BLANKS)}{gap}{lines}", tuple(dict.fromkeys(asked))


def _paragraphs(message: bytes) -> tuple[bytes, bytes, bytes]:
    """The first paragraph (the subject), the gap, the rest."""
    text = message.lstrip(b" \t\r\n")
    found = re.search(rb"\n[ \t\r]*\n", text)
    parts = (text[: found.start()], found[0], text[found.end() :]) if found else (text.rstrip(), b"", b"")
    return (parts[0] or NO_SUBJECT, *parts[1:])


def _mail_safe(body: bytes) -> bytes:
    lines = body.split(b"\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    return b"\n".join(
        b" " + line if _is_mails_own(line) or (at == first and IN_BODY.match(line)) else line
        for at, line in enumerate(lines)
    )


def _is_mails_own(line: bytes) -> bool:
    return bool(ENDS_MESSAGE.match(line) or MBOX_LINE.fullmatch(line))


def _notes(commit: RawCommit, *, indented: bool) -> list[str]:
    subject = one_line(commit.message_text)
    carried = clean_subject(subject)
    notes = [INDENTED] if indented else []
    if not subject:
        notes.append("has no message: its subject is to be written")
    elif carried != subject:
        notes.append(f"its subject {subject!r} reads {carried!r} in a mail")
    if any(decoded(raw, commit.encoding).encode() != raw for raw in (commit.author, commit.message)):
        notes.append(f"its words are {commit.encoding or 'not UTF-8'}: the patch holds them in UTF-8")
    return notes


def one_line(message: str) -> str:
    """The first paragraph of a message on one line."""
    return " ".join(re.split(r"\n[ \t\r]*\n", message.strip(), maxsplit=1)[0].split())


def in_print(text: str) -> str:
    """Foreign words as they may stand on a terminal: what is no letter, sign or blank is a question mark."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def as_carried(message: str) -> str:
    """A message as `git am` keeps it: the subject on one line without mail words, no blanks behind lines."""
    subject, _, body = (part.decode() for part in _paragraphs(message.encode()))
    kept = "\n".join(line.rstrip(" \t\r\f\v") for line in body.split("\n"))
    return f"{clean_subject(' '.join(subject.split()))}\n\n" + re.sub(r"\n{3,}", "\n\n", kept).strip("\n")


def slug(subject: str) -> str:
    """A Speed-Id out of a subject: `[CUDA] fuse RoPE` is `cuda-fuse-rope`; cut between words."""
    plain = unicodedata.normalize("NFKD", subject).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    cut = words if len(words) <= ID_LENGTH else words[: ID_LENGTH + 1].rpartition("-")[0] or words[:ID_LENGTH]
    return cut or "patch"


def _unique(name: str, taken: Collection[str]) -> str:
    numbers = range(2, len(taken) + 3)
    return next(free for free in (name, *(f"{name[:58]}-{number}" for number in numbers)) if free not in taken)
