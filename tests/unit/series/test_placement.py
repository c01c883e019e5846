import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.series.placement import Ambiguous, Moved, ambiguous, moved, moved_words
from tests.helpers.diffs import diff_of
from tests.helpers.histories import changed, numbered

BASE = numbered(30)


def patched(text: bytes, *lines: bytes) -> bytes:
    """`text` with each of these lines replaced by its capitals."""
    for line in lines:
        assert text.count(line + b"\n") == 1
        text = text.replace(line + b"\n", line.upper() + b"\n")
    return text


def moves(aim: bytes, *lines: bytes) -> tuple[Moved, ...]:
    return moved(diff_of(BASE, patched(BASE, *lines)), diff_of(aim, patched(aim, *lines)))


def test_a_patch_that_did_not_move_says_nothing() -> None:
    assert moves(BASE + b"more\n", b"line 12", b"line 28") == ()


def test_lines_above_move_a_hunk() -> None:
    (move,) = moves(b"a\nb\nc\n" + BASE, b"line 12")
    assert move == Moved(path="f.c", was="f.c", hunk=1, hunks=1, offset=3)
    assert moved_words([move]) == ("f.c: offset +3",)


def test_the_line_that_changes_counts_and_not_where_its_context_begins() -> None:
    (move,) = moves(b"a\nb\nc\nd\ne\n" + BASE, b"line 2")  # one line of context above it, then three
    assert move.offset == 5


def test_lines_that_went_move_a_hunk_up() -> None:
    assert moved_words(moves(BASE[len(b"line 1\nline 2\n") :], b"line 12", b"line 28")) == ("f.c: offset -2",)


def test_hunks_that_moved_apart_are_told_one_by_one() -> None:
    aim = b"a\n" + BASE.replace(b"line 20\n", b"line 20\nx\ny\n")
    assert moved_words(moves(aim, b"line 5", b"line 28")) == ("f.c: hunk 1 of 2 offset +1, hunk 2 of 2 offset +3",)
    only_second = BASE.replace(b"line 20\n", b"line 20\nx\ny\n")
    assert moved_words(moves(only_second, b"line 5", b"line 28")) == ("f.c: hunk 2 of 2 offset +2",)


def test_a_hunk_that_git_split_is_paired_by_content() -> None:
    aim = BASE.replace(b"line 13\n", b"line 13\n" + b"x\n" * 9)
    apart = moves(aim, b"line 12", b"line 15", b"line 25")
    assert [(move.hunk, move.offset) for move in apart] == [(1, 0), (1, 9), (2, 9)]
    assert moved_words(apart) == ("f.c: hunk 1 of 2 same lines and offset +9, hunk 2 of 2 offset +9",)


def test_hunks_that_git_joined_are_paired_by_content() -> None:
    aim = BASE.replace(b"line 14\nline 15\nline 16\nline 17\n", b"")
    assert [(m.hunk, m.offset) for m in moves(aim, b"line 12", b"line 20")] == [(2, -4)]


def test_a_change_that_is_not_found_again_is_reshaped() -> None:
    before = diff_of(BASE, changed(changed(BASE, 12), 28))
    after = diff_of(BASE, changed(changed(BASE, 12, b"speedier"), 28))
    (move,) = moved(before, after)
    assert (move.hunk, move.offset) == (1, None)
    assert moved_words([move]) == ("f.c: hunk 1 of 2 reshaped",)


def test_a_file_that_left_the_patch_is_reshaped() -> None:
    gone = diff_of(BASE, changed(BASE, 12))
    assert moved_words(moved(gone + diff_of(BASE, changed(BASE, 2), path="g.c"), gone)) == ("g.c: reshaped",)


def test_a_file_that_upstream_renamed_is_found_by_its_change() -> None:
    before = diff_of(BASE, changed(BASE, 12), path="old/f.c") + diff_of(BASE, changed(BASE, 3, b"x"), path="other.c")
    aim = b"a\n" + BASE
    after = diff_of(BASE, changed(BASE, 3, b"x"), path="new/a.c") + diff_of(aim, changed(aim, 13), path="new/f.c")
    assert moved_words(moved(before, after)) == (
        "new/f.c (was old/f.c): offset +1",
        "new/a.c (was other.c): same lines",
    )


def test_two_renamed_files_with_one_change_are_told_apart_by_their_order() -> None:
    before, after = (
        diff_of(BASE, changed(BASE, 12), path=f"{folder}/f.c")
        + diff_of(BASE, changed(BASE, 12), path=f"{folder}/g.c")
        for folder in ("old", "new")
    )
    assert [(move.was, move.path) for move in moved(before, after)] == [
        ("old/f.c", "new/f.c"),
        ("old/g.c", "new/g.c"),
    ]


