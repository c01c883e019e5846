"""`series`, `import-series` and `export-series` on small real repositories: what is printed, written, refused."""

import json
import os
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import RangeProblem, RebaseInProgress, SeriesConflict, SeriesProblem, UsageProblem
from ci.git import Git
from ci.home import Home
from ci.series.byhand.rebase_state import State, save_state
from ci.series.engine.importing import AM
from ci.series.order import load_series
from ci.verbs import series
from ci.verbs.series import ImportRequest
from tests.helpers.fork_past import LINES, ForkPast
from tests.helpers.histories import changed, message

RANGE = "b100..main"


@pytest.fixture
def fork(tmp_path: Path) -> ForkPast:
    made = ForkPast(tmp_path)
    made.commit("one", {"a.txt": changed(LINES, 3)})
    made.commit("two", {"a.txt": changed(changed(LINES, 3), 9), "new.txt": b"1\n"})
    return made


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A checkout under git, without a queue."""
    checkout = tmp_path / "checkout"
    (checkout / "patches").mkdir(parents=True)
    Git(path=checkout)("init", "--quiet")
    return Home(root=tmp_path / "state", checkout=checkout)


def import_(fork: ForkPast, home: Home, *, replace: bool = False, dry_run: bool = False, span: str = RANGE) -> int:
    asked = ImportRequest(remote=fork.address, range=span, replace=replace, dry_run=dry_run)
    return series.import_(home, Console(json_output=True), asked)


def files(home: Home) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(home.patches.iterdir())}


def commit_all(home: Home) -> None:
    git = Git(path=home.checkout)
    git("add", "-A")
    git("commit", "--quiet", "-m", "queue")


def test_a_fork_becomes_a_queue_that_gives_its_tree(
    fork: ForkPast, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert import_(fork, home) == 0
    told = json.loads(capsys.readouterr().out)
    assert [patch["id"] for patch in told["patches"]] == ["one", "two"]
    assert told["tree"] == told["fork_tree"] == fork.fork.git.tree_of(fork.tip)
    assert told["base"] == {"tag": "b100", "tree": fork.past.git.tree_of("b100"), "commit": None}
    loaded = load_series(home.patches)
    assert (loaded.ids, str(loaded.base.tag), loaded.base.revision) == (("one", "two"), "b100", 1)
    assert series.export(home, Console(), check=True) == 0


def test_git_am_in_series_order_gives_the_forks_tree(fork: ForkPast, home: Home, tmp_path: Path) -> None:
    import_(fork, home)
    Git(path=fork.past.git.path)("clone", "--quiet", ".", tmp_path / "clone")
    clone = Git(path=tmp_path / "clone")
    clone("checkout", "--quiet", "b100")
    for name in (home.patches / "series").read_text().split():
        clone(*AM, home.patches / name)
    assert clone.tree_of("HEAD") == fork.fork.git.tree_of(fork.tip)


def test_missing_trailers_fail_the_check_and_name_what_to_write(
    fork: ForkPast, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    fork.commit("", {"b.txt": changed(LINES, 3)}, text="[CUDA] fuse it\n")
    assert import_(fork, home) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["patches"][2]["todo"][0] == "Speed-Feature"
    assert "write the 6 TODO value(s)" in printed.err
    with pytest.raises(SeriesProblem) as caught:
        series.show(home, Console())
    assert caught.value.exit_code == 2
    said = caught.value.message
    assert said.count("cuda-fuse-it.patch: ") == said.count("TODO: write") == 6
    assert "cuda-fuse-it.patch: Speed-Numerics: TODO: write one of bitwise, distribution, tolerance" in said


def test_values_written_in_make_the_queue_whole(fork: ForkPast, home: Home) -> None:
    fork.commit("", {"b.txt": changed(LINES, 3)}, text="[CUDA] fuse it\n")
    import_(fork, home)
    path = home.patches / "cuda-fuse-it.patch"
    for line in message("x", "b100").rpartition("\n\n")[2].splitlines():
        key, _, value = line.partition(": ")
        path.write_bytes(path.read_bytes().replace(f"{key}: TODO".encode(), f"{key}: {value}".encode()))
    assert load_series(home.patches).ids == ("one", "two", "cuda-fuse-it")
    assert series.export(home, Console(), check=True) == 0


def test_two_commits_with_one_speed_id_are_both_kept_and_named(fork: ForkPast, home: Home) -> None:
    fork.commit("", {"b.txt": changed(LINES, 3)}, text=message("one", "b100", "Mend one"))
    import_(fork, home)
    assert (home.patches / "series").read_text() == "one.patch\ntwo.patch\none-2.patch\n"
    with pytest.raises(SeriesProblem, match=r"Speed-Id 'one' is also that of one\.patch"):
        load_series(home.patches)


def test_a_dry_run_writes_nothing(fork: ForkPast, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    before = fork.past.footprint()[0]
    assert import_(fork, home, dry_run=True) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["dry_run"] is True
    assert "would write 2 patch file(s)" in printed.err
    assert (files(home), fork.past.footprint()[0]) == ({}, before)


def test_a_queue_that_is_there_is_kept_unless_asked(fork: ForkPast, home: Home) -> None:
    import_(fork, home)
    before = files(home)
    fork.commit("three", {"c.txt": changed(LINES, 3)})
    with pytest.raises(UsageProblem, match="holds a series already") as caught:
        import_(fork, home)
    assert "--replace" in caught.value.hint
    assert import_(fork, home, dry_run=True) == 0
    with pytest.raises(UsageProblem, match="changes that are not committed"):
        import_(fork, home, replace=True)
    assert files(home) == before


def test_a_replaced_queue_comes_back_by_the_command_that_is_named(fork: ForkPast, home: Home) -> None:
    import_(fork, home)
    commit_all(home)
    before = files(home)
    fork.commit("three", {"c.txt": changed(LINES, 3)})
    assert import_(fork, home, replace=True, span="b100..main") == 0
    assert load_series(home.patches).ids == ("one", "two", "three")
    git = Git(path=home.checkout)
    for command in series.UNDO.split(" && "):
        git(*command.split()[1:])
    assert files(home) == before


def test_a_conflict_that_waits_for_a_person_is_not_cut_off(fork: ForkPast, home: Home) -> None:
    import_(fork, home)
    commit_all(home)
    state = State(onto="b101", base="b100", series="0", patch_id="one", tip="1" * 40, picked="2" * 40, tree="one")
    save_state(home, state)
    with pytest.raises(RebaseInProgress, match="one waits"):
        import_(fork, home, replace=True)
    assert series.export(home, Console(), check=False) == 0


def test_a_checkout_without_git_is_not_overwritten(fork: ForkPast, tmp_path: Path) -> None:
    home = Home(root=tmp_path / "state", checkout=tmp_path / "plain")
    import_(fork, home)
    with pytest.raises(UsageProblem, match="is not under git"):
        import_(fork, home, replace=True)


def test_a_refused_range_leaves_the_queue(fork: ForkPast, home: Home) -> None:
    import_(fork, home)
    commit_all(home)
    before = files(home)
    with pytest.raises(RangeProblem):
        import_(fork, home, replace=True, span="main..main")
    assert files(home) == before


def test_an_empty_history_is_told_before_anything_is_fetched(fork: ForkPast, tmp_path: Path) -> None:
    home = Home(root=tmp_path / "empty", checkout=tmp_path)
    with pytest.raises(UsageProblem, match="holds no upstream build yet") as caught:
        import_(fork, home)
    assert "invoke sync-upstream" in caught.value.hint
    assert not home.root.exists()


@pytest.mark.parametrize(("remote", "span"), [("", RANGE), ("x", "")])
def test_both_words_are_required(home: Home, remote: str, span: str) -> None:
    with pytest.raises(UsageProblem, match="--from and --range are required"):
        series.import_(home, Console(), ImportRequest(remote=remote, range=span))


def test_files_that_an_export_would_write_otherwise_are_shown_and_mended(
    fork: ForkPast, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    import_(fork, home)
    good = files(home)
    path = home.patches / "two.patch"
    path.write_bytes(
        good["two.patch"].replace(b"\ndiff --git", b"\n---\n a.txt | 2 +-\n\ndiff --git", 1) + b"-- \n2.39.5\n\n"
    )
    (home.patches / "series").write_text("# ours\none.patch\ntwo.patch\n")
    (home.patches / "drift.toml").write_text("# pending\n")
    with pytest.raises(SeriesProblem, match="1 file") as caught:
        series.export(home, Console(), check=True)
    assert caught.value.exit_code == 2
    for part in ("two.patch", "- a.txt | 2 +-", "-2.39.5"):
        assert part in caught.value.message
    capsys.readouterr()
    assert series.export(home, Console(json_output=True), check=False) == 0
    assert json.loads(capsys.readouterr().out)["stale"] == ["two.patch"]
    kept = {"series": b"# ours\none.patch\ntwo.patch\n", "drift.toml": b"# pending\n"}
    assert files(home) == {**good, **kept}
    assert series.export(home, Console(), check=True) == 0


def test_a_patch_that_does_not_apply_on_its_base_is_a_conflict(fork: ForkPast, home: Home) -> None:
    import_(fork, home)
    path = home.patches / "two.patch"
    path.write_bytes(path.read_bytes().replace(b" line 8\n", b" line eight\n"))
    before = files(home)
    with pytest.raises(SeriesConflict, match=r"two \(2 of 2"):
        series.export(home, Console(), check=False)
    assert files(home) == before


def test_the_series_at_a_glance(fork: ForkPast, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    import_(fork, home)
    capsys.readouterr()
    assert series.show(home, Console(json_output=True)) == 0
    printed = capsys.readouterr()
    told = json.loads(printed.out)
    assert told["base"]["tag"] == "b100"
    assert told["base"]["behind_numbers"] > 0
    assert [(patch["id"], patch["added"], patch["removed"]) for patch in told["patches"]] == [
        ("one", 1, 1),
        ("two", 2, 1),
    ]
    known = fork.fork.git("patch-id", "--stable", stdin=fork.fork.git("show", f"{fork.tip}~1").stdout)
    assert told["patches"][0]["patch_id"] == known.text.split()[0]
    assert "base b100, revision 1" in printed.err


def test_a_path_with_odd_bytes_is_shown(fork: ForkPast, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    fork.commit("odd", {os.fsdecode(b"caf\xe9.txt"): b"1\n"})
    import_(fork, home)
    capsys.readouterr()
    assert series.show(home, Console(json_output=True)) == 0
    assert json.loads(capsys.readouterr().out)["patches"][2]["paths"] == ["caf\\udce9.txt"]
