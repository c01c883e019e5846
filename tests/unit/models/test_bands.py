"""Published figures, and measured ones beside them."""

from pathlib import Path

import pytest

from ci.errors import ConfigProblem, UsageProblem
from ci.models.bands import BANDS_FILE, Beside, bands_for, load_bands, parse_measured
from ci.models.lock import load_models


def test_the_published_figures_are_these() -> None:
    told = [(band.model, str(band)) for band in load_bands()]
    ornith = (
        "29.5 tok/s",
        "82 to 96 %",
        "1.35 x",
        "0.0354 nats a token",
        "0.0731 nats a token",
        "0.0864 nats a token",
    )
    assert told == [
        ("qwen3.6-35b-a3b", "506 tok/s against 352"),
        ("qwen3.6-35b-a3b", "6.92 tokens a round"),
        ("qwen3-8b", "1.88 x"),
        *(("ornith-1.0-35b-mtp", figure) for figure in ornith),
    ]


def test_every_figure_has_a_source_and_says_what_it_holds_for() -> None:
    assert all(band.source and band.context for band in load_bands())


def test_every_figure_is_about_a_model_or_pair_of_the_lock() -> None:
    entries = load_models().values()
    assert {band.model for band in load_bands()} <= {name for one in entries for name in (one.id, one.pair)}


def test_what_was_published_about_a_pair() -> None:
    assert [band.metric for band in bands_for("qwen3.6-35b-a3b")] == ["decode", "accepted"]
    assert bands_for(None) == bands_for("smollm2-135m-q4_1") == ()


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        (90.0, "within what was published"),
        (82.0, "within what was published"),
        (41.0, "below: 0.5 of the published 82"),
        (99.0, "above: 1.03 of the published 96"),
    ],
)
def test_a_measured_figure_beside_the_published_one(measured: float, words: str) -> None:
    (band,) = (band for band in bands_for("ornith-1.0-35b-mtp") if band.metric == "acceptance")
    assert Beside(band=band, measured=measured).words == words


def test_a_range_that_ends_before_it_begins_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bands.toml"
    path.write_text(BANDS_FILE.read_text().replace("high = 96", "high = 9"))
    with pytest.raises(ConfigProblem, match="low 82 > high 9"):
        load_bands(path)


def test_figures_of_the_command_line() -> None:
    assert parse_measured("decode=480.5") == ("decode", 480.5)


@pytest.mark.parametrize("text", ["decode", "decode=", "decode=fast", "decode=-1", "decode=nan", "decode=inf", "x=1"])
def test_no_figure(text: str) -> None:
    with pytest.raises(UsageProblem, match="METRIC=NUMBER"):
        parse_measured(text)


@pytest.mark.parametrize("value", ["0.9", "1", "101"])
def test_percent_are_no_part_of_one(value: str) -> None:
    assert parse_measured("acceptance=90") == ("acceptance", 90)
    with pytest.raises(UsageProblem, match=r"acceptance is in percent \(expected more than 1, at most 100\)"):
        parse_measured(f"acceptance={value}")
