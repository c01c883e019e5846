"""The queue of this repository: well formed, read as git reads it, and without conflict on the newest known build."""

from pathlib import Path

import pytest

from ci.git import Git
from ci.home import Home
from ci.series.export import export_commits
from ci.series.message import read_trailers
from ci.series.order import Series, load_series
from ci.series.patch import read_mail
from ci.series.replay import rebase
from ci.series.results import Rebased
from ci.upstream.tags import build_tags

PATCHES = Path(__file__).parents[3] / "patches"


@pytest.fixture
def series() -> Series:
    return load_series(PATCHES)


def test_every_patch_says_what_it_may_change_and_how_to_turn_it_off(series: Series) -> None:
    assert len(series.patches) >= 2
    for patch in series.patches:
        assert patch.trailers.switch or patch.trailers.numerics.kind == "repair", patch.id


def test_git_reads_the_same_trailers(series: Series, tmp_path: Path) -> None:
    git = Git.open_bare(tmp_path / "empty.git")
    for patch in series.patches:
        git("mailinfo", "-b", tmp_path / "message", tmp_path / "diff", stdin=patch.raw)
        message = b"subject\n\n" + (tmp_path / "message").read_bytes()
        said = git("interpret-trailers", "--parse", stdin=message).text.splitlines()
        assert said == [f"{key}: {value}" for key, value in read_trailers(read_mail(patch.raw).body)]


@pytest.mark.native
def test_the_series_stands_on_the_newest_known_build(series: Series, real_home: Home, tmp_path: Path) -> None:
    history = Git(path=real_home.history)
    newest = build_tags(history.tags())[-1]
    rebased = rebase(history, series, newest, work=tmp_path)
    assert isinstance(rebased, Rebased), rebased
    assert {result.patch_id for result in rebased.results} == set(series.ids)


@pytest.mark.native
def test_the_files_are_what_export_writes(series: Series, real_home: Home, tmp_path: Path) -> None:
    history = Git(path=real_home.history)
    here = rebase(history, series, series.base.tag, work=tmp_path)
    assert isinstance(here, Rebased), here
    exported = export_commits(history, here.commits, work=tmp_path)
    assert [patch.id for patch, raw in zip(series.patches, exported, strict=True) if patch.raw != raw] == []
