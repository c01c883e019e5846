"""Names of a tree that must not be written."""

import pytest

from ci.builds.tree import check_name
from ci.errors import SourceTreeProblem
from ci.gittree import TreeFile


def named(path: bytes) -> TreeFile:
    return TreeFile(mode="100755", object_id="a" * 40, size=3, path=path)


@pytest.mark.parametrize(
    "path", [b"../x", b"a/../b", b"/x", b"a//b", b".git/config", b"a/.GIT/hooks/x", b"./x", b"a/"]
)
def test_a_path_that_leaves_the_folder_or_enters_a_repository_is_refused(path: bytes) -> None:
    with pytest.raises(SourceTreeProblem, match="unsafe path"):
        check_name(named(path))


def test_any_other_name_is_kept_byte_for_byte() -> None:
    path = b"dir name/\xff\ttab\n.sh"
    assert check_name(named(path)).name.encode("utf-8", "surrogateescape") == path
