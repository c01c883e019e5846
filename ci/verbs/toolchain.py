"""The toolchain image: toolchain."""

from collections.abc import Mapping
from dataclasses import dataclass

from ci.builds.engine import Engine
from ci.builds.target import Lane, find_lane
from ci.builds.toolchain.image import ToolchainImage, ensure_toolchain, find_toolchain_image, image_tag
from ci.builds.toolchain.lock import load_parts
from ci.console import Console
from ci.errors import EXIT_OK
from ci.files import exclusive
from ci.home import Home
from ci.outcome import JsonValue

DEFAULT_LANE = "cu13"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asks for: lane, base image, image that brings CUDA."""

    lane: str = DEFAULT_LANE
    base: str = ""
    image: str = ""
    dry_run: bool = False


def toolchain(home: Home, console: Console, asked: Request) -> int:
    """Make the lane's toolchain image, or answer with the one that is there.

    Raises:
        EngineMissing: no engine answers; says how to get one.
        SpeedforkError: from `ensure_toolchain`.
    """
    lane = find_lane(asked.lane)
    with Engine.connect() as engine:
        found = find_toolchain_image(engine, lane)
        if found and not (asked.base or asked.image):
            _show(console, found, "found")
        elif asked.dry_run:
            _plan(console, lane)
        else:
            with exclusive(home.lock):
                image = ensure_toolchain(engine, lane, home, console, base=asked.base, image=asked.image)
            _show(console, image, "found" if image == found else "built")
    return EXIT_OK


def _plan(console: Console, lane: Lane) -> None:
    """What an image would be made of; nothing is."""
    wheels = load_parts(lane).wheels
    rows = [(wheel.project, wheel.file, f"{wheel.size / 1e6:.1f} MB") for wheel in wheels]
    console.table(("project", "wheel", "size"), rows, title=f"{image_tag(lane.name)} would be made: Debian 11, and")
    if lane.toolchain == "image":
        console.result("CUDA comes from the image that --image names, by its digest")
    files = [wheel.file for wheel in wheels]
    console.document({"state": "dry run", "lane": lane.name, "kind": lane.toolchain, "wheels": files})


def _show(console: Console, image: ToolchainImage, state: str) -> None:
    tag = image_tag(image.lane)
    console.table(("", tag), [(name, str(value)) for name, value in _facts(image, state).items()])
    console.result(f"{tag} {state}")
    console.document({**_facts(image, state), "tag": tag, "archs": list(image.nvcc_archs)})


def _facts(image: ToolchainImage, state: str) -> Mapping[str, JsonValue]:
    return {
        "state": state,
        "lane": image.lane,
        "id": image.id,
        "digest": image.digest,
        "identity": image.identity,
        "base": image.base,
        "cuda_from": image.cuda_from or "wheels",
        "archs": " ".join(image.nvcc_archs),
    }
