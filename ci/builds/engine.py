"""The one door to the Docker Engine: images, volumes, and containers that do one piece of work and go.

Files go in and out as tar streams, so that an engine on another machine does as well as one on this. Every container
runs as an ordinary user without network or capabilities, and carries a label that says whose it is. Nothing here
waits inside a call of the SDK: its read timeout is that of one question, not that of a build.
"""

import contextlib
import io
import os
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Self

import docker
import requests
from docker import errors as docker_errors
from docker.models.containers import Container
from docker.models.images import Image as DockerImage

from ci.builds.logtail import LogTail
from ci.errors import BuildLate, DiskFull, EngineMissing, EngineProblem
from ci.files import no_space_as_error, staged_dir
from ci.process import NO_SPACE

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

OWNER_LABEL = "org.speedfork.owner"
"""On everything we make in an engine: `build:<digest of the state directory>:<target id>` and the like."""

POLL_S = 0.5
QUESTION_S = 60
"""How long the engine may take to answer one question."""
STOP_GRACE_S = 5
USER = "1000:1000"
PIDS = 4096


@dataclass(frozen=True, kw_only=True)
class EngineFacts:
    """What the engine's machine has: version of the engine, CPUs, bytes of memory, where it listens."""

    version: str
    cpus: int
    memory: int
    address: str


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image: its id (`sha256:...`), labels, bytes, and the digests by which registries know it."""

    id: str
    labels: Mapping[str, str]
    size: int
    repo_digests: tuple[str, ...] = ()


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


class Box:
    """A container that was made for one job and has not started yet, runs, or ended."""

    def __init__(self, container: Container, *, tethered: bool) -> None:
        self._container = container
        self._tethered = tethered
        self._tether: object = None

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
        with _engine_errors(f"copying files into {folder} of the container"):
            self._container.put_archive(folder, tar)

    def start(self) -> None:
        """Start the program.

        Raises:
            EngineProblem: the engine cannot start it.
        """
        with _engine_errors("starting the container"):
            if self._tethered:
                params = {"stdin": 1, "stream": 1}
                self._tether = self._container.attach_socket(params=params)
            self._container.start()

    def follow(self, on_line: Callable[[str], None], *, deadline_s: float) -> Ended:
        """Watch the program to its end.

        An engine that does not answer a question in time is asked again until the deadline: the program may well go
        on meanwhile, and only its exit code says how it ended.

        Args:
            on_line: called for each line of output as it comes.
            deadline_s: seconds from now.

        Raises:
            BuildLate: not over by the deadline; the container was stopped.
            EngineProblem: the engine has lost the container.
        """
        tail, until = LogTail(), time.monotonic() + deadline_s
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
            time.sleep(POLL_S)

    def _over(self) -> tuple[int, bool] | None:
        """Exit code and whether memory ran out, once the program has ended; None before, or without an answer."""
        try:
            self._container.reload()
        except (requests.Timeout, requests.ConnectionError):
            return None
        except docker_errors.NotFound as lost:
            raise EngineProblem(f"the engine no longer has the container {self.name}") from lost
        except docker_errors.APIError as error:
            raise _refused("asking for the container's state", error) from error
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
        except (requests.Timeout, requests.ConnectionError):
            return b""
        except docker_errors.APIError as error:
            raise _refused("reading the container's output", error) from error

    def stop(self) -> None:
        """Stop the program, kindly, then not."""
        with contextlib.suppress(docker_errors.APIError, requests.RequestException):
            self._container.stop(timeout=STOP_GRACE_S)

    def fetch(self, path: str, into: Path) -> Path:
        """Copy a folder of plain files out of the container into a new folder `into`; returns `into`.

        Raises:
            EngineProblem: it is not there, or holds anything but plain files and folders.
            DiskFull: no room here; nothing is left.
        """
        with _engine_errors(f"copying {path} out of the container"), no_space_as_error(str(into)):
            chunks, _ = self._container.get_archive(path)
            with (
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
        self._untie()
        with contextlib.suppress(docker_errors.APIError, requests.RequestException):
            self._container.remove(force=True, v=True)

    def _untie(self) -> None:
        """Close our end of the tether with its connection, which the SDK has left to whoever holds it."""
        response, self._tether = getattr(self._tether, "_response", None), None
        if response is not None:
            response.close()


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


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A Docker Engine that answers."""

    client: docker.DockerClient
    facts: EngineFacts

    @classmethod
    def connect(cls, environ: Mapping[str, str] | None = None) -> Self:
        """The engine that DOCKER_HOST names, else the one on this machine.

        Raises:
            EngineMissing: none answers; says where it was looked for, and how to get one.
        """
        environ = dict(os.environ if environ is None else environ)
        address = environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
        if address.startswith("unix://") and not Path(address.removeprefix("unix://")).is_socket():
            raise EngineMissing(f"no Docker Engine answers at {address}: no such socket")
        try:
            client = docker.DockerClient.from_env(timeout=QUESTION_S, environment=environ)
            return cls(client=client, facts=_facts(client.info(), address))
        except (docker_errors.DockerException, requests.RequestException, OSError) as error:
            raise EngineMissing(f"no Docker Engine answers at {address}: {_first_line(error)}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def image(self, reference: str) -> Image | None:
        """The image of that name or id, or None when the engine has none."""
        with _engine_errors(f"looking for the image {reference}"):
            try:
                return _image(self.client.images.get(reference))
            except docker_errors.ImageNotFound:
                return None

    def images(self, label: str) -> tuple[Image, ...]:
        """All images that carry a label (`name` or `name=value`), newest first."""
        with _engine_errors("listing images"):
            return tuple(_image(found) for found in self.client.images.list(filters={"label": label}))

    def pull(self, reference: str) -> Image:
        """Fetch an image from its registry.

        Raises:
            EngineProblem: the registry has none of that name, or cannot be reached.
        """
        with _engine_errors(f"pulling {reference}"):
            name, at, digest = reference.partition("@")
            found = self.client.images.pull(name, tag=digest) if at else self.client.images.pull(name)
            return _image(found)

    def build(
        self,
        context: Path,
        *,
        tag: str,
        labels: Mapping[str, str],
        network: bool,
        on_line: Callable[[str], None],
    ) -> Image:
        """Build an image.

        Args:
            context: a tar file with a `Dockerfile` and what it copies.
            tag: the image's name.
            labels: added to the Dockerfile's own.
            network: whether its steps may reach the network.
            on_line: called for each line the engine says.

        Raises:
            EngineProblem: a step failed; quotes the end of what was said.
            DiskFull: no room in the engine.
        """
        said: list[str] = []
        with _engine_errors(f"building the image {tag}"), context.open("rb") as stream:
            answers = self.client.api.build(
                fileobj=stream,
                custom_context=True,
                decode=True,
                rm=True,
                forcerm=True,
                tag=tag,
                labels=dict(labels),
                network_mode=None if network else "none",
                timeout=None,
            )
            for answer in answers:
                text = str(answer.get("error") or answer.get("stream") or "").rstrip("\n")
                for line in text.splitlines():
                    said.append(line)
                    on_line(line)
                if "error" in answer:
                    raise _failed(f"building the image {tag}", said)
        image = self.image(tag)
        if image is None:
            raise _failed(f"the engine built {tag}, but does not have it", said)
        return image

    def remove_image(self, reference: str) -> None:
        """Remove an image that no container uses."""
        with _engine_errors(f"removing the image {reference}"):
            self.client.images.remove(reference)

    def ensure_volume(self, name: str, labels: Mapping[str, str]) -> None:
        """Make a volume of that name when there is none."""
        with _engine_errors(f"making the volume {name}"):
            self.client.volumes.create(name=name, labels=dict(labels))

    def volumes(self, label: str) -> Mapping[str, Mapping[str, str]]:
        """Labels by name of all volumes that carry a label (`name` or `name=value`)."""
        with _engine_errors("listing volumes"):
            found = self.client.volumes.list(filters={"label": label})
            return {str(volume.name): dict(volume.attrs.get("Labels") or {}) for volume in found}

    def volume_sizes(self) -> Mapping[str, int]:
        """Bytes by name of the volumes whose size the engine knows."""
        with _engine_errors("measuring volumes"):
            found = self.client.df().get("Volumes") or ()
        sizes = {str(volume["Name"]): int((volume.get("UsageData") or {}).get("Size", -1)) for volume in found}
        return {name: size for name, size in sizes.items() if size >= 0}

    def remove_volume(self, name: str) -> None:
        """Remove a volume that no container uses."""
        with _engine_errors(f"removing the volume {name}"):
            self.client.volumes.get(name).remove()

    def remove_orphans(self, owner: str) -> int:
        """Remove the containers that a killed run of the same owner left; returns how many.

        Whoever calls it holds the owner's lock, so nobody works in them.
        """
        with _engine_errors("looking for containers of a killed run"):
            left = self.client.containers.list(all=True, filters={"label": f"{OWNER_LABEL}={owner}"})
        for container in left:
            Box(container, tethered=False).remove()
        return len(left)

    @contextlib.contextmanager
    def container(self, job: Job, *, keep: bool = False) -> Iterator[Box]:
        """A container for one job, removed at the end, however that comes; `keep` leaves it for a person to look at.

        Raises:
            EngineProblem: no such image, or the engine refuses.
        """
        with _engine_errors("making a container"):
            box = Box(_create(self.client, job), tethered=job.tethered)
        try:
            yield box
        finally:
            box.stop()
            if not keep:
                box.remove()


def _create(client: docker.DockerClient, job: Job) -> Container:
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
        stdin_open=job.tethered,
        mem_limit=job.memory,
        memswap_limit=job.memory,
    )


