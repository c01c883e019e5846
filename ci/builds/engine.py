"""A Docker Engine that answers: its images, volumes and containers.

`ci.builds.box` is one container, `ci.builds.engine_errors` turns the SDK's errors into ours; these three are the door
to the SDK.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import docker
import requests
from docker import errors as docker_errors
from docker.models.images import Image as DockerImage

from ci.builds.box import OWNER_LABEL, Box, Job, create
from ci.builds.engine_errors import engine_errors, failed, first_line
from ci.errors import EngineMissing

QUESTION_S = 60
"""How long the engine may take to answer one question."""
NOT_ALLOWED = "sudo usermod -aG docker $USER  # then log in anew, and run the command again"


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
            hint = NOT_ALLOWED if "Permission denied" in str(error) else None
            raise EngineMissing(f"no Docker Engine answers at {address}: {first_line(error)}", hint=hint) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def image(self, reference: str) -> Image | None:
        """The image of that name or id, or None when the engine has none."""
        with engine_errors(f"looking for the image {reference}"):
            try:
                return _image(self.client.images.get(reference))
            except docker_errors.ImageNotFound:
                return None

    def images(self, label: str) -> tuple[Image, ...]:
        """All images that carry a label (`name` or `name=value`), newest first."""
        with engine_errors("listing images"):
            return tuple(_image(found) for found in self.client.images.list(filters={"label": label}))

    def pull(self, reference: str) -> Image:
        """Fetch an image from its registry.

        Raises:
            EngineProblem: the registry has none of that name, or cannot be reached.
        """
        with engine_errors(f"pulling {reference}"):
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
        with engine_errors(f"building the image {tag}"), context.open("rb") as stream:
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
                    raise failed(f"building the image {tag}", said)
        image = self.image(tag)
        if image is None:
            raise failed(f"the engine built {tag}, but does not have it", said)
        return image

    def remove_image(self, reference: str) -> None:
        """Remove an image that no container uses."""
        with engine_errors(f"removing the image {reference}"):
            self.client.images.remove(reference)

    def ensure_volume(self, name: str, labels: Mapping[str, str]) -> None:
        """Make a volume of that name when there is none."""
        with engine_errors(f"making the volume {name}"):
            self.client.volumes.create(name=name, labels=dict(labels))

    def volumes(self, label: str) -> Mapping[str, Mapping[str, str]]:
        """Labels by name of all volumes that carry a label (`name` or `name=value`)."""
        with engine_errors("listing volumes"):
            found = self.client.volumes.list(filters={"label": label})
            return {str(volume.name): dict(volume.attrs.get("Labels") or {}) for volume in found}

    def volume_sizes(self) -> Mapping[str, int]:
        """Bytes by name of the volumes whose size the engine knows."""
        with engine_errors("measuring volumes"):
            found = self.client.df().get("Volumes") or ()
        sizes = {str(volume["Name"]): int((volume.get("UsageData") or {}).get("Size", -1)) for volume in found}
        return {name: size for name, size in sizes.items() if size >= 0}

    def remove_volume(self, name: str) -> None:
        """Remove a volume that no container uses."""
        with engine_errors(f"removing the volume {name}"):
            self.client.volumes.get(name).remove()

    def remove_orphans(self, owner: str) -> int:
        """Remove the containers that a killed run of the same owner left; returns how many.

        Whoever calls it holds the owner's lock, so nobody works in them.
        """
        with engine_errors("looking for containers of a killed run"):
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
        with engine_errors("making a container"):
            box = Box(create(self.client, job), tethered=job.tethered)
        try:
            yield box
        finally:
            try:
                box.stop()
            finally:  # whatever stops it badly, it goes
                if not keep:
                    box.remove()


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
