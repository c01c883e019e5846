"""The series: `series` gives the order, `base.toml` the build it stands on, `*.patch` the commits."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ci.config import Field, Model, ObjectId, load_toml
from ci.digest import digest_json, sha256_bytes
from ci.errors import ConfigProblem, SeriesProblem, UsageProblem
from ci.series.patch import Patch, parse_patch
from ci.series.queue import BASE, SERIES, finish_replacement, queue_digest
from ci.series.trailers import ID_PATTERN
from ci.upstream.tags import BuildTag


class BaseFile(Model):
    """`base.toml` as it is written."""

    tag: str
    tree: ObjectId
    revision: Annotated[int, Field(ge=1, strict=True)]
    commit: ObjectId | None = None


@dataclass(frozen=True, kw_only=True)
class BaseTag:
    """What the series stands on: the identity is tag and tree; a commit only where a git source gave one."""

    tag: BuildTag
    tree: str
    revision: int
    commit: str | None = None


@dataclass(frozen=True, kw_only=True)
class Series:
    """The speed commits in order, and their base."""

    base: BaseTag
    patches: tuple[Patch, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Speed-Ids in order."""
        return tuple(patch.id for patch in self.patches)

    @property
    def digest(self) -> str:
        """Digest over base (tag and tree) and every patch byte, in order; the revision does not count."""
        return digest_json([str(self.base.tag), self.base.tree, *(sha256_bytes(p.raw) for p in self.patches)])


def load_series(patches_dir: Path) -> Series:
    """Read and check a patch queue; an interrupted replacement of it is finished first.

    Raises:
        SeriesProblem: lists every fault of every file.
    """
    if not patches_dir.is_dir():
        raise SeriesProblem(f"{patches_dir}: no such directory", hint="run the command in the fork's checkout")
    finish_replacement(patches_dir)
    faults: list[str] = []
    base = _load_base(patches_dir / BASE, faults)
    names = _load_order(patches_dir / SERIES, faults)
    present = {path.name for path in patches_dir.glob("*.patch")}
    faults += [f"{name}: not in {SERIES}" for name in sorted(present - set(names))]
    patches = [patch for name in dict.fromkeys(names) if (patch := _load_patch(patches_dir / name, faults))]
    faults += _identity_faults(patches)
    faults += _base_faults(patches, base)
    if faults or base is None:
        listed = "".join(f"\n    {line}" for line in _by_files(faults))
        raise SeriesProblem(f"{patches_dir}: {len(faults)} fault(s) in the series{listed}")
    return Series(base=base, patches=tuple(patches))


def load_queue(patches_dir: Path) -> tuple[Series, str]:
    """The series, and the digest of the queue from before it was read: an edit meanwhile is noticed, not lost.

    Raises:
        SeriesProblem: as `load_series`.
    """
    finish_replacement(patches_dir)
    seen = queue_digest(patches_dir) if patches_dir.is_dir() else ""
    return load_series(patches_dir), seen


def _by_files(faults: Iterable[str]) -> Iterable[str]:
    """Faults as lines; what several files have alike is said once, under their names."""
    names: dict[str, dict[str, None]] = {}
    for fault in faults:
        name, _, text = fault.partition(": ")
        names.setdefault(text, {})[name] = None
    texts: dict[tuple[str, ...], list[str]] = {}
    for text, found in names.items():
        texts.setdefault(tuple(found), []).append(text)
    for files, said in texts.items():
        if len(files) == 1:
            yield from (f"{files[0]}: {text}" for text in said)
        else:
            yield f"{', '.join(files)}:"
            yield from (f"    {text}" for text in said)


def _load_base(path: Path, faults: list[str]) -> BaseTag | None:
    try:
        found = load_toml(BaseFile, path)
        return BaseTag(tag=BuildTag.parse(found.tag), tree=found.tree, revision=found.revision, commit=found.commit)
    except (ConfigProblem, UsageProblem) as problem:
        faults.append(f"{BASE}: {problem.message.removeprefix(f'{path}: ')}")
        return None


def _load_order(path: Path, faults: list[str]) -> tuple[str, ...]:
    """File names in order; quilt's comments and blank lines are passed over."""
    if not path.is_file():
        faults.append(f"{SERIES}: no such file")
        return ()
    lines = path.read_text(encoding="utf-8", errors="backslashreplace").split("\n")
    entries = [entry for line in lines if (entry := re.sub(r"(^|\s)#.*", "", line).strip())]
    if not entries:
        faults.append(f"{SERIES}: names no patch")
    faults += [f"{SERIES}: {entry}: {times} times" for entry, times in Counter(entries).items() if times > 1]
    good = []
    for entry in entries:
        fault = _entry_fault(entry)
        faults += [f"{SERIES}: {entry!r}: {fault}"] if fault else []
        good += [] if fault else [entry]
    return tuple(good)


def _entry_fault(entry: str) -> str | None:
    if "/" in entry:
        return "a patch lies in this directory, without a slash in its name"
    if entry.startswith("-"):
        return "a name must not begin with a dash"
    if any(letter.isspace() for letter in entry):
        return "one file name a line, without options"
    if not entry.endswith(".patch") or not ID_PATTERN.fullmatch(entry.removesuffix(".patch")):
        return "expected <Speed-Id>.patch"
    return None


def _load_patch(path: Path, faults: list[str]) -> Patch | None:
    if path.is_symlink() or not path.is_file():
        what = "a symbolic link, expected a plain file" if path.is_symlink() else f"named in {SERIES}, no such file"
        faults.append(f"{path.name}: {what}")
        return None
    patch = parse_patch(path, path.read_bytes())
    if isinstance(patch, tuple):
        faults += [f"{path.name}: {fault}" for fault in patch]
        return None
    return patch


def _identity_faults(patches: Iterable[Patch]) -> Iterable[str]:
    owner: dict[str, str] = {}
    for patch in patches:
        name = patch.path.name
        if name != f"{patch.id}.patch":
            yield f"{name}: its Speed-Id is {patch.id!r}: the file must be named {patch.id}.patch"
        if patch.id in owner:
            yield f"{name}: Speed-Id {patch.id!r} is also that of {owner[patch.id]}"
        owner.setdefault(patch.id, name)


def _base_faults(patches: Iterable[Patch], base: BaseTag | None) -> Iterable[str]:
    for patch in patches:
        needed = patch.trailers.requires_upstream
        if base and needed > base.tag:
            yield f"{patch.path.name}: Requires-Upstream {needed} is newer than the base {base.tag}"
