"""Recorded resolutions: made by git's rerere on one machine, replayed on another."""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ci.errors import ResolutionProblem
from ci.git import Git
from ci.series.byhand.rerere import sides_of, unmerged_stages
from ci.series.byhand.resolutions import MAX_BYTES, describe, load_store
from tests.helpers.clashes import LINES, PATCHED, SETTLED, UPSTREAM, Clash, files_below
from tests.helpers.histories import Entry, changed, numbered


@pytest.fixture
def clash(tmp_path: Path) -> Clash:
    return Clash.usual(tmp_path / "one")


def moved(clash: Clash) -> str:
    """The one entry of a store."""
    (entry,) = clash.store.iterdir()
    return entry.name


def test_another_machine_gets_the_same_bytes(clash: Clash, tmp_path: Path) -> None:
    recorded = clash.record({"a.txt": SETTLED})
    assert (len(recorded.ids), recorded.left) == (1, ())
    other = Clash.usual(tmp_path / "two")
    shutil.copytree(clash.store, other.store)
    done = other.replay()
    assert other.history("cat-file", "blob", done.settled["a.txt"]).stdout == SETTLED
    (resolution,) = done.resolutions
    assert (resolution.conflict_id, resolution.path) == (recorded.ids[0], "a.txt")


def test_the_diff_shows_both_sides_and_the_outcome(clash: Clash) -> None:
    clash.record({"a.txt": SETTLED})
    diff = clash.replay().resolutions[0].diff
    assert diff.startswith("diff --git a/a.txt b/a.txt\nindex ")
    changes = [line for line in diff.splitlines()[4:] if line[0] in "+-"]
    assert changes == ["-<<<<<<< HEAD", "-upstream", "-=======", "-speed", "->>>>>>> patch", "+both"]


def test_a_person_reads_what_was_used_and_what_was_not(clash: Clash) -> None:
    (used,) = clash.record({"a.txt": SETTLED}).ids
    (resolution,) = clash.replay().resolutions
    shutil.copytree(clash.store / used, clash.store / ("0" * 40))
    (clash.store / ("1" * 40)).mkdir()
    assert describe(load_store(clash.store), [resolution]) == (
        f"a.txt: settled by resolutions/{used}\n{resolution.diff}"
        f"resolutions/{'0' * 40}: not used by this rebase\n"
        f"resolutions/{'1' * 40}: unfinished, it counts for nothing\n"
    )


def test_nothing_is_left_behind(clash: Clash) -> None:
    before = clash.past.footprint()
    clash.record({"a.txt": SETTLED})
    clash.replay()
    assert clash.past.footprint() == before
    assert list(clash.home.work.iterdir()) == []


def test_the_same_resolution_gives_the_same_files_everywhere(clash: Clash, tmp_path: Path) -> None:
    clash.record({"a.txt": SETTLED})
    other = Clash.usual(tmp_path / "two")
    other.record({"a.txt": SETTLED})
    assert files_below(clash.store) == files_below(other.store)
    assert {Path(name).name for name in files_below(clash.store)} == {"preimage", "postimage"}


def test_recording_again_changes_nothing(clash: Clash) -> None:
    clash.record({"a.txt": SETTLED})
    before = files_below(clash.store)
    assert clash.record({"a.txt": SETTLED}).ids == ()
    assert files_below(clash.store) == before


def test_git_takes_the_entries_as_its_own(clash: Clash, tmp_path: Path) -> None:
    """The oracle: plain git with our store as its cache."""
    clash.record({"a.txt": SETTLED})
    person = Git(path=tmp_path / "person")
    clash.history("clone", "--quiet", clash.history.path, person.path)
    person("checkout", "--quiet", "--detach", clash.ours)
    shutil.copytree(clash.store, person.path / ".git" / "rr-cache")
    person("fetch", "--quiet", clash.history.path, clash.theirs)
    person("-c", "rerere.enabled=true", "cherry-pick", clash.theirs, ok_codes=(1,))
    assert (person.path / "a.txt").read_bytes() == SETTLED


