"""Licences: llama.cpp's own, and those of what it vendors, in files or in the sources themselves."""

from pathlib import Path

import pytest

from ci.builds.licences import licences, write_licences
from ci.errors import BuildFailed

UNLICENSE = b"/*\n   This is free and unencumbered software released into the public domain.\n*/"


def write(root: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def test_vendored_licences_get_names_of_their_own(tmp_path: Path) -> None:
    for name in (
        "LICENSE",
        "licenses/LICENSE-json",
        "vendor/web/LICENSE",
        "vendor/hash/one/LICENSE.md",
        "vendor/web/a.h",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    found = {name: text.decode() for name, text in licences(tmp_path).items()}
    assert found == {
        "LICENSE": "LICENSE",
        "LICENSE-json": "licenses/LICENSE-json",
        "LICENSE-web": "vendor/web/LICENSE",
        "LICENSE-hash-one": "vendor/hash/one/LICENSE.md",
    }


def test_sources_without_a_licence_are_not_passed_on(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="no LICENSE"):
        licences(tmp_path)


def test_terms_that_stand_in_a_source_are_taken_from_there_unless_a_file_has_them(tmp_path: Path) -> None:
    files = {
        "LICENSE": b"MIT",
        "vendor/image/load.h": b"/* public domain image loader, see the end */\nint x;\n" + UNLICENSE + b"\n",
        "vendor/web/web.h": UNLICENSE,
        "vendor/web/LICENSE": b"MIT, web",
        "vendor/silent/code.c": b"/* nothing is said */",
    }
    write(tmp_path, files)
    assert licences(tmp_path) == {
        "LICENSE": b"MIT",
        "LICENSE-image": UNLICENSE + b"\n",
        "LICENSE-web": b"MIT, web",
    }


def test_they_are_written_readable_for_everybody(tmp_path: Path) -> None:
    write(tmp_path / "src", {"LICENSE": b"MIT"})
    (tmp_path / "out").mkdir()
    write_licences(tmp_path / "src", tmp_path / "out")
    assert (tmp_path / "out" / "LICENSE").stat().st_mode & 0o777 == 0o644


TERMS = b"/* Permission is hereby granted to nobody: a file of whoever builds. */"


@pytest.mark.parametrize(
    "link", ["LICENSE", "vendor", "vendor/a/LICENSE", "vendor/a/a.h", "licenses", "licenses/LICENSE-x"]
)
def test_files_outside_the_sources_are_not_passed_on(tmp_path: Path, link: str) -> None:
    secret, source = tmp_path / "secret", tmp_path / "src"
    write(secret, {"LICENSE": TERMS, "a/LICENSE": TERMS, "a/a.h": TERMS, "LICENSE-x": TERMS})
    write(source, {"LICENSE": b"MIT"} if link != "LICENSE" else {"README": b""})
    (source / link).parent.mkdir(parents=True, exist_ok=True)
    is_folder = link in ("vendor", "licenses")
    (source / link).symlink_to(secret if is_folder else secret / "LICENSE")
    if link == "LICENSE":
        with pytest.raises(BuildFailed, match="no LICENSE"):
            licences(source)
    else:
        assert licences(source) == {"LICENSE": b"MIT"}


def test_a_link_within_the_sources_is_followed(tmp_path: Path) -> None:
    write(tmp_path, {"LICENSES/mit": b"MIT"})
    (tmp_path / "LICENSE").symlink_to("LICENSES/mit")
    assert licences(tmp_path) == {"LICENSE": b"MIT"}
