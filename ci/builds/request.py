"""A build that was asked for, and the digest under which it is stored."""

from dataclasses import dataclass

from ci.builds.recipe import recipe_for
from ci.builds.store import BuildKey, Variant
from ci.builds.target import Target


@dataclass(frozen=True, kw_only=True)
class BuildRequest:
    """What to build.

    Args:
        variant: `stock` or `speed`.
        label: what the binaries call themselves: the build tag for stock, the release id for speed.
        number: upstream build number.
        tree: git tree id of the sources in the history.
        target: what to build for.
    """

    variant: Variant
    label: str
    number: int
    tree: str
    target: Target


def key_of(request: BuildRequest, compiler: str) -> BuildKey:
    """The inputs of a build, whose digest is its place in the store.

    Args:
        request: what to build.
        compiler: the identity of the toolchain, in one line.
    """
    target = request.target
    return BuildKey(
        variant=request.variant,
        label=request.label,
        number=request.number,
        tree=request.tree,
        recipe=recipe_for(target, label=request.label, number=request.number),
        compiler=compiler,
        target=target.name,
        lane=target.lane.name if target.lane else "",
        platform=target.platform,
        minimum_driver=target.lane.minimum_driver if target.lane else "",
    )
