"""What ships: names of libraries and licences."""

import pytest

from ci.builds.harvest import parse_soname


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
