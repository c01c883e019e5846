"""Built binaries by content of their inputs: one flat folder per build, whole or not there."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ci.builds.alike import shared_options
from ci.builds.recipe import Recipe
from ci.config import Field, Model, Sha256, parse
from ci.digest import digest_json
from ci.errors import ConfigProblem, DigestMismatch
from ci.files import no_space_as_error, read_json, sha256_file, staged_dir, write_json
from ci.home import Home

BUILD_JSON = "build.json"
FORMAT = 1
NAME_LIMIT = 200
"""Bytes of a file name: file systems end at 255."""
REBUILD_HINT = "remove that folder and build again"
BUILD_HINT = "./noxw -s build-cpu  # it prints both folders"

Variant = Literal["stock", "speed"]


@dataclass(frozen=True, kw_only=True)
class BuildKey:
    """Everything that decides a build's bytes.

    Args:
        variant: `stock` or `speed`.
        label: what the binaries call themselves, e.g. `b11434-speed.1`; for stock the build tag.
        number: upstream build number.
        tree: git tree id of the sources.
        recipe: options and flags, free of paths.
        compiler: `Toolchain.identity`.
        target: `sm75`.
        lane: toolkit lane, `cu13`; empty for a target without.
        platform: `x64`.
        minimum_driver: first major version of the driver that runs the binaries; empty for builds without device
            code. It follows from the lane, and is not among the inputs that the digest is over.
    """

    variant: Variant
    label: str
    number: int
    tree: str
    recipe: Recipe
    compiler: str
    target: str
    lane: str
    platform: str
    minimum_driver: str = ""

    @property
    def digest(self) -> str:
        """Hex SHA-256 of the inputs: the folder name in the store."""
        return digest_json(
            {
                "variant": self.variant,
                "label": self.label,
                "number": self.number,
                "tree": self.tree,
                "recipe": self.recipe.digest,
                "compiler": self.compiler,
                "platform": self.platform,
            }
        )


@dataclass(frozen=True, kw_only=True)
class Build:
    """A finished build in a folder.

    Args:
        path: the folder.
        variant: `stock` or `speed`.
        label: what `llama-server --version` names as commit.
        tag: upstream build, e.g. `b11434`.
        tree: git tree id of the sources.
        target: e.g. `cpu`.
        lane: toolkit lane, e.g. `cu13`; empty for a target without.
        platform: e.g. `x64`.
        minimum_driver: first major version of the driver that runs it; empty where no device code is.
        recipe: hex digest of the recipe.
        options: CMake cache entries of the recipe.
        flags: compiler flags of the recipe.
        compiler: compiler, linker and CMake versions.
        key: hex digest of the inputs.
        files: hex SHA-256 by file name, without `build.json`.
        sizes: bytes by file name.
        digest: hex SHA-256 over `files`: equal for equal content.
    """

    path: Path
    variant: Variant
    label: str
    tag: str
    tree: str
    target: str
    lane: str
    platform: str
    minimum_driver: str
    recipe: str
    options: Mapping[str, str]
    flags: tuple[str, ...]
    compiler: str
    key: str
    files: Mapping[str, str]
    sizes: Mapping[str, int]
    digest: str

    @property
    def target_id(self) -> str:
        """Target and lane in one word, as in archive names: `cpu`, `sm75-cu13`."""
        return f"{self.target}-{self.lane}" if self.lane else self.target

    @property
    def making(self) -> dict[str, str]:
        """Everything beside the sources that decides a build's bytes, in words by name: equal for stock and speed."""
        return {
            "tag": self.tag,
            "target": self.target_id,
            "platform": self.platform,
            "compiler": self.compiler,
            "flags": " ".join(self.flags),
            **{f"option {name}": value for name, value in shared_options(self.options).items()},
        }


class _File(Model):
    sha256: Sha256
    size: int = Field(ge=0)


class _BuildJson(Model):
    format: Literal[1]
    variant: Variant
    label: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    tag: str = Field(pattern=r"^b[0-9]{1,9}$")
    tree: str = Field(pattern=r"^[0-9a-f]{40,64}$")
    target: str = Field(pattern=r"^[a-z0-9]+$")
    lane: str = Field(default="", pattern=r"^[a-z0-9]*$")
    platform: str = Field(pattern=r"^[a-z0-9]+$")
    minimum_driver: str = Field(default="", pattern=r"^[0-9]{0,4}$")
    recipe: Sha256
    options: Mapping[str, str]
    flags: tuple[str, ...]
    compiler: str
    key: Sha256
    files: Mapping[str, _File] = Field(min_length=1)
    digest: Sha256


