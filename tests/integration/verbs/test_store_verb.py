"""The store shown and tidied up: what goes, what stays whatever is asked, and what a killed removal leaves."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from ci.builds.store import Build, find
from ci.console import Console
from ci.errors import Busy, UsageProblem
from ci.files import exclusive, write_json
from ci.home import Home
from ci.verbs import store_survey
from ci.verbs.store import Request, remove_folder, store
from tests.helpers.made_build import made_build, made_key


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home beside an engine that does not answer."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    return Home(root=tmp_path, checkout=tmp_path)


def stored(home: Home, *, days_old: int, number: int = 7) -> Build:
    made = made_build(home.root, replace(made_key(label=f"b{number}-speed.1"), number=number))
    stamp = 1_800_000_000 - days_old * 86_400
    os.utime(made.path / "build.json", (stamp, stamp))
    return made


def left(home: Home) -> set[str]:
    return {path.name for path in home.store.iterdir()}


def test_old_builds_go_and_the_newest_stay(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    builds = [stored(home, days_old=days, number=days) for days in (1, 2, 3)]
    assert store(home, Console(), Request(prune=True, keep="2")) == 0
    assert left(home) == {builds[0].key, builds[1].key}
    said = capsys.readouterr()
    assert "removed build speed b3-speed.1 cpu" in said.out
    assert "no Docker Engine answers" in said.err


def test_showing_and_a_dry_run_change_nothing(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    builds = [stored(home, days_old=days, number=days) for days in (1, 2)]
    with exclusive(home.lock):
        assert store(home, Console(), Request()) == 0
        assert "remove" not in capsys.readouterr().out
        assert store(home, Console(), Request(prune=True, dry_run=True, keep="0")) == 0
        assert "would remove build speed b2-speed.1 cpu" in capsys.readouterr().out
    assert left(home) == {made.key for made in builds}


def test_what_the_current_records_point_at_stays(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    used, other = stored(home, days_old=9, number=9), stored(home, days_old=1, number=1)
    monkeypatch.setattr(store_survey, "built_now", lambda context: (used.path,))
    store(home, Console(), Request(prune=True, keep="0"))
    assert left(home) == {used.key}
    assert find(home, other.key) is None


def test_where_nobody_can_tell_what_is_current_whatever_a_record_names_stays(home: Home) -> None:
    """The home's checkout has no series: no plan can be made, and nothing is taken for unused because of that."""
    used, other = stored(home, days_old=9, number=9), stored(home, days_old=1, number=1)
    write_json(home.records / "build-0.json", {"value": {"stock": str(used.path), "speed": str(used.path)}})
    write_json(home.records / "build-1.json", {"value": "of another version"})
    store(home, Console(), Request(prune=True, keep="0"))
    assert left(home) == {used.key}
    assert find(home, other.key) is None


@pytest.mark.parametrize("damage", ["changed", "missing", "no list", "list"])
def test_damaged_builds_go_even_when_a_record_names_them(
    home: Home, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = stored(home, days_old=1, number=1), stored(home, days_old=2, number=2)
    write_json(home.records / "build-0.json", {"value": {"stock": str(bad.path), "speed": str(bad.path)}})
    match damage:
        case "changed":
            (bad.path / "llama-server").write_bytes(b"other")
        case "missing":
            (bad.path / "LICENSE").unlink()
        case "no list":
            (bad.path / "build.json").unlink()
        case _:
            (bad.path / "build.json").write_text("{")
    store(home, Console(), Request(prune=True))
    assert left(home) == {good.key}
    assert "damaged" in capsys.readouterr().out


def test_leftovers_of_dead_processes_go_and_those_of_living_ones_stay(home: Home) -> None:
    made = stored(home, days_old=1)
    (home.store / f".x.{os.getpid()}.abc.part").mkdir()
    (home.store / ".x.0.abc.part").mkdir()
    (home.store / "notes.txt").write_text("somebody's own")
    store(home, Console(), Request(prune=True))
    assert left(home) == {made.key, f".x.{os.getpid()}.abc.part", "notes.txt"}


def test_a_removal_that_breaks_off_leaves_no_half_build(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    made = stored(home, days_old=1)

    def killed(path: Path) -> None:
        if path.exists():
            raise KeyboardInterrupt

    monkeypatch.setattr("ci.verbs.store.remove_tree", killed)
    with pytest.raises(KeyboardInterrupt):
        remove_folder(str(made.path))
    monkeypatch.undo()
    assert made.key not in left(home)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{home.root}/none.sock")
    store(home, Console(), Request(prune=True))
    assert left(home) == set()


def test_pruning_waits_for_nobody(home: Home) -> None:
    with exclusive(home.lock), pytest.raises(Busy):
        store(home, Console(), Request(prune=True))


@pytest.mark.parametrize("keep", ["-1", "two", "", "٣", "99999"])
def test_a_number_that_is_none_is_refused(home: Home, keep: str) -> None:
    with pytest.raises(UsageProblem, match="--keep"):
        store(home, Console(), Request(prune=True, keep=keep))


def test_the_document_has_every_item_and_what_went(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    builds = [stored(home, days_old=days, number=days) for days in (1, 2)]
    store(home, Console(json_output=True), Request(prune=True, keep="1"))
    said = json.loads(capsys.readouterr().out)
    assert [item["name"] for item in said["items"] if item["kind"] == "build"] == sorted(
        str(made.path) for made in builds
    )
    assert said["removed"] == [str(builds[1].path)]
    assert said["freed"] > 0
    assert "no Docker Engine answers" in said["remarks"][0]


def test_an_empty_home_has_nothing(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert store(home, Console(), Request()) == 0
    assert "0 stored builds" in capsys.readouterr().out
