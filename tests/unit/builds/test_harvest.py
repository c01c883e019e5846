"""What ships: names of libraries and licences."""

from pathlib import Path

import pytest

from ci.builds.harvest import licences, parse_soname
from ci.errors import BuildFailed


def test_the_soname_is_read_from_readelf() -> None:
    said = """
Dynamic section at offset 0x10 contains 27 entries:
  Tag        Type                         Name/Value
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x000000000000000e (SONAME)             Library soname: [libggml-base.so.0]
"""
    assert parse_soname(said) == "libggml-base.so.0"


@pytest.mark.parametrize(
    "said", ["", " (NEEDED) Shared library: [libc.so.6]\n", " (SONAME) Library soname: [a/b.so]\n"]
)
def test_a_plug_in_without_a_plain_soname_has_none(said: str) -> None:
    assert parse_soname(said) is None


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
    found = {name: str(path.relative_to(tmp_path)) for name, path in licences(tmp_path).items()}
    assert found == {
        "LICENSE": "LICENSE",
        "LICENSE-json": "licenses/LICENSE-json",
        "LICENSE-web": "vendor/web/LICENSE",
        "LICENSE-hash-one": "vendor/hash/one/LICENSE.md",
    }


def test_sources_without_a_licence_are_not_passed_on(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="no LICENSE"):
        licences(tmp_path)
