"""Reading `git cat-file --batch` output, and names that must not be written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.builds.tree import _entry, _split_batch
from ci.errors import SourceTreeProblem


@given(st.lists(st.binary(max_size=40)))
def test_every_content_is_split_out_whole(contents: list[bytes]) -> None:
    said = b"".join(b"%s blob %d\n%s\n" % (b"a" * 40, len(content), content) for content in contents)
    assert list(_split_batch(said)) == contents


@pytest.mark.parametrize("said", [b"aaaa missing\n", b"aaaa tree 3\nabc\n"])
def test_an_object_that_is_no_blob_is_named(said: bytes) -> None:
    with pytest.raises(SourceTreeProblem, match="aaaa"):
        list(_split_batch(said))


@pytest.mark.parametrize(
    "path", [b"../x", b"a/../b", b"/x", b"a//b", b".git/config", b"a/.GIT/hooks/x", b"./x", b"a/"]
)
def test_a_path_that_leaves_the_folder_or_enters_a_repository_is_refused(path: bytes) -> None:
    with pytest.raises(SourceTreeProblem, match="unsafe path"):
        _entry(b"100644 blob " + b"a" * 40 + b"\t" + path)


def test_any_other_name_is_kept_byte_for_byte() -> None:
    entry = _entry(b"100755 blob " + b"a" * 40 + b"\tdir name/\xff\ttab\n.sh")
    assert entry.path.encode("utf-8", "surrogateescape") == b"dir name/\xff\ttab\n.sh"
    assert entry.mode == "100755"