def put(home: Home, key: BuildKey, staged: Mapping[str, Path]) -> Build:
    """Store finished files under the key's digest and describe them in `build.json`.

    Args:
        home: whose store.
        key: the inputs.
        staged: final file name -> file to copy; executable where the original is.

    Raises:
        DiskFull: no room; the store is unchanged.
    """
    final = home.store / key.digest
    with no_space_as_error(str(final)), staged_dir(final) as folder:
        for name, origin in sorted(staged.items()):
            shutil.copyfile(origin, folder / name)
            (folder / name).chmod(0o755 if origin.stat().st_mode & 0o100 else 0o644)
        write_json(folder / BUILD_JSON, _described(key, folder))
    return load_build(final)


def _described(key: BuildKey, folder: Path) -> dict[str, object]:
    files = {
        path.name: {"sha256": sha256_file(path), "size": path.stat().st_size} for path in sorted(folder.iterdir())
    }
    return {
        "format": FORMAT,
        "variant": key.variant,
        "label": key.label,
        "tag": f"b{key.number}",
        "tree": key.tree,
        "target": key.target,
        "lane": key.lane,
        "platform": key.platform,
        "minimum_driver": key.minimum_driver,
        "recipe": key.recipe.digest,
        "options": dict(key.recipe.options),
        "flags": list(key.recipe.flags),
        "compiler": key.compiler,
        "key": key.digest,
        "files": files,
        "digest": content_digest({name: str(file["sha256"]) for name, file in files.items()}),
    }


def content_digest(files: Mapping[str, str]) -> str:
    """Hex SHA-256 over file names and their SHA-256."""
    return digest_json(dict(files))


def load_build(path: Path, *, check: bool = False) -> Build:
    """The build in a folder.

    Args:
        path: a folder that a build made, or a copy or unpacked archive of it.
        check: also compare every file with its recorded digest.

    Raises:
        ConfigProblem: no `build.json` in it, or not a valid one.
        DigestMismatch: `check`, and files are missing, changed or not listed; lists them all.
    """
    source = path / BUILD_JSON
    if not source.is_file():
        raise ConfigProblem(f"{path}: not the folder of a build, it has no {BUILD_JSON}", hint=BUILD_HINT)
    known = parse(_BuildJson, read_json(source), source=str(source), hint=REBUILD_HINT)
    files = {name: file.sha256 for name, file in known.files.items()}
    if not all(_is_plain(name) for name in files) or content_digest(files) != known.digest:
        raise ConfigProblem(f"{source}: its digest does not fit its list of files", hint=REBUILD_HINT)
    build = Build(
        path=path,
        variant=known.variant,
        label=known.label,
        tag=known.tag,
        tree=known.tree,
        target=known.target,
        lane=known.lane,
        platform=known.platform,
        minimum_driver=known.minimum_driver,
        recipe=known.recipe,
        options=known.options,
        flags=known.flags,
        compiler=known.compiler,
        key=known.key,
        files=files,
        sizes={name: file.size for name, file in known.files.items()},
        digest=known.digest,
    )
    if check:
        verify(build)
    return build


def _is_plain(name: str) -> bool:
    """Whether it can be a file of ours: beside the others, with a name that can be shown and written."""
    beside = "/" not in name and name not in ("", ".", "..", BUILD_JSON)
    return beside and name.isprintable() and len(name.encode()) <= NAME_LIMIT


def verify(build: Build) -> None:
    """Compare a build's folder with its list, file by file.

    Raises:
        DigestMismatch: lists every missing, changed and unlisted file.
    """
    faults = [*_wrong_files(build), *_unlisted_files(build)]
    if faults:
        listed = "".join(f"\n    {fault}" for fault in faults)
        raise DigestMismatch(f"{build.path}: not the files that were built{listed}", hint=REBUILD_HINT)


def _wrong_files(build: Build) -> Sequence[str]:
    faults = []
    for name, expected in sorted(build.files.items()):
        path = build.path / name
        found = sha256_file(path) if path.is_file() else "missing"
        if found != expected:
            faults.append(f"{name}: sha256 {found}, expected {expected}")
    return faults


def _unlisted_files(build: Build) -> Sequence[str]:
    listed = {*build.files, BUILD_JSON}
    return [f"{path.name}: not in {BUILD_JSON}" for path in sorted(build.path.iterdir()) if path.name not in listed]


def find(home: Home, digest: str) -> Build | None:
    """The stored build with these inputs, or None when there is none or it is damaged (then it is built again)."""
    folder = home.store / digest
    if not folder.is_dir():
        return None
    try:
        return load_build(folder, check=True)
    except (ConfigProblem, DigestMismatch):
        return None


def stored_builds(home: Home) -> Iterator[Build]:
    """Every build in the store whose description can be read; a damaged one is built again by whoever needs it."""
    for folder in sorted(home.store.iterdir()) if home.store.is_dir() else ():
        try:
            yield load_build(folder)
        except (ConfigProblem, DigestMismatch):
            continue
