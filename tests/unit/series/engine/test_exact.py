"""Results that are proved by blob ids, and everything that must not be taken for proved."""

import pytest

from ci.gittree import NO_OBJECT, Entry, object_id
from ci.series.engine.exact import File, Inexact, exact_result
from ci.series.hunks import FileDiff, parse_diff

BEFORE = b"one\ntwo\nthree\nfour\n"
AFTER = b"one\n2\nthree\nfour\n"
BLOBS = {object_id("blob", data): data for data in (BEFORE, AFTER, b"")}
OLD, NEW = object_id("blob", BEFORE), object_id("blob", AFTER)
EDIT = f"""diff --git a/f b/f
index {OLD}..{NEW} 100644
--- a/f
+++ b/f
@@ -1,4 +1,4 @@
 one
-two
+2
 three
 four
"""


def diff(text: str) -> FileDiff:
    (file,) = parse_diff(text.encode())
    return file


def result(text: str, before: Entry | None) -> File | None:
    return exact_result(diff(text), before, BLOBS.__getitem__)


HERE = Entry("100644", OLD)


def test_an_edit_gives_the_bytes_that_the_diff_names() -> None:
    assert result(EDIT, HERE) == File(mode="100644", data=AFTER)


def test_a_new_file_and_a_deleted_one() -> None:
    made = (
        f"diff --git a/f b/f\nnew file mode 100755\nindex {NO_OBJECT}..{NEW}\n"
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1,4 @@\n"
    )
    made += "".join(f"+{line}\n" for line in AFTER.decode().splitlines())
    assert result(made, None) == File(mode="100755", data=AFTER)
    names = "--- a/f\n+++ /dev/null\n@@ -1,4 +0,0 @@\n"
    gone = f"diff --git a/f b/f\ndeleted file mode 100644\nindex {OLD}..{NO_OBJECT}\n{names}"
    gone += "".join(f"-{line}\n" for line in BEFORE.decode().splitlines())
    assert result(gone, HERE) is None


def test_an_empty_new_file_has_no_hunk() -> None:
    empty = object_id("blob", b"")
    made = f"diff --git a/f b/f\nnew file mode 100644\nindex {NO_OBJECT}..{empty}\n"
    assert result(made, None) == File(mode="100644", data=b"")


def test_a_change_of_mode_alone_and_with_content() -> None:
    alone = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
    assert result(alone, HERE) == File(mode="100755", data=BEFORE)
    both = EDIT.replace("index", "old mode 100644\nnew mode 100755\nindex").replace(" 100644\n---", "\n---")
    assert result(both, HERE) == File(mode="100755", data=AFTER)


@pytest.mark.parametrize(
    ("text", "before"),
    [
        (EDIT, None),
        (EDIT, Entry("100755", OLD)),
        (EDIT, Entry("120000", OLD)),
        (EDIT, Entry("100644", NEW)),
        (EDIT.replace("-1,4 +1,4", "-2,4 +2,4"), HERE),
        (EDIT.replace("+2\n", "+zwei\n"), HERE),
        (EDIT.replace(" four\n", " five\n"), HERE),
        (EDIT.replace(f"{OLD}..{NEW}", f"{OLD[:7]}..{NEW[:7]}"), HERE),
        (EDIT.replace("index", "similarity index 90%\nrename from e\nrename to f\nindex"), HERE),
        (EDIT.replace("100644", "120000"), HERE),
        (f"diff --git a/f b/f\nnew file mode 100644\nindex {NO_OBJECT}..{NEW}\n", HERE),
        ("diff --git a/f b/f\nold mode 100755\nnew mode 100644\n", HERE),
        ("diff --git a/f b/f\n", HERE),
    ],
)
def test_what_cannot_be_proved_is_left_to_git(text: str, before: Entry | None) -> None:
    with pytest.raises(Inexact):
        result(text, before)
