"""A commit object as bytes and as a value: what a patch file can carry of it, nothing decoded that need not be."""

import re
from dataclasses import dataclass

_BAD_BYTES = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, kw_only=True)
class RawCommit:
    """A commit: ids, the author line (`Name <address> seconds zone`), the name of its encoding, the whole message.

    `encoding` is empty where the commit names none: UTF-8 then, or bytes that only claim to be.
    """

    tree: str
    parents: tuple[str, ...]
    author: bytes
    encoding: str
    message: bytes

    @property
    def author_text(self) -> str:
        """The author line in words, its zone in the one spelling that a mail's date can hold."""
        return re.sub(r" -0000$", " +0000", decoded(self.author, self.encoding))

    @property
    def message_text(self) -> str:
        """The message in words."""
        return decoded(self.message, self.encoding)

    def render(self, *, committer: str) -> bytes:
        """The commit object with another committer line; signatures and other headers are not carried."""
        lines = [f"tree {self.tree}", *(f"parent {parent}" for parent in self.parents)]
        encoding = f"encoding {self.encoding}\n" if self.encoding else ""
        head = "".join(f"{line}\n" for line in lines).encode()
        return b"%sauthor %s\n%s\n%s" % (
            head,
            self.author,
            f"committer {committer}\n{encoding}".encode(),
            self.message,
        )


def parse_commit(raw: bytes) -> RawCommit:
    """Read a commit object, as `git cat-file commit` prints it."""
    head, _, message = raw.partition(b"\n\n")
    fields = [line.partition(b" ")[::2] for line in head.split(b"\n") if line[:1] != b" "]  # a blank folds signatures
    first = dict(reversed(fields))
    return RawCommit(
        tree=first[b"tree"].decode("ascii"),
        parents=tuple(value.decode("ascii") for key, value in fields if key == b"parent"),
        author=first[b"author"],
        encoding=first.get(b"encoding", b"").decode("ascii", "replace"),
        message=message,
    )


def decoded(data: bytes, encoding: str) -> str:
    """Bytes in words as git turns them into UTF-8: by the named encoding; a byte that is none of UTF-8 is latin-1."""
    if encoding:
        try:
            return data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            pass
    return _BAD_BYTES.sub(lambda bad: chr(ord(bad[0]) - 0xDC00), data.decode("utf-8", "surrogateescape"))
