"""Build stock and speed by one recipe, or take them from the store."""

import os
from pathlib import Path

from ci.builds.compiler import ENV_JOBS, find_toolchain
from ci.builds.native import build
from ci.builds.request import BuildRequest, key_of
from ci.builds.store import BUILD_JSON, Build
from ci.builds.target import find_target
from ci.git import Git
from ci.outcome import JsonMap
from ci.stage import Context, Options, Stage, StageResult
from ci.stages.values import Built, Rebased, Synced
from ci.upstream.tags import BuildTag


def requests(context: Context) -> tuple[BuildRequest, BuildRequest]:
    """Stock and speed, alike but for tree and label."""
    synced, rebased = context.value(Synced), context.value(Rebased)
    target, number = find_target(context.options.target), BuildTag.parse(synced.onto).number
    return (
        BuildRequest(variant="stock", label=synced.onto, number=number, tree=synced.onto_tree, target=target),
        BuildRequest(variant="speed", label=rebased.release, number=number, tree=rebased.tree, target=target),
    )


def plan(context: Context) -> JsonMap:
    """The keys of both builds: trees, labels, recipe, compiler."""
    toolchain = find_toolchain(os.environ)
    return {request.variant: key_of(request, toolchain.identity).digest for request in requests(context)}


def run(context: Context) -> StageResult:
    """Build what is not in the store."""
    git, home, console = Git(path=context.home.history), context.home, context.console
    environ = environ_of(context.options)
    stock, speed = (build(git, request, home, console, environ=environ) for request in requests(context))
    value = Built(stock=stock.path, stock_digest=stock.digest, speed=speed.path, speed_digest=speed.digest)
    return StageResult(value=value, made=(*files_of(stock), *files_of(speed)))


def environ_of(options: Options) -> dict[str, str]:
    """Our environment, with the number of jobs that was asked for."""
    return {**os.environ, **({ENV_JOBS: options.jobs} if options.jobs else {})}


def files_of(built: Build) -> tuple[Path, ...]:
    """Every file of a build, its description included."""
    return tuple(built.path / name for name in (*sorted(built.files), BUILD_JSON))


STAGE = Stage(name="build", about="stock and speed by one recipe", value=Built, plan=plan, run=run)
