"""The one way in which models come over HTTP: resumed where that is safe, begun again where it is not.

Bytes go into a partial file, and its origin stands beside it. The process may be killed at any moment: the next one
goes on with what is here, or begins again where the server's answer does not fit it. Whether the whole is the right
file is for the caller to say; nothing here gives a file its final name.
"""

import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ci.config import parse
from ci.errors import ConfigProblem, DigestMismatch, DownloadFailed, Interrupted, NotAModel
from ci.files import no_space_as_error, read_json, require_free_space, write_json
from ci.models.head import GGUF_MAGIC, HEAD
from ci.models.shelf import Report
from ci.models.sources.answer import Origin, Take, take
from ci.models.sources.asking import Broken, Reply, Wanted, asked, refuse

TRIES = 4
"""Tries in a row that bring nothing before a source counts as down."""
WAITS_S = (0.5, 2.0, 8.0)
"""Seconds before another try."""


@dataclass(frozen=True, kw_only=True)
class Partial:
    """The bytes that are here of a file, and where they came from."""

    path: Path

    @classmethod
    def of(cls, final: Path) -> "Partial":
        """The partial of a file that will have this name."""
        return cls(path=final.with_name(f".{final.name}.partial"))

    @property
    def note(self) -> Path:
        """Its origin."""
        return self.path.with_name(self.path.name + ".json")

    def read(self) -> tuple[int, Origin | None]:
        """Bytes to go on from, and their origin; none where nobody knows what they are of."""
        if self.path.is_symlink():  # it would lead to a file of somebody else's
            return 0, None
        try:
            origin = parse(Origin, read_json(self.note), source=str(self.note))
            return self.path.stat().st_size, origin
        except (ConfigProblem, FileNotFoundError):
            return 0, None

    def begin(self, origin: Origin) -> None:
        """Empty the file before its origin changes: killed between the two, there is nothing to mistake."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.is_symlink():
            self.path.unlink()
        self.path.write_bytes(b"")
        write_json(self.note, origin.model_dump())

    def finish(self, final: Path) -> None:
        """Give the whole file its name; the caller has verified it."""
        self.path.chmod(0o644)
        self.path.replace(final)
        self.drop()

    def drop(self) -> None:
        """Forget it."""
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


def transfer(wanted: Wanted, partial: Partial, report: Report, stop: threading.Event) -> bool:
    """Bring all bytes of a file into its partial; whether they came in several pieces.

    Raises:
        DownloadFailed: no answer, or only broken ones; what came is kept.
        ModelNotOffered: the address leads to nothing.
        NotAModel: it leads to something else than the file; nothing of it is kept.
        DigestMismatch: it leads to a file of another size or digest than the pinned one; nothing of it is kept.
        DiskFull: no room; what came is kept.
        Interrupted: `stop` was set; what came is kept.
    """
    pieces, fruitless = False, 0
    while True:
        before = partial.read()[0]
        pieces = pieces or before > 0
        _go_on(wanted, stop)
        try:
            _try_once(wanted, partial, report, stop)
        except Broken as broken:
            kept = partial.read()[0]
            fruitless = fruitless + 1 if kept <= before else 1
            if fruitless >= TRIES:
                words = f"; {kept / 1e6:,.1f} MB are kept" if kept else ""
                raise DownloadFailed(f"{wanted.shown}: {broken}{words}") from broken
            stop.wait(max(WAITS_S[fruitless - 1], broken.wait_s))
        else:
            return pieces


def _go_on(wanted: Wanted, stop: threading.Event) -> None:
    if stop.is_set():
        raise Interrupted(f"{wanted.shown}: stopped")


def _try_once(wanted: Wanted, partial: Partial, report: Report, stop: threading.Event) -> None:
    have, before = partial.read()
    if wanted.size is not None and have > wanted.size:
        have = 0
    complete = have > 0 and have == wanted.size
    if not complete and not _ask(wanted, partial, report, stop, have=have, before=before):
        _ask(wanted, partial, report, stop, have=0, before=None)


def _ask(
    wanted: Wanted, partial: Partial, report: Report, stop: threading.Event, *, have: int, before: Origin | None
) -> bool:
    """One request; False when what is here does not fit the answer, and all of the file must be asked for."""
    with asked(wanted, have=have, before=before) as reply:
        _go_on(wanted, stop)
        todo = take(reply.answer, have=have, same=_is_same(before, reply.origin, checked=wanted.sha256 is not None))
        if todo is Take.FAIL:
            refuse(wanted, reply.answer)
        if todo is Take.REPLACE:
            _write(_begun(reply, wanted, partial), wanted, partial, report, stop)
        if todo is Take.APPEND:
            _write(reply, wanted, partial, report, stop)
        return todo is not Take.RESTART


def _is_same(before: Origin | None, now: Origin, *, checked: bool) -> bool:
    """Whether bytes of the two may follow each other; silence will do where a pinned digest has the last word."""
    return before is not None and (before.agrees(now) or (checked and not before.contradicts(now)))


def _begun(reply: Reply, wanted: Wanted, partial: Partial) -> Reply:
    """Look at the first bytes and at what the server promises; only then the partial is emptied for them."""
    head, chunks = _first(reply.chunks)
    now = reply.origin
    if GGUF_MAGIC.startswith(head) and now.size is not None and len(head) < now.size:
        raise Broken(f"ended after {len(head)} of {now.size} bytes")
    fault = wanted.fault_of_head(head)
    if fault:
        raise NotAModel(f"{wanted.shown}: {fault}")
    size = _promised(wanted, now)
    require_free_space(partial.path, size - partial.read()[0], what=wanted.shown)
    partial.begin(now)
    return Reply(answer=reply.answer, origin=now, chunks=itertools.chain((head,), chunks))


def _first(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    head = b""
    while len(head) < HEAD and (more := next(chunks, b"")):
        head += more
    return head, chunks


def _promised(wanted: Wanted, now: Origin) -> int:
    """Bytes to come; another size or digest than the pinned one is told before the bytes of 20 GB have come."""
    size = wanted.size if wanted.size is not None else now.size
    if size is None:
        raise DownloadFailed(f"{wanted.shown}: the server does not say how long the file is; half of it would pass")
    fault = ""
    if now.size not in (None, size):
        fault = f"the server has a file of {now.size} bytes, the pin says {size}"
    elif wanted.sha256 and now.digest not in (None, wanted.sha256):
        fault = f"the server has a file with sha256 {now.digest}, the pin is {wanted.sha256}"
    if fault:
        raise DigestMismatch(f"{wanted.shown}: {fault}", hint="correct ci/config/models.toml, or its source")
    return size


def _write(reply: Reply, wanted: Wanted, partial: Partial, report: Report, stop: threading.Event) -> None:
    total = wanted.size if wanted.size is not None else reply.origin.size
    with no_space_as_error(str(partial.path)), partial.path.open("ab") as sink:
        done = sink.tell()
        for chunk in reply.chunks:
            _go_on(wanted, stop)
            done += len(chunk)
            if total is not None and done > total:
                partial.drop()
                raise DigestMismatch(f"{wanted.shown}: more than {total} bytes came", hint="name another source")
            sink.write(chunk)
            sink.flush()
            report(done, total, "downloading")
    if total is not None and done < total:
        raise Broken(f"ended after {done} of {total} bytes")
