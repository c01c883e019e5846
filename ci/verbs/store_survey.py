"""What takes room in the state directory and in the engine, and who needs it: looked at, never changed."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ci.builds.contained import CACHE_LABEL
from ci.builds.engine import Engine
from ci.builds.shelf import Item, Kind
from ci.builds.store import BUILD_JSON, Build, load_build
from ci.builds.target import find_lane, load_targets
from ci.builds.toolchain.image import LABEL, find_toolchain_image
from ci.console import Console
from ci.errors import ConfigProblem, DigestMismatch, EngineMissing, EngineProblem, SpeedforkError
from ci.files import leftovers, read_json
from ci.home import Home
from ci.records import find_record
from ci.stage import Context, Options
from ci.stages import build, rebase, sync
from ci.stages.values import Built

FOLDER = re.compile(r"[0-9a-f]{64}")
CURRENT = "current record"
UNCLEAR = "some record"


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """Everything that takes room, and remarks on what could not be seen."""

    items: tuple[Item, ...]
    remarks: tuple[str, ...]


def survey(home: Home, console: Console) -> Shelf:
    """Look at everything: builds are compared with their own lists, file by file."""
    used, remarks = pointed_at(home, console), []
    items = [*builds(home, used), *left(home)]
    if home.ccache.is_dir():
        items.append(
            Item(
                kind=Kind.CACHE,
                name=str(home.ccache),
                about="of native builds",
                size=size_of(home.ccache),
                made=home.ccache.stat().st_mtime,
                used="native builds",
            )
        )
    try:
        with Engine.connect() as engine:
            items += in_engine(engine)
    except (EngineMissing, EngineProblem) as unseen:
        remarks.append(f"nothing is known of caches and images in an engine: {unseen.message}")
    return Shelf(items=tuple(items), remarks=tuple(remarks))


def pointed_at(home: Home, console: Console) -> Mapping[Path, str]:
    """Builds that the pipeline would take from its records now, for each target; by folder.

    Where that cannot be told (a broken series, no engine to ask for the toolchain) every build for the target that
    any record names counts as used.
    """
    found: dict[Path, str] = {}
    for target in (target for lanes in load_targets().values() for target in lanes):
        options = Options(target=target.name, lane=target.lane.name if target.lane else "")
        try:
            found |= dict.fromkeys(built_now(Context(home=home, console=console, options=options)), CURRENT)
        except SpeedforkError:
            found |= dict.fromkeys(named(home, target.id), UNCLEAR)
    return found


def built_now(context: Context) -> tuple[Path, ...]:
    """The builds of the current record; none without one."""
    for stage in (sync.STAGE, rebase.STAGE, build.STAGE):
        kept = find_record(stage, context)
        if kept is None:
            return ()
        context = context.after(*kept)
    value = context.value(Built)
    return (value.stock, value.speed)


def named(home: Home, target: str) -> Iterator[Path]:
    """Folders of builds for a target that any record names."""
    for path in sorted(home.records.glob("build-*.json")):
        try:
            value = read_json(path)["value"]
            folders = [Path(value["stock"]), Path(value["speed"])]
            yield from (folder for folder in folders if load_build(folder).target_id == target)
        except (ConfigProblem, KeyError, TypeError):
            continue  # a record of another version, or of builds that are gone


def builds(home: Home, used: Mapping[Path, str]) -> Iterator[Item]:
    """The builds in the store, whole and damaged ones."""
    for folder in sorted(home.store.iterdir()) if home.store.is_dir() else ():
        if folder.is_dir() and FOLDER.fullmatch(folder.name):
            yield build_item(folder, used.get(folder, ""))


def build_item(folder: Path, used: str) -> Item:
    """One build; what cannot be read is called by its folder's name."""
    size, made = size_of(folder), folder.stat().st_mtime
    try:
        found = load_build(folder)
    except ConfigProblem as bad:
        return Item(kind=Kind.BUILD, name=str(folder), about=folder.name[:16], size=size, made=made, fault=fault(bad))
    item = Item(
        kind=Kind.BUILD,
        name=str(folder),
        about=f"{found.variant} {found.label}",
        target=found.target_id,
        size=size,
        made=(folder / BUILD_JSON).stat().st_mtime,
        digest=found.digest,
    )
    wrong = damage(found)
    # a record that points at a damaged build does not hold any more: the next run builds it again
    return replace(item, fault=wrong) if wrong else replace(item, used=used)


def damage(found: Build) -> str:
    """What is wrong with a build's files; empty when they are those of its list."""
    try:
        load_build(found.path, check=True)
    except (ConfigProblem, DigestMismatch) as bad:
        return fault(bad)
    return ""


def fault(bad: SpeedforkError) -> str:
    """Damage in one line."""
    return f"damaged: {bad.message.splitlines()[-1].strip()}"


def left(home: Home) -> Iterator[Item]:
    """What killed processes left half-written."""
    folders = (home.root, home.store, home.records, home.downloads, home.models, home.work, home.out)
    for path in (path for folder in folders for path in leftovers(folder)):
        yield Item(kind=Kind.LEFTOVER, name=str(path), about=path.name, size=size_of(path), made=path.stat().st_mtime)


def in_engine(engine: Engine) -> Iterator[Item]:
    """Toolchain images and compiler caches of ours in an engine."""
    lanes = {lane: find_toolchain_image(engine, find_lane(lane)) for lane in lane_names()}
    ids = {image.id: lane for lane, image in lanes.items() if image}
    digests = {image.digest: lane for lane, image in lanes.items() if image}
    for image in engine.images(LABEL):
        lane = image.labels.get(f"{LABEL}.lane", "")
        yield Item(
            kind=Kind.TOOLCHAIN,
            name=image.id,
            about=image.labels.get(f"{LABEL}.cuda", ""),
            target=lane,
            size=image.size,
            digest=image.labels[LABEL],
            used=f"lane {ids[image.id]}" if image.id in ids else "",
        )
    sizes = engine.volume_sizes()
    for name, labels in sorted(engine.volumes(CACHE_LABEL).items()):
        digest = labels[CACHE_LABEL]
        # without any image nobody can say which toolchain the next one will be
        used = f"lane {digests[digest]}" if digest in digests else "" if digests else "unclear: no image"
        yield Item(
            kind=Kind.CACHE,
            name=name,
            about="of container builds",
            target=digests.get(digest, ""),
            size=sizes.get(name),
            digest=digest,
            used=used,
        )


def lane_names() -> tuple[str, ...]:
    """Lanes that a target has."""
    targets = [target for lanes in load_targets().values() for target in lanes]
    return tuple(dict.fromkeys(target.lane.name for target in targets if target.lane))


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files below a folder."""
    if path.is_dir() and not path.is_symlink():
        return sum(file.lstat().st_size for file in path.rglob("*") if not file.is_dir())
    return path.lstat().st_size
