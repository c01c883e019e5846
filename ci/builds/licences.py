"""The licences that ship with a build: llama.cpp's own, and those of what it vendors."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ci.errors import BuildFailed

NAMES = ("LICENSE", "LICENSE.md", "LICENSE.txt", "COPYING")
_COMMENT = re.compile(rb"/\*.*?\*/", re.DOTALL)
_TERMS = re.compile(
    rb"free and unencumbered software released into the public domain"
    rb"|permission is hereby granted"
    rb"|100% public domain",
    re.IGNORECASE,
)
"""Words of the licences that stand in sources themselves: the Unlicense, MIT, a dedication in one line."""


def licences(source: Path) -> Mapping[str, bytes]:
    """Licence texts by final name.

    `LICENSE` is llama.cpp's own; `licenses/LICENSE-x` keeps its name; `vendor/a/b/LICENSE.md` becomes `LICENSE-a-b`,
    and where a vendored folder has no such file, the comment that holds the terms in one of its sources does.

    Raises:
        BuildFailed: the sources have no LICENSE.
    """
    own = source / "LICENSE"
    if not _is_inside(own, source):
        raise BuildFailed("the sources have no LICENSE file: nothing of them may be passed on")
    vendored = source / "vendor"
    found = {**dict(_in_sources(vendored)), **dict(_in_files(vendored)), **dict(_collected(source / "licenses"))}
    return {"LICENSE": own.read_bytes(), **found}


def write_licences(source: Path, into: Path) -> None:
    """Write the licence texts of the sources into a folder.

    Raises:
        BuildFailed: the sources have no LICENSE.
    """
    for name, text in licences(source).items():
        (into / name).write_bytes(text)
        (into / name).chmod(0o644)


def _is_inside(path: Path, folder: Path) -> bool:
    """Whether it is a file of that folder: sources may hold links to any file of whoever builds them."""
    return path.is_file() and path.resolve().is_relative_to(folder.parent.resolve() / folder.name)


def _collected(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.glob("LICENSE-*")):
        if _is_inside(path, folder):
            yield path.name, path.read_bytes()


def _in_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.name in NAMES and _is_inside(path, folder):
            yield _name(path, folder), path.read_bytes()


def _in_sources(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*"), reverse=True):  # the first file of a folder is the one that counts
        if path.suffix in (".c", ".h", ".hpp") and _is_inside(path, folder):
            for comment in _COMMENT.findall(path.read_bytes()):
                if _TERMS.search(comment):
                    yield _name(path, folder), comment + b"\n"


def _name(path: Path, folder: Path) -> str:
    return "-".join(("LICENSE", *path.parent.relative_to(folder).parts))
