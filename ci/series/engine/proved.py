"""Commits of exported patch files without `git am`: each file of them is proved by its id (`ci.series.engine.exact`).

Whatever looks unlike our own export (another mail program's headers, odd names, what cannot be proved) is left to
git: the whole series then goes through `git am`. The commits are the same, id for id.
"""

import re
from collections.abc import Iterable
from datetime import datetime

from ci.git import SIGNATURE
from ci.gittree import Entry
from ci.series.engine.exact import Inexact, exact_result
from ci.series.engine.threeway import Path, find, parted
from ci.series.engine.workshop import Workshop
from ci.series.hunks import FileDiff, parse_diff
from ci.series.order import Series
from ci.series.patch import Mail, Patch, read_mail

_MIME = rb"MIME-Version: 1\.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n"
_FOLDED = rb"[^\n]+(?:\n [^\n]+)*\n"
_NAME = rb"[^\"\\()\x00-\x1f\x7f]+"
_SENDER = rb'(?:"' + _NAME + rb'" )?' + _NAME + rb"(?:\n " + _NAME + rb")*\n"
_HEAD = re.compile(
    rb"From 0{40} Mon Sep 17 00:00:00 2001\nFrom: "
    + _SENDER
    + rb"Date: [^\n]+\nSubject: \[PATCH\] "
    + _FOLDED
    + rb"("
    + _MIME
    + rb")?\n"
)
_ENCODED = re.compile(rb"=\?UTF-8\?q\?[!->@-~]+\?=")
_AUTHOR = re.compile(r"([^<>\x00-\x1f\x7f]+) <([^<>\x00-\x20\x7f]+)>")
_DATES = range(4102444800)
"""Seconds that git can read out of a date: 1970 to 2099."""

_CRUD = " .,:;<>\"\\'"
"""What git takes off the ends of names and addresses."""


def proved_commits(shop: Workshop, series: Series, base_commit: str) -> tuple[str, ...] | None:
    """The commits that `git am` gives for the patches on their base, or None: then ask git."""
    parent, tree = base_commit, shop.tree_of(base_commit)
    commits = []
    try:
        for patch in series.patches:
            mail = read_mail(patch.raw)
            tree = shop.changed_tree(tree, _changes(shop, tree, parse_diff(mail.diff)))
            parent = shop.objects.write_commit(_commit(patch, mail, tree, parent))
            commits.append(parent)
    except Inexact:
        return None
    return tuple(commits)


def _commit(patch: Patch, mail: Mail, tree: str, parent: str) -> bytes:
    """The commit object, as git-am(1) writes it with a fixed committer."""
    author = _AUTHOR.fullmatch(mail.author)
    if not (author and _is_as_exported(patch.raw[: len(patch.raw) - len(mail.diff)])):
        raise Inexact
    if any(part.strip(_CRUD) != part for part in author.groups()):
        raise Inexact
    return (
        f"tree {tree}\nparent {parent}\nauthor {mail.author} {_time(mail.date)}\n"
        f"committer {SIGNATURE}\n\n{_stripped(mail.body)}"
    ).encode()


def _time(date: str) -> str:
    """Seconds and zone of a date that is spelled as git spells it."""
    try:
        when = datetime.strptime(date, "%a, %d %b %Y %H:%M:%S %z")
    except ValueError:
        raise Inexact from None
    seconds = int(when.timestamp())
    if f"{when:%a}, {when.day} {when:%b %Y %H:%M:%S %z}" != date or seconds not in _DATES:
        raise Inexact
    return f"{seconds} {when:%z}"


def _is_as_exported(text: bytes) -> bool:
    """Whether headers and message are such that there is only one way to read them."""
    head = _HEAD.match(text)
    if head is None or b"\0" in text or b"\r" in text or head[0].count(b"=?") != len(_ENCODED.findall(head[0])):
        return False
    try:
        text.decode("utf-8" if head[1] else "ascii")
    except UnicodeDecodeError:
        return False
    return True


def _stripped(message: str) -> str:
    """A message as git-stripspace(1) leaves it."""
    lines = "\n".join(line.rstrip(" \t") for line in message.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n") + "\n"


def _changes(shop: Workshop, tree: str, files: Iterable[FileDiff]) -> dict[Path, Entry | None]:
    changes: dict[Path, Entry | None] = {}
    for file in files:
        path = parted(file.path)
        if path in changes or not _is_plain(path) or _is_blocked(shop, tree, path):
            raise Inexact
        after = exact_result(file, find(shop.read, tree, path), shop.objects.blob)
        changes[path] = None if after is None else Entry(after.mode, shop.objects.write_blob(after.data))
    return changes


def _is_plain(path: Path) -> bool:
    """Whether no part of a path means something to git or to a file system."""
    return all(name not in (b"", b".", b"..") and b"git" not in name.lower() for name in path)


def _is_blocked(shop: Workshop, tree: str, path: Path) -> bool:
    """Whether a file or link stands where the path has a folder."""
    above = (find(shop.read, tree, path[:depth]) for depth in range(1, len(path)))
    return any(entry is not None and not entry.is_tree for entry in above)
