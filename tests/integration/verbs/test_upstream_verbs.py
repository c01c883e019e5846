"""`rebase-upstream` and `upstream` on small real histories: what moves, what is printed, what a conflict leaves."""

import json
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import EXIT_CONFLICT, SeriesConflict, UnknownBuild, UsageProblem
from ci.home import Home
from ci.series.order import load_series
from ci.stages.sync import aim
from ci.upstream.snapshot import load_lock
from ci.upstream.tags import BuildTag
from ci.verbs import rebase, upstream
from ci.verbs.rebase_words import Request
from tests.helpers.histories import Past, changed, numbered

LINES = numbered(30)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path, checkout=tmp_path)


@pytest.fixture
def past(home: Home) -> Past:
    past = Past(home.root)
    past.build("b100", {"a.txt": LINES, "b.txt": LINES})
    past.patch("first", {"a.txt": changed(LINES, 12)})
    past.patch("second", {"b.txt": changed(LINES, 20)})
    return past


def queue(home: Home) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(home.patches.iterdir()) if path.is_file()}


def test_the_series_moves_and_says_so(past: Past, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    past.build("b101", {"a.txt": b"new\n" + LINES, "b.txt": LINES})
    past.save(home.patches)
    assert rebase.rebase(home, Console(json_output=True), Request(onto="b101", dry_run=False)) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["base"], told["onto"], told["release"]) == ("b100", "b101", "b101-speed.1")
    assert [patch["state"] for patch in told["patches"]] == ["applied", "applied"]
    moved = load_series(home.patches)
    assert (str(moved.base.tag), moved.base.tree) == ("b101", past.git.tree_of("b101"))
    assert past.git.tree_of("refs/heads/speed/b101") == told["tree"]


def test_a_dry_run_moves_nothing(past: Past, home: Home) -> None:
    past.build("b101", {"a.txt": b"new\n" + LINES, "b.txt": LINES})
    past.save(home.patches)
    before = (queue(home), past.footprint())
    assert rebase.rebase(home, Console(), Request(onto="b101", dry_run=True)) == 0
    assert (queue(home), past.footprint()) == before


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_conflict_shows_both_sides_and_moves_nothing(past: Past, home: Home, dry_run: bool) -> None:
    past.build("b101", {"a.txt": LINES, "b.txt": changed(LINES, 20, b"upstream's own words")})
    past.save(home.patches)
    before = (queue(home), past.footprint())
    with pytest.raises(SeriesConflict) as caught:
        rebase.rebase(home, Console(), Request(onto="b101", dry_run=dry_run))
    assert caught.value.exit_code == EXIT_CONFLICT == 3
    for part in ("second (2 of 2", "b.txt", "upstream's own words", "speed", "<<<<<<<", ">>>>>>>"):
        assert part in str(caught.value)
    assert (queue(home), past.footprint()) == before


def test_an_absorbed_patch_is_retired_and_listed(past: Past, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    past.build("b101", {"a.txt": changed(LINES, 12), "b.txt": LINES})
    past.save(home.patches)
    rebase.rebase(home, Console(json_output=True), Request(onto="b101", dry_run=False))
    told = json.loads(capsys.readouterr().out)
    assert {patch["id"]: patch["state"] for patch in told["patches"]} == {"first": "absorbed", "second": "applied"}
    assert load_series(home.patches).ids == ("second",)
    assert (home.patches / "retired" / "first.patch").is_file()


def test_an_unknown_aim_is_refused(past: Past, home: Home) -> None:
    past.save(home.patches)
    with pytest.raises(UnknownBuild, match="b102 is neither pinned nor fetched"):
        rebase.rebase(home, Console(), Request(onto="b102", dry_run=False))


def half_landed(past: Past, home: Home) -> bytes:
    """Upstream's b101 has the first half of the patch `first`; returns the file with both halves."""
    both = changed(changed(LINES, 3, b"first half"), 27, b"second half")
    past.build("b100", {"a.txt": LINES})
    past.patch("first", {"a.txt": both})
    past.build("b101", {"a.txt": changed(LINES, 3, b"first half")})
    past.save(home.patches)
    return both


def test_a_half_landed_patch_names_the_option_that_accepts_it(home: Home) -> None:
    past = Past(home.root)
    both = half_landed(past, home)
    with pytest.raises(SeriesConflict, match="partly upstream") as caught:
        rebase.rebase(home, Console(), Request(onto="b101", dry_run=False))
    command, *words = caught.value.hint.split("  # ")[0].split()
    assert (command, words) == ("invoke", ["rebase-upstream", "--onto", "b101", "--accept-partial", "first"])
    rebase.rebase(home, Console(), Request(onto=words[2], dry_run=False, accept_partial=(words[4],)))
    assert load_series(home.patches).ids == ("first",)
    assert past.content("refs/heads/speed/b101", "a.txt") == both


def test_accepting_a_patch_that_is_not_there_is_refused_with_a_guess(past: Past, home: Home) -> None:
    past.save(home.patches)
    with pytest.raises(UsageProblem, match="no such patch in the series, did you mean 'first'"):
        rebase.rebase(home, Console(), Request(onto="b100", dry_run=True, accept_partial=("frist",)))


def test_a_dry_run_names_the_command_that_does_it(past: Past, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    past.build("b101", {"a.txt": b"new\n" + LINES, "b.txt": LINES})
    past.save(home.patches)
    rebase.rebase(home, Console(), Request(onto="b101", dry_run=True, accept_partial=("first",)))
    assert "next: invoke rebase-upstream --onto b101 --accept-partial first\n" in capsys.readouterr().out


def test_a_dry_run_on_the_own_base_has_nothing_to_do(
    past: Past, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    past.save(home.patches)
    rebase.rebase(home, Console(), Request(onto="b100", dry_run=True))
    assert capsys.readouterr().out.endswith("the series stands on that build already: nothing to do\n")


def test_a_newer_build_from_a_remote_is_named_in_the_advice_and_is_no_default(
    past: Past, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    past.build("b20000", {"a.txt": LINES, "b.txt": LINES})
    past.save(home.patches)
    upstream.show(home, Console())
    assert "next: invoke rebase-upstream --onto b20000 --dry-run\n" in capsys.readouterr().out
    assert aim(home, None, base=BuildTag(100)) == max(load_lock().by_tag())


def test_the_list_says_where_builds_come_from_and_where_it_ends(
    past: Past, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    past.build("b20000", {"a.txt": LINES, "b.txt": LINES})
    past.save(home.patches)
    upstream.show(home, Console())
    said = capsys.readouterr().out
    newest = max(load_lock().by_tag())
    assert f"newest pinned build {newest}; newer ones are not looked for here. next: invoke pin-upstream" in said
    cells = [[cell.strip() for cell in line.split("│")[1:3]] for line in said.splitlines() if line.count("│") > 2]
    assert ["b20000", "remote"] in cells
    assert [str(newest), "pinned"] in cells
