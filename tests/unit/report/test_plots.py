import math
from xml.etree import ElementTree as ET

import pytest

from ci.config import parse
from ci.outcome import JsonValue
from ci.release.manifest import SuiteEvidence
from ci.report.figures import ScenarioFigure, scenario_figures
from ci.report.plots import THEME, description, ratio_plot, span
from tests.helpers import releases

SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}href"


def figure(name: str = "smollm2", shift: float = 0.0, **more: JsonValue) -> ScenarioFigure:
    suite = releases.throughput(scenarios=[releases.scenario(name, shift, **more)])
    return scenario_figures(parse(SuiteEvidence, suite, source="test"))[0]


def read(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - our own output


def texts(svg: str) -> list[str]:
    return ["".join(element.itertext()).strip() for element in read(svg).iter(f"{SVG}text")]


def test_the_same_figures_give_the_same_plot() -> None:
    assert ratio_plot([figure(), figure("b", 0.1)]) == ratio_plot([figure(), figure("b", 0.1)])


def test_no_scenarios_give_no_plot() -> None:
    assert ratio_plot([]) == ""


def test_every_pair_is_drawn() -> None:
    few, many = figure(raw=[0.05, 0.06]), figure(raw=[0.05 + index / 1000 for index in range(12)])
    assert ratio_plot([many]).count("<use ") - ratio_plot([few]).count("<use ") == 10


def test_colours_come_from_the_page() -> None:
    svg = ratio_plot([figure()])
    assert not [stand_in for stand_in in THEME if stand_in in svg]
    assert all(colour in svg for colour in THEME.values())
    assert "#000000" not in svg


def test_the_plot_loads_nothing_and_points_only_into_itself() -> None:
    root = read(ratio_plot([figure(), figure("b")]))
    assert {element.get(XLINK, "#")[0] for element in root.iter()} == {"#"}
    assert not list(root.iter(f"{SVG}image"))
    assert not list(root.iter(f"{SVG}metadata"))


def test_the_plot_is_named_for_screen_readers() -> None:
    root = read(ratio_plot([figure("a"), figure("b")]))
    assert root.get("role") == "img"
    assert root.get("aria-label") == description([figure("a"), figure("b")])
    assert "b: +8.4 % (99.2 % interval +7.2 to +9.7), 8 pairs" in root.get("aria-label", "")


def test_names_are_readable_text_next_to_the_axis_in_percent() -> None:
    shown = texts(ratio_plot([figure("smollm2-135m, plain")]))
    assert "smollm2-135m, plain" in shown
    assert "change in speed against stock" in shown
    assert "0" in shown
    assert "+5 %" in shown


@pytest.mark.parametrize(
    "name", ["$x^2$ & $y", "</text><script>", '"><b>', "a_b\\frac{", "\x00\u202e", "\u65e9", "n" * 300]
)
def test_hostile_names_stay_text(name: str) -> None:
    root = read(ratio_plot([figure(name)]))
    assert not [element for element in root.iter() if element.tag.removeprefix(SVG) in ("script", "b")]


def test_a_dollar_sign_is_a_dollar_sign() -> None:
    assert "cost $5 and $6" in texts(ratio_plot([figure("cost $5 and $6")]))


def test_a_gain_that_is_not_proven_has_a_hollow_mark() -> None:
    proven, open_gain = ratio_plot([figure(lower=0.001)]), ratio_plot([figure(lower=-0.001)])
    hollow = "fill-opacity: 0; stroke: var(--mark)"
    assert hollow not in proven
    assert open_gain.count(hollow) == 1


@pytest.mark.parametrize("shift", [-5.0, -0.085, 0.0, 0.5, 6.0])
def test_the_axis_holds_every_value_and_no_change(shift: float) -> None:
    shown = figure(shift=shift)
    low, high = span([shown])
    assert low < min(0.0, shown.low or 0.0, *shown.raw)
    assert high > max(0.0, shown.high or 0.0, *shown.raw)
    assert "0" in texts(ratio_plot([shown]))


def test_a_scenario_without_spread_or_pairs_can_be_drawn() -> None:
    flat = figure(raw=[], estimate=0.0, lower=0.0, upper=0.0)
    assert math.isclose(span([flat])[1], 0.01)
    assert ratio_plot([flat])


def test_bounds_that_are_missing_are_not_drawn() -> None:
    without = ratio_plot([figure(lower=None, upper=None)])
    assert without.count("<use ") == ratio_plot([figure()]).count("<use ") - 2
    assert "interval none: too few pairs" in without
