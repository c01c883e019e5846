import pytest

from ci.series.modes import OtherMode, other_modes

HUNK = b"--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-a\n+b\n"
PLAIN = b"diff --git a/run.sh b/run.sh\nindex 1111111..2222222 100644\n" + HUNK
EXECUTABLE = PLAIN.replace(b"100644", b"100755")
TO_EXECUTABLE = b"diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
TO_PLAIN = b"diff --git a/run.sh b/run.sh\nold mode 100755\nnew mode 100644\n"
CREATED = b"diff --git a/run.sh b/run.sh\nnew file mode 100755\nindex 0000000..2222222\n" + HUNK
DELETED = b"diff --git a/run.sh b/run.sh\ndeleted file mode 100755\nindex 1111111..0000000\n" + HUNK


@pytest.mark.parametrize("after", [EXECUTABLE, TO_PLAIN, DELETED])
def test_a_mode_that_upstream_changed_is_named(after: bytes) -> None:
    assert other_modes(PLAIN, after) == (OtherMode(path="run.sh", was="100644", now="100755"),)


@pytest.mark.parametrize(
    ("before", "after"),
    [(PLAIN, PLAIN), (PLAIN, TO_EXECUTABLE), (TO_EXECUTABLE, PLAIN), (CREATED, EXECUTABLE), (PLAIN, CREATED)],
)
def test_what_the_patch_does_itself_is_no_news(before: bytes, after: bytes) -> None:
    assert other_modes(before, after) == ()


def test_a_mode_in_the_text_of_a_file_is_no_mode() -> None:
    assert other_modes(PLAIN, PLAIN.replace(b"+b\n", b"+b\n+old mode 100755\n").replace(b"+1 @@", b"+1,2 @@")) == ()


def test_the_note_names_file_and_modes() -> None:
    (note,) = other_modes(PLAIN, EXECUTABLE)
    assert note.words == "run.sh: upstream changed its mode from 100644 to 100755, which stays"
    assert note.to_json() == {"path": "run.sh", "was": "100644", "now": "100755"}
