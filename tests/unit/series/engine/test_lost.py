"""Which lines of a patch the result does not change any more."""

from collections import Counter

from ci.series.engine.lost import Lines, lost_lines, lost_nets


def lines(*changes: str) -> Lines:
    """Changed lines, each with its sign in front."""
    return Counter((change[0], change[1:].encode()) for change in changes)


def test_nothing_is_lost_where_the_result_changes_the_same() -> None:
    assert lost_lines([("f", lines("+a", "-b"))], [lines("-b", "+a", "+more")]) == {}


def test_lines_that_the_result_lacks_are_named_by_path_with_their_sign() -> None:
    found = lost_lines([("f", lines("+a", "-b")), ("g", lines("+c"))], [lines("+a"), lines()])
    assert found == {"f": (b"-b",), "g": (b"+c",)}


def test_each_copy_counts() -> None:
    assert lost_lines([("f", lines("+a", "+a", "+a"))], [lines("+a")]) == {"f": (b"+a", b"+a")}


def test_a_line_of_another_file_does_not_stand_for_two() -> None:
    assert lost_lines([("f", lines("+a")), ("g", lines("+a"))], [lines("+a"), lines()]) == {"g": (b"+a",)}


def test_a_line_that_went_to_another_file_is_not_lost() -> None:
    assert lost_lines([("f", lines("+a"))], [lines(), lines("+a")]) == {}


def test_an_added_line_is_no_removed_one() -> None:
    assert lost_lines([("f", lines("+a"))], [lines("-a")]) == {"f": (b"+a",)}


def test_lines_without_a_letter_or_digit_say_nothing() -> None:
    assert lost_lines([("f", lines("+}", "+", "-{", "+ x }"))], []) == {"f": (b"+ x }",)}


def test_a_rename_that_stays_a_rename_loses_nothing() -> None:
    moved = [("old", lines("-a", "-b")), ("new", lines("+a", "+b", "+mine"))]
    assert lost_nets(moved, [lines("+mine")]) == {}


def test_the_edit_in_a_renamed_file_can_be_lost() -> None:
    moved = [("old", lines("-a", "-b")), ("new", lines("+a", "+b", "+mine"))]
    assert lost_nets(moved, [lines("-a", "-b"), lines("+a", "+b")]) == {"new": (b"+mine",)}


def test_a_line_lost_once_is_told_once() -> None:
    two = [("f", lines("+a")), ("g", lines("+a"))]
    assert lost_nets(two, [lines("+a")]) == {"f": (b"+a",)}
    assert lost_nets(two, []) == {"f": (b"+a",), "g": (b"+a",)}
