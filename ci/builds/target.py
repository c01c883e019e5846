"""What we build for: the targets of `targets.toml`, each merged with the common options and one toolkit lane."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ci.builds.arch import ArchPlan, plan_archs
from ci.config import CONFIG_DIR, Field, Model, load_toml
from ci.errors import ConfigProblem, UsageProblem
from ci.suggest import did_you_mean

TARGETS_FILE = CONFIG_DIR / "targets.toml"
NO_ARCHS = ArchPlan(cmake="", sass=(), ptx=())

ToolchainKind = Literal["wheels", "image"]


@dataclass(frozen=True, kw_only=True)
class Lane:
    """A CUDA toolkit in a container.

    Args:
        name: `cu13`.
        toolchain: where the toolkit comes from: wheels of the package index, or an `nvidia/cuda` image.
        minimum_driver: first major version of the driver that runs its binaries, e.g. `580`.
        companions: libraries of the toolkit that ship in an archive of their own, by SONAME.
        driver: libraries that come with the driver and must never ship.
    """

    name: str
    toolchain: ToolchainKind
    minimum_driver: str
    companions: tuple[str, ...]
    driver: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What an archive of a target promises, and the audit looks for.

    Args:
        sass: machine code that the device library carries, exactly this (`sm_120a`); empty: no device library.
        ptx: code for the driver's own compiler that may stand beside it (`compute_120a`); empty: none may.
        glibc: newest version of the C library's symbols, e.g. `2.31`; empty: whatever the build machine has.
        glibcxx: the same of libstdc++, e.g. `3.4.28`.
        plugins: libraries that must be there although nothing names them: the CPU variants, the device library.
        companions: libraries that come from the lane's companion archive.
        driver: libraries that come with the driver.
        system: libraries that every Linux system has.
    """

    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    glibc: str
    glibcxx: str
    plugins: tuple[str, ...]
    companions: tuple[str, ...]
    driver: tuple[str, ...]
    system: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Target:
    """One thing to build for.

    Args:
        name: as used on command lines, in patch trailers and archive names (`cpu`, `sm75`).
        platform: the last part of an archive's name (`x64`).
        programs: executables to build, by CMake target name.
        options: CMake options, sorted by name.
        lane: the toolkit; None for a target that this machine's own compiler builds.
        archs: what the device code is for.
        promise: what the audit looks for.
    """

    name: str
    platform: str
    programs: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    lane: Lane | None = None
    archs: ArchPlan = NO_ARCHS
    promise: Promise | None = None

    @property
    def id(self) -> str:
        """Target and lane in one word, as in archive names: `cpu`, `sm75-cu13`."""
        return f"{self.name}-{self.lane.name}" if self.lane else self.name

    @property
    def build_command(self) -> str:
        """What makes its builds."""
        return f"invoke build --target {self.name}{f' --lane {self.lane.name}' if self.lane else ''}"


class _Common(Model):
    programs: tuple[str, ...] = Field(min_length=1)
    options: Mapping[str, str]


class _System(Model):
    libraries: tuple[str, ...] = ()


class _Container(Model):
    glibc: str = ""
    glibcxx: str = ""
    variants: tuple[str, ...] = ()
    options: Mapping[str, str] = {}


class _Lane(Model):
    about: str
    toolchain: ToolchainKind
    minimum_driver: str = Field(pattern=r"^[0-9]{3,4}$")
    companions: tuple[str, ...]
    driver: tuple[str, ...]


class _Target(Model):
    about: str
    platform: str
    lanes: tuple[str, ...] = ()
    archs: str = ""
    programs: tuple[str, ...] = ()
    options: Mapping[str, str] = {}


class _TargetsFile(Model):
    common: _Common
    system: _System = _System()
    container: _Container = _Container()
    lanes: Mapping[str, _Lane] = {}
    targets: Mapping[str, _Target] = Field(min_length=1)


