"""The images that a toolchain image is made of: a Debian 11 base, and for some lanes one that has CUDA."""

import re
from dataclasses import dataclass

from ci.builds.box import Job
from ci.builds.engine import Engine, Image
from ci.builds.target import Lane
from ci.errors import BaseMissing, EngineProblem, UsageProblem

IMPORTED = "speedfork/debian:11"
"""A base that was made here, by debootstrap."""
PUBLIC = "debian:11"
PACKAGES = "build-essential ca-certificates clang-16"
"""What a base has, or gets; the same as a base made by debootstrap, so that the digest is the same."""

DEADLINE_S = 120
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._:/-]*@)?sha256:[0-9a-f]{64}")
_LOOK = """\
. /etc/os-release
echo "system $ID $VERSION_ID"
for tool in gcc g++-10 make ld clang-16 clang++-16; do command -v $tool >/dev/null || echo "lacks $tool"; done
"""


@dataclass(frozen=True, kw_only=True)
class Base:
    """A Debian 11 image.

    Args:
        id: the engine's id of it.
        name: how others can get the same: the digest of a registry, else the id.
        lacks: compilers that it does not have.
    """

    id: str
    name: str
    lacks: tuple[str, ...]


def find_base(engine: Engine, reference: str, owner: str) -> Base:
    """The base of that name; without one what was imported here, else Debian's own image.

    Raises:
        UsageProblem: there is no such image, or it is not Debian 11.
        BaseMissing: none was named, there is none, and no registry has one; says how to make one.
    """
    image = named_image(engine, reference, option="--base") if reference else _usual(engine)
    return Base(id=image.id, name=name_of(image), lacks=_look(engine, image, owner))


def name_of(image: Image) -> str:
    """How an image can be had again: by the digest of a registry, else by its id."""
    return image.repo_digests[0] if image.repo_digests else image.id


def named_image(engine: Engine, reference: str, *, option: str) -> Image:
    """An image that the engine has, or one that a registry has under a digest.

    Raises:
        UsageProblem: the engine does not have it, and no digest says which one a registry should send.
        EngineProblem: the registry does not have it, or does not answer.
    """
    image = engine.image(reference)
    if image is not None:
        return image
    if not _PINNED.fullmatch(reference):
        raise UsageProblem(
            f"{option} {reference}: the engine has no such image, and a registry is asked by digest only",
            hint=f"docker image ls  # or {option} NAME@sha256:DIGEST",
        )
    return engine.pull(reference)


def check_cuda_reference(lane: Lane, reference: str) -> None:
    """An image that is to bring CUDA must fit the lane, and be named by digest.

    Raises:
        UsageProblem: none was named where one is needed, one where none is, or one without a digest.
    """
    if lane.toolchain != "image":
        if reference:
            words = f"lane {lane.name} takes CUDA from wheels, not from {reference}"
            raise UsageProblem(words, hint=f"invoke toolchain --lane {lane.name}")
    elif not _PINNED.fullmatch(reference):
        words = f"--image {reference}: a name can move on to another image, a digest cannot"
        raise UsageProblem(
            words if reference else f"lane {lane.name} takes CUDA from an image, and none was named",
            hint=f"invoke toolchain --lane {lane.name} --image nvidia/cuda:VERSION-devel-SYSTEM@sha256:DIGEST",
        )


def _usual(engine: Engine) -> Image:
    image = engine.image(IMPORTED) or engine.image(PUBLIC)
    if image is not None:
        return image
    try:
        return engine.pull(PUBLIC)
    except EngineProblem as refused:
        raise BaseMissing(f"the engine has no {IMPORTED}, and {PUBLIC} cannot be had: {refused.message}") from refused


def _look(engine: Engine, image: Image, owner: str) -> tuple[str, ...]:
    job = Job(image=image.id, argv=("sh", "-euc", _LOOK), owner=owner, env={}, volumes={})
    with engine.container(job) as box:
        box.start()
        ended = box.follow(lambda _: None, deadline_s=DEADLINE_S)
    said = [line.partition(" ") for line in ended.lines]
    system = next((value for name, _, value in said if name == "system"), "no system that says what it is")
    if ended.code or system != "debian 11":
        raise UsageProblem(
            f"the base {name_of(image)} is {system}, not debian 11: builds would not run where they promise to",
            hint=f"invoke toolchain --base {IMPORTED}",
        )
    return tuple(value for name, _, value in said if name == "lacks")
