"""What we build for: the targets of `targets.toml`, each merged with the common options."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ci.config import CONFIG_DIR, Field, Model, load_toml
from ci.errors import UsageProblem

TARGETS_FILE = CONFIG_DIR / "targets.toml"


@dataclass(frozen=True, kw_only=True)
class Target:
    """One thing to build for.

    Args:
        name: as used on command lines, in patch trailers and archive names (`cpu`).
        platform: the last part of an archive's name (`x64`).
        programs: executables to build, by CMake target name.
        options: CMake options, sorted by name.
    """

    name: str
    platform: str
    programs: tuple[str, ...]
    options: tuple[tuple[str, str], ...]


class _Common(Model):
    programs: tuple[str, ...] = Field(min_length=1)
    options: Mapping[str, str]


class _Target(Model):
    about: str
    platform: str
    options: Mapping[str, str] = {}


class _TargetsFile(Model):
    common: _Common
    targets: Mapping[str, _Target] = Field(min_length=1)


def load_targets(path: Path = TARGETS_FILE) -> Mapping[str, Target]:
    """All targets by name.

    Raises:
        ConfigProblem: the file is missing or malformed; lists every fault.
    """
    file = load_toml(_TargetsFile, path)
    return {name: _merged(name, file.common, own) for name, own in sorted(file.targets.items())}


def find_target(name: str, path: Path = TARGETS_FILE) -> Target:
    """The target of that name.

    Raises:
        UsageProblem: there is none; names those that exist.
        ConfigProblem: the file is missing or malformed.
    """
    targets = load_targets(path)
    if name not in targets:
        known = ", ".join(targets)
        raise UsageProblem(f"unknown target {name!r}; known targets: {known}", hint=f"use one of: {known}")
    return targets[name]


def _merged(name: str, common: _Common, own: _Target) -> Target:
    options = {**common.options, **own.options}
    return Target(name=name, platform=own.platform, programs=common.programs, options=tuple(sorted(options.items())))
