"""Build stock and speed by one recipe, or take them from the store: here, or in a container for targets of a lane."""

import os
from pathlib import Path

from ci.builds.compiler import ENV_JOBS, find_toolchain
from ci.builds.contained import build_contained
from ci.builds.engine import Engine
from ci.builds.native import build
from ci.builds.request import BuildRequest, key_of
from ci.builds.store import BUILD_JSON, Build
from ci.builds.target import Lane, Target, find_target
from ci.builds.toolchain.image import ToolchainImage, find_toolchain_image
from ci.errors import ToolMissing
from ci.git import Git
from ci.outcome import JsonMap
from ci.stage import Context, Options, Stage, StageResult
from ci.stages.values import Built, Rebased, Synced
from ci.upstream.tags import BuildTag


def target_of(options: Options) -> Target:
    """The target and lane that were asked for."""
    return find_target(options.target, lane=options.lane)


def requests(context: Context) -> tuple[BuildRequest, BuildRequest]:
    """Stock and speed, alike but for tree and label."""
    synced, rebased = context.value(Synced), context.value(Rebased)
    target, number = target_of(context.options), BuildTag.parse(synced.onto).number
    return (
        BuildRequest(variant="stock", label=synced.onto, number=number, tree=synced.onto_tree, target=target),
        BuildRequest(variant="speed", label=rebased.release, number=number, tree=rebased.tree, target=target),
    )


def plan(context: Context) -> JsonMap:
    """The keys of both builds: trees, labels, recipe, compiler."""
    lane = target_of(context.options).lane
    identity = image_of(lane).identity if lane else find_toolchain(os.environ).identity
    return {request.variant: key_of(request, identity).digest for request in requests(context)}


def image_of(lane: Lane) -> ToolchainImage:
    """The lane's toolchain image in the engine that can be reached."""
    with Engine.connect() as engine:
        return toolchain_image(engine, lane)


def toolchain_image(engine: Engine, lane: Lane) -> ToolchainImage:
    """The lane's toolchain image in an engine.

    Raises:
        ToolMissing: it was not made yet.
    """
    found = find_toolchain_image(engine, lane)
    if found is None:
        raise ToolMissing(
            f"the engine has no toolchain image for lane {lane.name}", hint=f"invoke toolchain --lane {lane.name}"
        )
    return found


def run(context: Context) -> StageResult:
    """Build what is not in the store."""
    lane = target_of(context.options).lane
    stock, speed = in_containers(context, lane) if lane else here(context)
    value = Built(stock=stock.path, stock_digest=stock.digest, speed=speed.path, speed_digest=speed.digest)
    return StageResult(value=value, made=(*files_of(stock), *files_of(speed)))


def here(context: Context) -> tuple[Build, ...]:
    """Both builds by this machine's compiler."""
    git, environ = Git(path=context.home.history), environ_of(context.options)
    return tuple(build(git, request, context.home, context.console, environ=environ) for request in requests(context))


def in_containers(context: Context, lane: Lane) -> tuple[Build, ...]:
    """Both builds with one toolchain image, looked up once: another one may get its name meanwhile."""
    git, home, console = Git(path=context.home.history), context.home, context.console
    environ, builds = environ_of(context.options), []
    with Engine.connect() as engine:
        toolchain = toolchain_image(engine, lane)
        for request in requests(context):
            made = build_contained(git, request, home, console, engine, toolchain, environ=environ)
            if made.counts:
                console.say(f"  {request.label} for {request.target.id}: {made.counts.words}")
            builds.append(made.build)
    return tuple(builds)


def environ_of(options: Options) -> dict[str, str]:
    """Our environment, with the number of jobs that was asked for."""
    return {**os.environ, **({ENV_JOBS: options.jobs} if options.jobs else {})}


def files_of(built: Build) -> tuple[Path, ...]:
    """Every file of a build, its description included."""
    return tuple(built.path / name for name in (*sorted(built.files), BUILD_JSON))


STAGE = Stage(name="build", about="stock and speed by one recipe", value=Built, plan=plan, run=run)