def test_a_resolution_survives_changes_elsewhere_in_the_file(clash: Clash, tmp_path: Path) -> None:
    clash.record({"a.txt": SETTLED})
    later = Clash.of(
        tmp_path / "later",
        {"a.txt": LINES},
        upstream={"a.txt": b"new\n" + changed(UPSTREAM, 28, b"far away")},
        patch={"a.txt": changed(PATCHED, 2, b"fast")},
    )
    assert later.replayed(clash.store) == {"a.txt": b"new\n" + changed(changed(SETTLED, 2, b"fast"), 28, b"far away")}


def test_another_conflict_is_left_to_a_person(clash: Clash, tmp_path: Path) -> None:
    clash.record({"a.txt": SETTLED})
    other = Clash.of(
        tmp_path / "two",
        {"a.txt": LINES},
        upstream={"a.txt": changed(LINES, 12, b"something else")},
        patch={"a.txt": PATCHED},
    )
    assert other.replayed(clash.store) == {}


def test_two_files_of_which_one_is_known(clash: Clash, tmp_path: Path) -> None:
    clash.record({"a.txt": SETTLED})
    two = Clash.of(
        tmp_path / "two",
        {"a.txt": LINES, "b.txt": LINES[:99]},
        upstream={"a.txt": UPSTREAM, "b.txt": b"up\n"},
        patch={"a.txt": PATCHED, "b.txt": b"fast\n"},
    )
    shutil.copytree(clash.store, two.store)
    assert two.replayed() == {"a.txt": SETTLED}
    recorded = two.record({"a.txt": SETTLED, "b.txt": b"up and fast\n"})
    assert (len(recorded.ids), recorded.left) == (1, ())
    assert two.replayed() == {"a.txt": SETTLED, "b.txt": b"up and fast\n"}
    assert load_store(two.store).unused(recorded.ids) == (moved(clash),)


@pytest.fixture
def twins(tmp_path: Path) -> Clash:
    """The same conflict in two files whose surroundings differ."""
    other = numbered(30).replace(b"line", b"row").replace(b"row 12\n", b"line 12\n")
    return Clash.of(
        tmp_path / "twins",
        {"a.txt": LINES, "b.txt": other},
        upstream={"a.txt": UPSTREAM, "b.txt": changed(other, 12, b"upstream")},
        patch={"a.txt": PATCHED, "b.txt": changed(other, 12)},
    )


def test_one_conflict_in_two_files_has_two_variants(twins: Clash) -> None:
    row = twins.past.content(twins.theirs, "b.txt")
    resolved = {"a.txt": SETTLED, "b.txt": changed(row, 12, b"otherwise")}
    recorded = twins.record(resolved)
    assert (len(recorded.ids), recorded.left) == (1, ())
    assert sorted(files_below(twins.store / recorded.ids[0])) == [
        "postimage",
        "postimage.1",
        "preimage",
        "preimage.1",
    ]
    assert twins.replayed() == resolved


def test_a_variant_is_added_to_an_entry_that_is_there(clash: Clash, twins: Clash) -> None:
    clash.record({"a.txt": SETTLED})
    shutil.copytree(clash.store, twins.store)
    first = files_below(twins.store)
    row = twins.past.content(twins.theirs, "b.txt")
    twins.record({"a.txt": SETTLED, "b.txt": changed(row, 12, b"otherwise")})
    assert files_below(twins.store).items() > first.items()
    assert twins.replayed()["a.txt"] == SETTLED


def test_one_conflict_resolved_in_two_ways_in_like_files_is_not_recorded(tmp_path: Path) -> None:
    """rerere would give the first answer to both."""
    clash = Clash.of(
        tmp_path / "like",
        {"a.txt": LINES, "b.txt": LINES},
        upstream={"a.txt": UPSTREAM, "b.txt": UPSTREAM},
        patch={"a.txt": PATCHED, "b.txt": PATCHED},
    )
    recorded = clash.record({"a.txt": SETTLED, "b.txt": changed(LINES, 12, b"otherwise")})
    assert [left.path for left in recorded.left] == ["b.txt"]
    assert clash.replayed() == {"a.txt": SETTLED, "b.txt": SETTLED}