def test_a_change_that_repeats_very_often_is_paired_too() -> None:
    base = b"first\nkept\n" + b"".join(b"old\nkept %d\n" % number for number in range(220))
    faster = base.replace(b"old", b"new")
    before, after = (diff_of(base, text, context=0) for text in (faster.replace(b"first", b"1st"), faster))
    assert [(move.hunk, move.offset) for move in moved(before, after)] == [(1, None)]


def test_changes_without_lines_have_no_place() -> None:
    mode = b"diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
    binary = b"diff --git a/f b/f\nindex 0..2\nGIT binary patch\nliteral 3\nKcmZQzWMT#Y01f~L\n\n"
    assert moved(mode + binary, mode) == ()
    assert ambiguous(mode + binary, {"run.sh": b"a\na\n", "f": b"\0"}) == ()


@given(st.integers(0, 9), st.lists(st.integers(1, 30), min_size=1, max_size=6, unique=True), st.integers(0, 3))
def test_lines_on_top_move_every_hunk_by_their_number(top: int, lines: list[int], context: int) -> None:
    aim = b"new\n" * top + BASE
    changes = [b"line %d" % line for line in lines]
    before = diff_of(BASE, patched(BASE, *changes), context=context)
    after = diff_of(aim, patched(aim, *changes), context=context)
    assert {move.offset for move in moved(before, after)} == ({top} if top else set())


REPEATED = b"f() {\n  a;\n  b;\n}\n"


def test_a_hunk_whose_old_text_stands_once_is_not_ambiguous() -> None:
    assert ambiguous(diff_of(BASE, changed(BASE, 12)), {"f.c": BASE}) == ()


def test_a_hunk_whose_old_text_repeats_names_all_places() -> None:
    blob = b"top\n" + REPEATED * 3
    new = b"top\n" + REPEATED + REPEATED.replace(b"a;", b"c;") + REPEATED
    (found,) = ambiguous(diff_of(blob, new, context=1), {"f.c": blob})
    assert found == Ambiguous(path="f.c", hunk=1, line=6, other_lines=(2, 10))
    assert found.words == "f.c: hunk 1 went to line 6, its old text stands at 2, 10 too"


def test_places_may_overlap() -> None:
    blob = b"x\n" * 6
    (found,) = ambiguous(diff_of(blob, b"x\nx\nx\ny\nx\nx\nx\n", context=2), {"f.c": blob})
    assert (found.line, found.other_lines) == (2, (1, 3))


def test_only_whole_lines_are_places() -> None:
    blob = b"max = a\n  x = a\nx = a\n"
    assert ambiguous(diff_of(blob, blob.replace(b"\nx = a\n", b"\nx = b\n"), context=0), {"f.c": blob}) == ()


def test_a_text_without_line_end_fits_at_the_end_only() -> None:
    diff = (
        b"diff --git a/f.c b/f.c\n--- a/f.c\n+++ b/f.c\n@@ -3 +3 @@\n-a\n\\ No newline at end of file\n"
        b"+b\n\\ No newline at end of file\n"
    )
    assert ambiguous(diff, {"f.c": b"a\nab\na"}) == ()


@pytest.mark.parametrize("blobs", [{}, {"f.c": b""}])
def test_a_new_file_is_not_looked_at(blobs: dict[str, bytes]) -> None:
    assert ambiguous(diff_of(b"", b"a\na\n"), blobs) == ()


def test_another_file_than_the_one_it_was_made_on_is_refused() -> None:
    for other in (b"top\n" + BASE, b"other\n"):
        with pytest.raises(ValueError, match=r"hunk 1 of f\.c was not made on the file given: line 9 differs"):
            ambiguous(diff_of(BASE, changed(BASE, 12)), {"f.c": other})


def test_many_places_are_shortened() -> None:
    found = Ambiguous(path="f.c", hunk=2, line=1, other_lines=tuple(range(2, 10)))
    assert found.words.endswith("stands at 2, 3, 4, 5, 6 and 3 more too")


def test_values_are_plain_json_even_for_odd_paths() -> None:
    move = Moved(path="\udcff\n", was="b", hunk=1, hunks=2, offset=None)
    assert json.loads(json.dumps(move.to_json())) == {
        "path": "\\xff\\n",
        "was": "b",
        "hunk": 1,
        "hunks": 2,
        "offset": None,
    }
    found = Ambiguous(path="f", hunk=1, line=2, other_lines=(3,))
    assert json.loads(json.dumps(found.to_json())) == {"path": "f", "hunk": 1, "line": 2, "other_lines": [3]}
    assert moved_words([move]) == ("\\xff\\n (was b): hunk 1 of 2 reshaped",)