def _facts(info: Mapping[str, object], address: str) -> EngineFacts:
    return EngineFacts(
        version=str(info.get("ServerVersion", "")),
        cpus=int(str(info.get("NCPU", 1))),
        memory=int(str(info.get("MemTotal", 0))),
        address=address,
    )


def _image(found: DockerImage) -> Image:
    attrs = found.attrs
    return Image(
        id=str(found.id),
        labels=dict(found.labels or {}),
        size=int(attrs.get("Size") or 0),
        repo_digests=tuple(attrs.get("RepoDigests") or ()),
    )


@contextlib.contextmanager
def _engine_errors(doing: str) -> Iterator[None]:
    """Turn the SDK's errors into ours."""
    try:
        yield
    except docker_errors.APIError as error:
        raise _refused(doing, error) from error
    except (docker_errors.DockerException, requests.RequestException) as error:
        raise EngineProblem(f"{doing}: {_first_line(error)}") from error


def _refused(doing: str, error: docker_errors.APIError) -> DiskFull | EngineProblem:
    said = str(error.explanation or error)
    return _failed(doing, [said])


def _failed(doing: str, said: Sequence[str]) -> DiskFull | EngineProblem:
    quote = "".join(f"\n    {line}" for line in said[-12:])
    if any(words.lower() in quote.lower() for words in NO_SPACE):  # Go writes it without a capital
        return DiskFull(
            f"{doing}: the engine has no space left{quote}", hint="docker system df  # what takes its space"
        )
    return EngineProblem(f"{doing} failed{quote}")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
