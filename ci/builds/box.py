"""A container that does one piece of work and goes: files in, a program followed to its end, files out.

Files go as tar streams, so that an engine on another machine does as well as one on this. Every container runs as an
ordinary user without network or capabilities, and carries a label that says whose it is. Nothing here waits inside a
call of the SDK: its read timeout is that of one question, not that of a build.
"""

import contextlib
import io
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

import docker
import requests
from docker import errors as docker_errors
from docker.models.containers import Container

from ci.builds.engine_errors import engine_errors, refused
from ci.builds.logtail import LogTail
from ci.digest import sha256_bytes
from ci.errors import BuildLate, EngineProblem
from ci.files import no_space_as_error, staged_dir

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

OWNER_LABEL = "org.speedfork.owner"
"""On every container of ours: `build:<digest of the state directory>:<target id>` and the like."""

POLL_S = 0.5
SILENCE_S = 600
"""How long an engine may answer nothing: ten questions in a row."""
STOP_GRACE_S = 5
USER = "1000:1000"
PIDS = 4096


@dataclass(frozen=True, kw_only=True)
class Job:
    """One program to run in a container of its own.

    Args:
        image: id or name of an image that the engine has.
        argv: program and arguments.
        owner: value of `OWNER_LABEL`.
        env: the whole environment beside the image's own.
        user: who runs it.
        workdir: where.
        volumes: mount point by volume name, writable.
        memory: bytes; None for no limit.
        tethered: the container's standard input stays open as long as this process lives; the program shall end
            when it closes.
    """

    image: str
    argv: tuple[str, ...]
    owner: str
    env: Mapping[str, str]
    user: str = USER
    workdir: str = "/"
    volumes: Mapping[str, str]
    memory: int | None = None
    tethered: bool = False


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a container's program ended: exit code, whether the kernel killed something in it for memory, output."""

    code: int
    killed_for_memory: bool
    lines: tuple[str, ...]


def owned_by(kind: str, root: Path, name: str) -> str:
    """Whose a container is: what for, and of which state directory, so that no checkout removes another's."""
    return f"{kind}:{sha256_bytes(str(root).encode())[:16]}:{name}"


