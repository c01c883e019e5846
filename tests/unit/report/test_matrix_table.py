import pytest

from ci.report.matrix_table import COLUMNS, LEGEND, WORDS, Grid, cell_words, matrix_grids, matrix_title
from ci.series.matrix import Cell
from tests.helpers.matrices import matrix


def test_every_answer_has_its_own_word_and_first_letter() -> None:
    assert set(WORDS) == set(Cell)
    assert len({word[0] for word in WORDS.values()}) == len(Cell)
    assert all(f"{word}: " in LEGEND for word in WORDS.values())


def test_a_row_a_patch_and_a_column_a_build() -> None:
    (grid,) = matrix_grids(matrix(("one", "ogC"), ("two", "ooo", "opC")))
    assert grid == Grid(
        headings=("patch", "b11401", "b11402", "b11403"),
        rows=(("one", "ok", "gone", "CONFLICT"), ("two", "ok", "ok / part", "ok / CONFLICT")),
    )


def test_builds_that_answer_alike_share_a_column() -> None:
    (grid,) = matrix_grids(matrix(("one", "oooCCo"), ("two", "oooooo", "ooCooo")))
    assert grid.headings == ("patch", "b11401 to b11402", "b11403", "b11404 to b11405", "b11406")
    assert grid.rows[1] == ("two", "ok", "ok / CONFLICT", "ok", "ok")


@pytest.mark.parametrize("builds", [1, COLUMNS, COLUMNS + 1, 60])
def test_many_builds_stand_in_several_tables(builds: int) -> None:
    shown = matrix(("one", ("oC" * builds)[:builds]))
    grids = matrix_grids(shown)
    assert max(len(grid.headings) for grid in grids) <= COLUMNS + 1
    assert [name for grid in grids for name in grid.headings[1:]] == [str(build) for build in shown.builds]
    assert [word for grid in grids for word in grid.rows[0][1:]] == [
        cell_words(shown.rows[0], n) for n in range(builds)
    ]


def test_the_title_names_base_and_aim() -> None:
    assert matrix_title(matrix(("one", "oo"), first=11433)) == "series on b11433 against builds up to b11434"
