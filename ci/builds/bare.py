"""Use an archive on a bare system: a container with nothing but the C library, no network, no card."""

import json
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.builds.box import Job
from ci.builds.engine import Engine
from ci.builds.recipe import SOURCE_DATE_EPOCH, names_label
from ci.errors import ArchiveProblem

SCRIPT = Path(__file__).with_name("bare.sh")
DEADLINE_S = 180
MEMORY = 4_000_000_000
_VERSION, _REPLY, _LOG = "::version ", "::reply ", "::log "


@dataclass(frozen=True, kw_only=True)
class Used:
    """What the server of an archive said: its version line, and the tokens of one completion."""

    version: str
    tokens: tuple[int, ...]


def use_archive(
    engine: Engine,
    image: str,
    archive: Path,
    model: Path,
    *,
    prompt: int,
    count: int,
    label: str,
    owner: str = "bare",
) -> Used:
    """Unpack an archive in a container, ask its server for its version and for one completion.

    Args:
        engine: where.
        image: a bare system.
        archive: as uploaded.
        model: a GGUF file that fits in a few hundred megabytes.
        prompt: the one token of the prompt.
        count: how many tokens to ask for.
        label: what the server must call itself.
        owner: whose the container is; what a killed run of the same owner left goes first.

    Raises:
        ArchiveProblem: it does not start, does not answer, or names another build.
        BuildLate: no answer in time.
        EngineProblem: the engine refuses.
    """
    job = Job(
        image=image,
        argv=("timeout", f"{DEADLINE_S}", "bash", "/job/bare.sh", top_of(archive), str(prompt), str(count)),
        owner=owner,
        env={"LC_ALL": "C"},
        volumes={},
        memory=MEMORY,
    )
    engine.remove_orphans(owner)
    with engine.container(job) as box, tempfile.TemporaryFile() as inputs:
        with tarfile.open(fileobj=inputs, mode="w") as tar:
            for name, path in (("bare.sh", SCRIPT), ("model.gguf", model)):
                tar.add(path, arcname=f"job/{name}", filter=_readable)
        inputs.seek(0)
        box.put(inputs, "/")
        with archive.open("rb") as packed:
            box.put(packed, "/job")
        box.start()
        ended = box.follow(lambda _: None, deadline_s=DEADLINE_S)
    return read_answers(archive.name, ended.lines, label=label)


def read_answers(name: str, lines: Sequence[str], *, label: str) -> Used:
    """The version and the tokens in what the script said.

    Raises:
        ArchiveProblem: either is not there, or the version names another build.
    """
    versions = _said(lines, _VERSION)
    named = next((line for line in versions if names_label(line, label)), None)
    if named is None:
        raise ArchiveProblem(f"{name}: on a bare system llama-server --version names no {label}: {_end(lines)}")
    replies = _said(lines, _REPLY)
    try:
        tokens = tuple(int(token) for token in json.loads(replies[-1])["tokens"])
    except (IndexError, KeyError, TypeError, ValueError):
        raise ArchiveProblem(f"{name}: on a bare system the server completes nothing: {_end(lines)}") from None
    return Used(version=named, tokens=tokens)


def top_of(archive: Path) -> str:
    """The one folder at the top of an archive of ours."""
    with tarfile.open(archive) as members:
        first = members.next()
    if first is None:
        raise ArchiveProblem(f"{archive}: an empty archive")
    return first.name.partition("/")[0]


def _said(lines: Sequence[str], kind: str) -> list[str]:
    return [line.removeprefix(kind) for line in lines if line.startswith(kind)]


def _end(lines: Sequence[str]) -> str:
    said = [line.removeprefix(_LOG) for line in lines[-8:]]
    return " / ".join(said) or "it says nothing"


def _readable(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.mode, member.mtime = 0o644, SOURCE_DATE_EPOCH
    return member