def load_targets(path: Path = TARGETS_FILE) -> Mapping[str, tuple[Target, ...]]:
    """All targets by name: one for each of its lanes, the usual lane first; a target without lanes once.

    Raises:
        ConfigProblem: the file is missing or malformed (lists every fault), names a lane that it does not
            describe, or device code that cannot be.
    """
    file = load_toml(_TargetsFile, path)
    return {name: _all_lanes(path, name, file) for name in sorted(file.targets)}


def find_target(name: str, path: Path = TARGETS_FILE, *, lane: str = "") -> Target:
    """The target of that name, for one lane; the usual one when none is asked for.

    Raises:
        UsageProblem: there is none; names those that exist.
        ConfigProblem: the file is missing or malformed.
    """
    targets = load_targets(path)
    if name not in targets:
        known = ", ".join(targets)
        meant = did_you_mean(name, targets)
        raise UsageProblem(f"unknown target {name!r}{meant}; known targets: {known}", hint=f"use one of: {known}")
    if not lane:
        return targets[name][0]
    for target in targets[name]:
        if target.lane and target.lane.name == lane:
            return target
    has = ", ".join(target.lane.name for target in targets[name] if target.lane) or "none: it needs no toolkit"
    raise UsageProblem(f"target {name} has no lane {lane!r}; its lanes: {has}", hint=f"invoke build --target {name}")


def find_lane(name: str, path: Path = TARGETS_FILE) -> Lane:
    """The lane of that name.

    Raises:
        UsageProblem: there is none; names those that exist.
        ConfigProblem: the file is missing or malformed.
    """
    lanes = load_toml(_TargetsFile, path).lanes
    if name not in lanes:
        known = ", ".join(lanes)
        raise UsageProblem(f"unknown lane {name!r}; known lanes: {known}", hint=f"use one of: {known}")
    return _lane(name, lanes[name])


def _all_lanes(path: Path, name: str, file: _TargetsFile) -> tuple[Target, ...]:
    own = file.targets[name]
    unknown = [lane for lane in own.lanes if lane not in file.lanes]
    if unknown:
        raise ConfigProblem(f"{path}: target {name} names the lane {unknown[0]!r}, known: {', '.join(file.lanes)}")
    if not own.lanes:
        return (_merged(name, file, None),)
    return tuple(_merged(name, file, _lane(lane, file.lanes[lane])) for lane in own.lanes)


def _lane(name: str, own: _Lane) -> Lane:
    return Lane(
        name=name,
        toolchain=own.toolchain,
        minimum_driver=own.minimum_driver,
        companions=own.companions,
        driver=own.driver,
    )


def _merged(name: str, file: _TargetsFile, lane: Lane | None) -> Target:
    own = file.targets[name]
    archs = plan_archs(own.archs) if lane else NO_ARCHS
    contained = {**file.container.options, "CMAKE_CUDA_ARCHITECTURES": archs.cmake} if lane else {}
    options = {**file.common.options, **contained, **own.options}
    return Target(
        name=name,
        platform=own.platform,
        programs=(*file.common.programs, *own.programs),
        options=tuple(sorted(options.items())),
        lane=lane,
        archs=archs,
        promise=_promise(file, lane, archs),
    )


def _promise(file: _TargetsFile, lane: Lane | None, archs: ArchPlan) -> Promise:
    """A native build promises no floor: its libraries are the build machine's."""
    contained = file.container if lane else _Container()
    variants = tuple(f"libggml-cpu-{variant}.so" for variant in contained.variants)
    return Promise(
        sass=archs.sass,
        ptx=archs.ptx,
        glibc=contained.glibc,
        glibcxx=contained.glibcxx,
        plugins=(*variants, "libggml-cuda.so") if lane else ("libggml-cpu.so",),
        companions=lane.companions if lane else (),
        driver=lane.driver if lane else (),
        system=file.system.libraries,
    )
