from itertools import combinations
from xml.etree import ElementTree as ET

import pytest

from ci.report.matrix_table import MEANING, WORDS
from ci.report.plots import CELL_COLOURS, matrix_picture
from ci.series.matrix import Cell, Matrix
from tests.helpers.matrices import matrix

SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}href"
SHOWN = matrix(("host-greedy", "ooCC"), ("topk-window", "ogpC", "oopo"))


def read(picture: bytes) -> ET.Element:
    return ET.fromstring(picture)  # noqa: S314 - our own output


def texts(picture: bytes) -> list[str]:
    return ["".join(element.itertext()).strip() for element in read(picture).iter(f"{SVG}text")]


def letters(picture: bytes) -> int:
    return len(list(read(picture).iter(f"{SVG}use")))


def areas(picture: bytes, cell: Cell) -> list[ET.Element]:
    """What is filled in the colour of a cell; the legend is the last."""
    return [path for path in read(picture).iter() if CELL_COLOURS[cell] in path.get("style", "")]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def as_deuteranope(colour: str) -> tuple[float, float, float]:
    """The colour as one who lacks the green receptors sees it, roughly (Vienot 1999, on linear light)."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = red**2.2, green**2.2, blue**2.2
    yellow = 0.29275 * red + 0.70725 * green
    return yellow, yellow, -0.02234 * red + 0.02234 * green + blue


def test_the_same_matrix_gives_the_same_bytes() -> None:
    assert matrix_picture(SHOWN) == matrix_picture(SHOWN)


def test_patches_builds_title_and_legend_are_readable_text() -> None:
    shown = texts(matrix_picture(SHOWN))
    for text in ("host-greedy", "topk-window", "b11401", "b11404", "series on b11401 against builds up to b11404"):
        assert text in shown
    for cell in Cell:
        assert f"{WORDS[cell][0]}: {MEANING[cell]}" in shown
    assert read(matrix_picture(SHOWN)).findtext(f"{SVG}title") == "series on b11401 against builds up to b11404"


def test_every_cell_has_a_letter_and_two_where_its_halves_differ() -> None:
    assert letters(matrix_picture(matrix(("one", "ogpC")))) == 4
    assert letters(matrix_picture(matrix(("one", "ogpC", "Cgpo")))) == 6


@pytest.mark.parametrize("letter", "ogpC")
def test_every_answer_is_drawn_in_its_colour(letter: str) -> None:
    picture = matrix_picture(matrix(("one", letter)))
    (cell,) = {row.alone[0] for row in matrix(("one", letter)).rows}
    assert {other: len(areas(picture, other)) for other in Cell} == {c: 1 + (c is cell) for c in Cell}


def test_the_left_half_is_the_patch_alone() -> None:
    picture = matrix_picture(matrix(("one", "C", "o")))
    left = {cell: float(areas(picture, cell)[0].get("d", "").split()[1]) for cell in (Cell.CONFLICT, Cell.APPLIED)}
    assert left[Cell.CONFLICT] < left[Cell.APPLIED]


def test_rows_go_down_in_series_order() -> None:
    picture = matrix_picture(matrix(("one", "o"), ("two", "C")))
    top = {cell: float(areas(picture, cell)[0].get("d", "").split()[2]) for cell in (Cell.CONFLICT, Cell.APPLIED)}
    assert top[Cell.APPLIED] < top[Cell.CONFLICT]


def test_letters_are_readable_on_every_colour() -> None:
    assert min((luminance(colour) + 0.05) / 0.05 for colour in CELL_COLOURS.values()) >= 4.5


def test_colours_differ_for_those_who_see_fewer() -> None:
    for one, other in combinations(CELL_COLOURS.values(), 2):
        distance = sum((a - b) ** 2 for a, b in zip(as_deuteranope(one), as_deuteranope(other), strict=True)) ** 0.5
        assert distance > 0.2, (one, other)


@pytest.mark.parametrize(
    ("patches", "builds"), [(1, 1), (1, 60), (100, 1), (4, 9)], ids=["smallest", "wide", "tall", "usual"]
)
def test_any_size_holds_all_of_it(patches: int, builds: int) -> None:
    shown = matrix(*((f"patch-{number}", "oC" * (builds // 2) + "o" * (builds % 2)) for number in range(patches)))
    picture = matrix_picture(shown)
    assert letters(picture) == patches * builds
    _, _, width, height = map(float, read(picture).get("viewBox", "").split())
    drawn = [float(number) for path in read(picture).iter(f"{SVG}path") for number in _points(path)]
    assert min(drawn) >= 0
    assert max(drawn[0::2]) <= width
    assert max(drawn[1::2]) <= height
    assert {f"patch-{number}" for number in range(patches)} <= set(texts(picture))


def _points(path: ET.Element) -> list[str]:
    """Coordinates of shapes that stand where they are drawn."""
    style = path.get("style", "")
    return path.get("d", "").replace("M", "").replace("L", "").replace("z", "").split() if "#" in style else []


@pytest.mark.parametrize(
    "name", ["$x^2$ & $y", "</text><script>", '"><b>', "a_b\\frac{", "\x00\u202e", "\u65e9", "n" * 300, ""]
)
def test_hostile_names_stay_text(name: str) -> None:
    root = read(matrix_picture(matrix((name, "oC"))))
    assert not [element for element in root.iter() if element.tag.removeprefix(SVG) in ("script", "b")]


def test_the_picture_loads_nothing() -> None:
    picture = matrix_picture(SHOWN)
    assert {element.get(XLINK, "#")[0] for element in read(picture).iter()} == {"#"}
    assert b"<!DOCTYPE" not in picture
    assert b"<metadata" not in picture
    assert not list(read(picture).iter(f"{SVG}image"))


def test_a_series_without_patches_has_a_picture_too() -> None:
    empty = Matrix(builds=SHOWN.builds, rows=())
    assert letters(matrix_picture(empty)) == 0