class Box:
    """A container that was made for one job and has not started yet, runs, or ended."""

    def __init__(self, container: Container, *, tethered: bool) -> None:
        self._container = container
        self._tethered = tethered
        self._tether = contextlib.ExitStack()
        self._heard = 0.0

    @property
    def name(self) -> str:
        """The container's name, for `docker exec` and `docker logs`."""
        return str(self._container.name)

    def put(self, tar: IO[bytes] | bytes, folder: str) -> None:
        """Unpack a tar stream in a folder of the container, owners and modes as they stand in it.

        Raises:
            EngineProblem: the folder is not there, or the engine refuses.
            DiskFull: no room in the engine.
        """
        with engine_errors(f"copying files into {folder} of the container"):
            self._container.put_archive(folder, tar)

    def start(self) -> None:
        """Start the program.

        Raises:
            EngineProblem: the engine cannot start it.
        """
        with engine_errors("starting the container"):
            if self._tethered:
                params = {"stdin": 1, "stream": 1}
                end = self._container.attach_socket(params=params)
                # the SDK leaves the end and its connection to whoever holds them; closing the latter closes both
                held = getattr(end, "_response", None) or end
                self._tether.callback(held.close)
            self._container.start()

    def follow(self, on_line: Callable[[str], None], *, deadline_s: float) -> Ended:
        """Watch the program to its end.

        An engine that does not answer a question in time, or cuts its answer, is asked again until it was silent for
        too long: the program may well go on meanwhile, and only its exit code says how it ended.

        Args:
            on_line: called for each line of output as it comes.
            deadline_s: seconds from now.

        Raises:
            BuildLate: not over by the deadline; the container was stopped.
            EngineProblem: the engine has lost the container, or answers nothing any more.
        """
        tail, until = LogTail(), time.monotonic() + deadline_s
        self._heard = time.monotonic()
        lines: list[str] = []
        while True:
            over = self._over()
            for line in tail.feed(self._said(tail.since)):
                lines.append(line)
                on_line(line)
            if over is not None:
                return Ended(code=over[0], killed_for_memory=over[1], lines=tuple(lines))
            if time.monotonic() > until:
                self.stop()
                raise BuildLate(f"not over after {deadline_s:.0f} s: {self.name} was stopped")
            if time.monotonic() - self._heard > SILENCE_S:
                raise EngineProblem(f"the engine answers nothing about {self.name} for {SILENCE_S} s")
            time.sleep(POLL_S)

    def _over(self) -> tuple[int, bool] | None:
        """Exit code and whether memory ran out, once the program has ended; None before, or without an answer."""
        try:
            self._container.reload()
        except docker_errors.NotFound as lost:
            raise EngineProblem(f"the engine no longer has the container {self.name}") from lost
        except docker_errors.APIError as error:
            raise refused("asking for the container's state", error) from error
        except requests.RequestException:
            return None
        self._heard = time.monotonic()
        state = self._container.attrs["State"]
        if state["Status"] not in ("exited", "dead"):
            return None
        return int(state["ExitCode"]), bool(state["OOMKilled"])

    def _said(self, since: float) -> bytes:
        """The output since a moment, each line with its time; nothing when the engine gives no answer."""
        try:
            if since:
                return bytes(self._container.logs(timestamps=True, since=since))
            return bytes(self._container.logs(timestamps=True))
        except docker_errors.APIError as error:
            raise refused("reading the container's output", error) from error
        except requests.RequestException:
            return b""

    def stop(self) -> None:
        """Stop the program, kindly, then not; one on a tether ends by itself."""
        self._tether.close()
        with contextlib.suppress(docker_errors.APIError, requests.RequestException):
            self._container.stop(timeout=STOP_GRACE_S)

    def fetch(self, path: str, into: Path) -> Path:
        """Copy a folder of plain files out of the container into a new folder `into`; returns `into`.

        Raises:
            EngineProblem: it is not there, or holds anything but plain files and folders.
            DiskFull: no room here; nothing is left.
        """
        with engine_errors(f"copying {path} out of the container"), no_space_as_error(str(into)):
            chunks, _ = self._container.get_archive(path)
            with (
                _cut_as_error(path),
                staged_dir(into) as folder,
                tarfile.open(fileobj=io.BufferedReader(_Chunks(chunks)), mode="r|") as members,
            ):
                for member in members:
                    _write_member(member, members, folder)
            for _ in chunks:  # tar ends before the stream does; what is not read keeps the connection busy
                pass
        return into

    def remove(self) -> None:
        """Remove the container with its own files, running or not."""
        with contextlib.suppress(docker_errors.APIError, requests.RequestException):
            self._container.remove(force=True, v=True)


class _Chunks(io.RawIOBase):
    """The file that `tarfile` reads a stream of chunks from."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Fill as much as one chunk gives."""
        self._rest = self._rest or next(self._chunks, b"")
        view = memoryview(buffer)
        size = min(len(view), len(self._rest))
        view[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


@contextlib.contextmanager
def _cut_as_error(path: str) -> Iterator[None]:
    try:
        yield
    except tarfile.TarError as cut:
        raise EngineProblem(f"copying {path} out of the container: the engine's answer is not whole: {cut}") from cut


def _write_member(member: tarfile.TarInfo, members: tarfile.TarFile, folder: Path) -> None:
    parts = PurePosixPath(member.name).parts[1:]  # the first is the folder that was asked for
    if member.isdir() and not parts:
        return
    if not (member.isreg() or member.isdir()) or not parts or ".." in parts:
        raise EngineProblem(f"the container's {member.name!r} is no plain file or folder")
    path = folder.joinpath(*parts)
    if member.isdir():
        path.mkdir(exist_ok=True)
        return
    content = members.extractfile(member)
    if content is None:
        raise EngineProblem(f"the container's {member.name!r} has no content")
    with content, path.open("xb") as sink:
        while block := content.read(1 << 20):
            sink.write(block)
    path.chmod(0o755 if member.mode & 0o100 else 0o644)


def create(client: docker.DockerClient, job: Job) -> Container:
    """A container without network, capabilities and new privileges, bounded in memory and processes."""
    return client.containers.create(
        image=job.image,
        command=list(job.argv),
        entrypoint=[],
        environment=dict(job.env),
        user=job.user,
        working_dir=job.workdir,
        volumes={name: {"bind": mount, "mode": "rw"} for name, mount in job.volumes.items()},
        labels={OWNER_LABEL: job.owner},
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        pids_limit=PIDS,
        init=True,
        use_config_proxy=False,  # proxies of this machine's user, with their passwords, are not for a build
        stdin_open=job.tethered,
        mem_limit=job.memory,
        memswap_limit=job.memory,
    )