def test_a_recorded_resolution_is_never_replaced(clash: Clash) -> None:
    clash.record({"a.txt": SETTLED})
    before = files_below(clash.store)
    recorded = clash.record({"a.txt": changed(LINES, 12, b"second thoughts")})
    assert recorded.ids == ()
    assert recorded.left[0].why == f"{moved(clash)} holds another resolution: remove that entry to record this one"
    assert files_below(clash.store) == before


CRLF = numbered(30, end="\r\n")
LATIN = LINES.replace(b"line 11", b"z\xe9ro\xff")
SHAPES = {
    "CRLF": (CRLF, changed(CRLF, 12, b"both")),
    "not UTF-8": (LATIN, changed(LATIN, 12, b"b\xf6th")),
    "no newline at the end": (LINES[:-1], changed(LINES[:-1], 12, b"both")),
    "conflict at the end without newline": (numbered(12)[:-1], changed(numbered(12)[:-1], 12, b"both")),
    "an own ======= line outside": (
        b"Title\n=======\n" + LINES,
        b"Title\n=======\n" + LINES.replace(b"10\n", b"ten\n"),
    ),
    "removed on both sides": (LINES, LINES.replace(b"line 12\n", b"")),
}


@pytest.mark.parametrize(("text", "resolved"), SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("path", ["a.txt", "dir/with blank/\"quoted\" 'name'.cu", "caf\udce9.cpp", "new\nline", "-x"])
def test_bytes_and_names_of_all_kinds(tmp_path: Path, text: bytes, resolved: bytes, path: str) -> None:
    ours, theirs = changed(text, 12, b"upstream"), changed(text, 12)
    clash = Clash.of(tmp_path / "odd", {path: text}, upstream={path: ours}, patch={path: theirs})
    recorded = clash.record({path: resolved})
    assert (len(recorded.ids), recorded.left) == (1, ())
    assert clash.replayed() == {path: resolved}
    assert clash.replay().resolutions[0].diff.encode()  # can be printed


def test_an_executable_shows_no_change_of_mode(tmp_path: Path) -> None:
    base, ours, theirs = (Entry(data, "100755") for data in (LINES, UPSTREAM, PATCHED))
    clash = Clash.of(tmp_path / "x", {"run": base}, upstream={"run": ours}, patch={"run": theirs})
    clash.record({"run": SETTLED})
    assert "mode" not in clash.replay().resolutions[0].diff


def test_added_on_both_sides(tmp_path: Path) -> None:
    clash = Clash.of(tmp_path / "add", {"o": b"\n"}, upstream={"new": b"up\n"}, patch={"new": b"fast\n"})
    clash.record({"new": b"both\n"})
    assert clash.replayed() == {"new": b"both\n"}


IN_CONFLICT = "rerere has no form for this conflict: binary, or lines of its own look like markers"
HELPLESS = {
    "binary": (b"\0", b"\0up\n", b"\0fast\n", b"\0both\n", IN_CONFLICT),
    "a ======= line in the conflict": (b"a\n", b"Up\n=======\ntext\n", b"Fast\n", b"B\n=======\n", IN_CONFLICT),
    "a <<<<<<< line elsewhere": (
        LINES + b"<<<<<<< x\n",
        UPSTREAM + b"<<<<<<< x\n",
        PATCHED + b"<<<<<<< x\n",
        SETTLED + b"<<<<<<< x\n",
        IN_CONFLICT,
    ),
    "a bare <<<<<<< line elsewhere": (
        LINES + b"<<<<<<<\n",
        UPSTREAM + b"<<<<<<<\n",
        PATCHED + b"<<<<<<<\n",
        SETTLED + b"<<<<<<<\n",
        "lines of its own look like conflict markers",
    ),
    "a bare <<<<<<< line that the resolution drops": (
        LINES + b"<<<<<<<\n",
        UPSTREAM + b"<<<<<<<\n",
        PATCHED + b"<<<<<<<\n",
        SETTLED,
        "git rerere does not give it back",
    ),
    "deleted upstream": (LINES, None, PATCHED, SETTLED, IN_CONFLICT),
    "resolved by removing": (LINES, UPSTREAM, PATCHED, None, "it was resolved by removing the file"),
    "resolved to nothing": (LINES, UPSTREAM, PATCHED, b"", "it was resolved to an empty file"),
}


@pytest.mark.parametrize(("base", "ours", "theirs", "resolved", "why"), HELPLESS.values(), ids=HELPLESS)
def test_what_rerere_cannot_hold_is_named(
    tmp_path: Path, base: bytes, ours: bytes | None, theirs: bytes, resolved: bytes | None, why: str
) -> None:
    clash = Clash.of(tmp_path / "c", {"f": base, "o": b""}, upstream={"f": ours}, patch={"f": theirs})
    recorded = clash.record({} if resolved is None else {"f": resolved})
    assert recorded.ids == ()
    assert [(left.path, left.why) for left in recorded.left] == [("f", why)]
    assert files_below(clash.store) == {}


def test_attributes_of_the_tree_count_for_nothing(tmp_path: Path) -> None:
    attributes = b"* conflict-marker-size=9 merge=union text eol=crlf\n"
    base = {".gitattributes": attributes, "a.txt": LINES}
    clash = Clash.of(tmp_path / "attr", base, upstream={"a.txt": UPSTREAM}, patch={"a.txt": PATCHED})
    clash.record({"a.txt": SETTLED})
    assert clash.replayed() == {"a.txt": SETTLED}
    assert moved(clash) == Clash.usual(tmp_path / "plain").record({"a.txt": SETTLED}).ids[0]


def id_by_plain_git(clash: Clash, place: Path, style: str) -> str:
    """Conflict id that git gives in the repository of a person with that conflict style."""
    person = Git(path=place)
    clash.history("clone", "--quiet", "--shared", "--no-checkout", clash.history.path, person.path)
    person("checkout", "--quiet", "--detach", clash.ours)
    options = ("-c", f"merge.conflictStyle={style}", "-c", "rerere.enabled=true")
    person(*options, "cherry-pick", clash.theirs, ok_codes=(1,))
    return (place / ".git" / "MERGE_RR").read_text().partition("\t")[0]


def test_an_id_is_that_of_gits_usual_style(tmp_path: Path) -> None:
    """Why nothing is recorded in a person's worktree: the same conflict has another id in style diff3."""
    shared = b"\nsame"
    clash = Clash.of(
        tmp_path / "styles",
        {"a.txt": LINES},
        upstream={"a.txt": changed(LINES, 12, b"upstream" + shared)},
        patch={"a.txt": changed(LINES, 12, b"speed" + shared)},
    )
    (recorded,) = clash.record({"a.txt": changed(LINES, 12, b"both" + shared)}).ids
    assert recorded == hashlib.sha1(b"speed\n\0upstream\n\0", usedforsecurity=False).hexdigest()
    ids = {style: id_by_plain_git(clash, tmp_path / style, style) for style in ("merge", "zdiff3", "diff3")}
    assert ids["merge"] == ids["zdiff3"] == recorded
    assert ids["diff3"] != recorded


def test_sides_follow_a_rename_of_upstream(tmp_path: Path) -> None:
    clash = Clash.of(
        tmp_path / "r", {"old.c": LINES}, upstream={"old.c": None, "new.c": UPSTREAM}, patch={"old.c": PATCHED}
    )
    person = Git(path=tmp_path / "person")
    clash.history("clone", "--quiet", "--shared", "--no-checkout", clash.history.path, person.path)
    person("checkout", "--quiet", "--detach", clash.ours)
    person("cherry-pick", clash.theirs, ok_codes=(1,))
    sides = sides_of(person, unmerged_stages(person))
    assert sides is not None
    assert [clash.past.git("ls-tree", "-r", "--name-only", clash.ours).text] == ["new.c"]
    assert [person("ls-tree", "-r", "--name-only", side).text for side in sides] == ["new.c", "new.c"]
    assert person.tree_of(f"{sides[0]}^") == person("rev-parse", f"{sides[1]}^^{{tree}}").text


def corrupt_name(entry: Path) -> None:
    entry.rename(entry.with_name("not-an-id"))


def corrupt_link(entry: Path) -> None:
    (entry / "postimage").unlink()
    (entry / "postimage").symlink_to("/etc/passwd")


def corrupt_entry_link(entry: Path) -> None:
    entry.rename(entry.parent.parent / "elsewhere")
    entry.symlink_to(entry.parent.parent / "elsewhere")


def corrupt_size(entry: Path) -> None:
    os.truncate(entry / "postimage", MAX_BYTES + 1)


def corrupt_markers(entry: Path) -> None:
    (entry / "postimage").write_bytes((entry / "preimage").read_bytes())


def corrupt_preimage_gone(entry: Path) -> None:
    (entry / "preimage").unlink()


def corrupt_preimage_plain(entry: Path) -> None:
    (entry / "preimage").write_bytes(LINES)


def corrupt_empty(entry: Path) -> None:
    (entry / "postimage").write_bytes(b"")


def corrupt_stray(entry: Path) -> None:
    (entry / "thisimage").write_bytes(b"x")


def corrupt_fifo(entry: Path) -> None:
    (entry / "postimage").unlink()
    os.mkfifo(entry / "postimage")


def corrupt_other_conflict(entry: Path) -> None:
    preimage = entry / "preimage"
    preimage.write_bytes(preimage.read_bytes().replace(b"speed", b"sped"))


CORRUPTIONS: dict[Callable[[Path], None], str] = {
    corrupt_name: r"not-an-id: expected a directory with 40 hex digits",
    corrupt_link: r"postimage: a symbolic link, expected a plain file",
    corrupt_entry_link: r"expected a directory with 40 hex digits",
    corrupt_size: r"postimage: 16000001 bytes, expected at most 16000000",
    corrupt_markers: r"postimage: still holds conflict markers",
    corrupt_preimage_gone: r"preimage: missing, its postimage is there",
    corrupt_preimage_plain: r"preimage: holds no conflict",
    corrupt_empty: r"postimage: empty",
    corrupt_stray: r"thisimage: expected preimage, postimage, preimage.N or postimage.N",
    corrupt_fifo: r"postimage: a special file, expected a plain file",
    corrupt_other_conflict: r"preimage: does not hold the conflict that its directory is named after",
}


@pytest.mark.parametrize(("corrupt", "words"), CORRUPTIONS.items(), ids=[c.__name__ for c in CORRUPTIONS])
def test_a_damaged_store_is_refused(clash: Clash, corrupt: Callable[[Path], None], words: str) -> None:
    clash.record({"a.txt": SETTLED})
    corrupt(clash.store / moved(clash))
    with pytest.raises(ResolutionProblem, match=words):
        clash.replay()
    with pytest.raises(ResolutionProblem, match=words):
        clash.record({"a.txt": SETTLED})


def test_a_store_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store").write_bytes(b"")
    with pytest.raises(ResolutionProblem, match="store: a file, expected a directory"):
        load_store(tmp_path / "store")


def test_all_faults_are_listed(clash: Clash) -> None:
    clash.record({"a.txt": SETTLED})
    corrupt_stray(clash.store / moved(clash))
    (clash.store / "README").write_bytes(b"x")
    with pytest.raises(ResolutionProblem, match="2 fault"):
        load_store(clash.store)


def test_an_unfinished_entry_is_reported_not_used_and_can_be_finished(clash: Clash) -> None:
    clash.record({"a.txt": SETTLED})
    whole = files_below(clash.store)
    name = moved(clash)
    (clash.store / name / "postimage").unlink()
    assert load_store(clash.store).unfinished == (name,)
    assert clash.replayed() == {}
    assert clash.record({"a.txt": SETTLED}).ids == (name,)
    assert files_below(clash.store) == whole


def test_leftovers_of_a_kill_are_passed_over(clash: Clash) -> None:
    clash.record({"a.txt": SETTLED})
    (clash.store / moved(clash) / ".postimage.1.x.part").write_bytes(b"")
    (clash.store / ".gitkeep").write_bytes(b"")
    assert clash.replayed() == {"a.txt": SETTLED}


def test_an_empty_store_answers_without_a_merge(clash: Clash) -> None:
    assert clash.replay().settled == {}
    assert not clash.home.work.exists()
