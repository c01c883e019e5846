"""Folders of the machine stay out of what a release says."""

import pytest

from ci.release.places import without_places

PLACES = {"/srv/x": "<checkout>", "/srv/x/.speedfork": "<home>", "/tmp": "<tmp>"}  # noqa: S108 - never written to


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("/srv/x/out/a.tar.gz: damaged", "<checkout>/out/a.tar.gz: damaged"),
        ("see /srv/x/.speedfork/scratch/logs/parity.log", "see <home>/scratch/logs/parity.log"),
        ("in '/srv/x'.", "in '<checkout>'."),
        ("file:///tmp/log and /tmp/y", "file://<tmp>/log and <tmp>/y"),
        ("/srv/xy and /srv/x-y and /srv/x.old", "/srv/xy and /srv/x-y and /srv/x.old"),
        ("/mnt/tmp and a/tmp", "/mnt/tmp and a/tmp"),
        ("no path at all", "no path at all"),
    ],
)
def test_folders_are_called_by_their_names(text: str, clean: str) -> None:
    assert without_places(text, PLACES) == clean


def test_every_text_of_a_value_is_cleaned_and_nothing_else_changes() -> None:
    value = {"a": ["/tmp/1", {"/srv/x/k": ("/srv/x/v", 3, None, True)}], "n": 1.5}  # noqa: S108
    assert without_places(value, PLACES) == {
        "a": ["<tmp>/1", {"<checkout>/k": ["<checkout>/v", 3, None, True]}],
        "n": 1.5,
    }


def test_without_places_everything_stays() -> None:
    assert without_places({"a": "/tmp/1"}, {}) == {"a": "/tmp/1"}  # noqa: S108
