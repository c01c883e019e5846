"""Pack what a container build made: stock, speed, and the lane's companion libraries, once for all targets."""

from pathlib import Path

from ci.builds.box import owned_by
from ci.builds.companion import fetch_companions, pack_companion
from ci.builds.engine import Engine
from ci.builds.package import archive_name, pack_build
from ci.builds.store import BUILD_JSON, load_build
from ci.builds.target import Lane
from ci.errors import UsageProblem
from ci.files import remove_tree, sha256_file
from ci.home import Home
from ci.outcome import JsonMap
from ci.stage import Context, Stage, StageResult
from ci.stages.build import image_of, target_of, toolchain_image
from ci.stages.values import Archived, Built, Companion, Rebased

FORMAT = 1
"""Raise it when the same builds would be packed otherwise."""


def folder_of(home: Home, release: str) -> Path:
    """Where the archives of all targets of a release are gathered."""
    return home.out / "builds" / release


def described(build: Path) -> str:
    """SHA-256 of a build's description, which lists all its files, and is packed with them."""
    return sha256_file(build / BUILD_JSON)


def plan(context: Context) -> JsonMap:
    """What goes into the archives."""
    built, rebased = context.value(Built), context.value(Rebased)
    return {
        "format": FORMAT,
        "stock": described(built.stock),
        "speed": described(built.speed),
        "folder": str(folder_of(context.home, rebased.release)),
    }


def run(context: Context) -> StageResult:
    """Pack both builds."""
    built, folder = context.value(Built), folder_of(context.home, context.value(Rebased).release)
    folder.mkdir(parents=True, exist_ok=True)
    builds = (load_build(built.speed), load_build(built.stock))
    with context.console.task("packing") as task:
        for done, build in enumerate(builds):
            task.update(done, len(builds), archive_name(build))
            pack_build(build, folder)
    names = tuple(archive_name(build) for build in builds)
    return StageResult(value=Archived(folder=folder, archives=names), made=tuple(folder / name for name in names))


def lane_of(context: Context) -> Lane:
    """The lane of the target.

    Raises:
        UsageProblem: it has none.
    """
    lane = target_of(context.options).lane
    if lane is None:
        raise UsageProblem(f"target {context.options.target} needs no companion libraries")
    return lane


def plan_companion(context: Context) -> JsonMap:
    """The toolchain that the libraries come from."""
    lane = lane_of(context)
    return {
        "format": FORMAT,
        "lane": lane.name,
        "minimum_driver": lane.minimum_driver,
        "companions": list(lane.companions),
        "toolchain": image_of(lane).digest,
        "folder": str(context.value(Archived).folder),
    }


def run_companion(context: Context) -> StageResult:
    """Take the libraries out of the toolchain image and pack them."""
    lane, folder = lane_of(context), context.value(Archived).folder
    scratch, owner = context.home.work / "companion", owned_by("companion", context.home.root, lane.name)
    with context.console.task(f"companion libraries of {lane.name}"), Engine.connect() as engine:
        try:
            made = pack_companion(
                lane, fetch_companions(engine, toolchain_image(engine, lane), lane, scratch, owner=owner), folder
            )
        finally:
            remove_tree(scratch)
    return StageResult(value=Companion(archive=made), made=(made,))


STAGE = Stage(name="archive", about="stock and speed packed", value=Archived, plan=plan, run=run)
COMPANION = Stage(
    name="companion",
    about="CUDA's libraries packed, once per lane",
    value=Companion,
    plan=plan_companion,
    run=run_companion,
)
