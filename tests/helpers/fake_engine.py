"""An engine of plain dictionaries: images by name, and scripted answers of the containers."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ci.builds.box import Box, Ended, Job
from ci.builds.engine import Engine, EngineFacts, Image
from ci.errors import EngineProblem

FACTS = EngineFacts(version="20.10", cpus=2, memory=8_000_000_000, address="unix:///nowhere.sock")

Answer = tuple[int, tuple[str, ...]]
"""Exit code and lines of a container."""


def image_id(number: int) -> str:
    """The id of a made-up image."""
    return f"sha256:{number:064x}"


class FakeBox:
    """A container that says what was scripted."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def start(self) -> None:
        """Nothing runs."""

    def follow(self, on_line: Callable[[str], None], *, deadline_s: float) -> Ended:
        """The scripted answer."""
        code, lines = self.answer
        return Ended(code=code, killed_for_memory=False, lines=lines)


class FakeEngine(Engine):
    """Images by reference, in the engine and in a registry; `answer` says what a container's program prints.

    `builds` are the images that were built: context as it was then, tag, labels, network.
    """

    def __enter__(self) -> "FakeEngine":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __init__(self, images: Mapping[str, Image], *, answer: Callable[[Job], Answer]) -> None:
        super().__init__(client=cast("Any", None), facts=FACTS)
        self.__dict__.update(
            local=dict(images), registry={}, answer=answer, builds=[], jobs=[], orphans=[], next_id=100
        )

    local: dict[str, Image]
    registry: dict[str, Image]
    answer: Callable[[Job], Answer]
    builds: list[tuple[bytes, str, Mapping[str, str], bool]]
    jobs: list[Job]
    orphans: list[str]
    next_id: int

    def image(self, reference: str) -> Image | None:
        """By name or id."""
        by_id = {image.id: image for image in self.local.values()}
        return self.local.get(reference) or by_id.get(reference)

    def pull(self, reference: str) -> Image:
        """From the registry."""
        if reference not in self.registry:
            raise EngineProblem(f"pulling {reference}: no such host")
        self.local[reference] = self.registry[reference]
        return self.registry[reference]

    def build(
        self,
        context: Path,
        *,
        tag: str,
        labels: Mapping[str, str],
        network: bool,
        on_line: Callable[[str], None],
    ) -> Image:
        """An image with a new id and those labels."""
        self.builds.append((context.read_bytes(), tag, dict(labels), network))
        on_line("Step 1/2 : FROM something")
        self.__dict__["next_id"] = self.next_id + 1
        self.local[tag] = Image(id=image_id(self.next_id), labels=dict(labels), size=1)
        return self.local[tag]

    def remove_image(self, reference: str) -> None:
        """The name goes."""
        del self.local[reference]

    def remove_orphans(self, owner: str) -> int:
        """Nothing is left; notes who asked."""
        self.orphans.append(owner)
        return 0

    @contextlib.contextmanager
    def container(self, job: Job, *, keep: bool = False) -> Iterator[Box]:
        """A container with a scripted answer."""
        self.jobs.append(job)
        yield cast("Box", FakeBox(self.answer(job)))
