"""git's own words for trees and objects, read back whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import SourceTreeProblem
from ci.gittree import TreeFile, parse_listing, split_batch

ID = "a" * 40
PATHS = st.binary(min_size=1, max_size=20).filter(lambda path: b"\0" not in path)


@given(st.lists(st.tuples(PATHS, st.integers(min_value=0, max_value=10**12))))
def test_a_listing_gives_every_file_with_its_path_byte_for_byte(files: list[tuple[bytes, int]]) -> None:
    listing = b"".join(b"100755 blob %s %7d\t%s\0" % (ID.encode(), size, path) for path, size in files)
    expected = [TreeFile(mode="100755", object_id=ID, size=size, path=path) for path, size in files]
    assert list(parse_listing(listing)) == expected


def test_a_submodule_has_no_size() -> None:
    [found] = parse_listing(f"160000 commit {ID}       -\tsub\0".encode())
    assert (found.mode, found.size, found.name) == ("160000", 0, "sub")


@given(st.lists(st.binary(max_size=40)))
def test_every_content_is_split_out_whole(contents: list[bytes]) -> None:
    said = b"".join(b"%s blob %d\n%s\n" % (ID.encode(), len(content), content) for content in contents)
    assert list(split_batch(said)) == contents


@pytest.mark.parametrize("said", [b"aaaa missing\n", b"aaaa tree 3\nabc\n"])
def test_an_object_that_is_no_blob_is_named(said: bytes) -> None:
    with pytest.raises(SourceTreeProblem, match="aaaa"):
        list(split_batch(said))
