"""Objects made in memory: what git sees of them, and when; what another repository lacks; what is damaged."""

import pathlib
from os import fsdecode

import pytest

from ci.errors import SeriesProblem, SourceTreeProblem
from ci.git import Git
from ci.gittree import FOLDER, SUBMODULE, Entry
from ci.series.engine.objects import Objects
from ci.series.engine.threeway import Path
from ci.series.engine.workshop import UNPACK_LIMIT, Workshop, workshop
from tests.helpers.histories import Past, numbered


@pytest.fixture
def past(tmp_path: pathlib.Path) -> Past:
    past = Past(tmp_path)
    past.build("b100", {"d/f": numbered(3), "g": b"g\n"})
    return past


def made_commit(shop: Workshop, past: Past, *, files: int = 1) -> str:
    """A commit on the build whose folder has more files, all with one content, and a submodule."""
    base = past.builds["b100"]
    blob = shop.objects.entries(shop.tree_of(base))[b"g"]
    new: dict[Path, Entry | None] = {(b"n", b"%d" % number, b"f"): blob for number in range(files)}
    tree = shop.changed_tree(shop.tree_of(base), {**new, (b"m",): Entry(SUBMODULE, "1" * 40)})
    return shop.same_commit_on(base, tree=tree, parent=base)


def sees(git: Git, name: str) -> bool:
    return git("cat-file", "-e", name, ok_codes=(0, 1, 128)).code == 0


def test_git_sees_an_object_and_all_below_it_when_told_and_not_before(past: Past, tmp_path: pathlib.Path) -> None:
    with workshop(past.git, tmp_path / "work") as shop:
        commit = made_commit(shop, past)
        names = (commit, shop.tree_of(commit), shop.objects.entries(shop.tree_of(commit))[b"n"].id)
        assert [sees(shop.repo, name) for name in names] == [False] * 3
        assert shop.objects.visible(commit) == commit
        assert [sees(shop.repo, name) for name in names] == [True] * 3
        shop.repo("fsck", "--strict")
        assert made_commit(shop, past) == commit  # made again, it is still there to be read
        assert shop.tree_of(commit) == names[1]


@pytest.mark.parametrize("files", [1, UNPACK_LIMIT])
def test_what_is_handed_over_is_whole_and_nothing_else(past: Past, tmp_path: pathlib.Path, files: int) -> None:
    known = set(past.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").text.split())
    with workshop(past.git, tmp_path / "work") as shop:
        commit = made_commit(shop, past, files=files)
        shop.synthetic_commit(shop.changed_tree(None, {(b"waste",): Entry("100644", "2" * 40)}))
        shop.hand_over(past.git, commit)
        shop.hand_over(past.git, commit)
        below = {
            entry.id for entry in shop.objects.entries(shop.objects.entries(shop.tree_of(commit))[b"n"].id).values()
        }
        made = {commit, shop.tree_of(commit), shop.objects.entries(shop.tree_of(commit))[b"n"].id, *below}
    found = set(past.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").text.split())
    assert found - known == made
    past.git.update_ref("refs/heads/x", commit, None)
    past.git("fsck", "--strict")
    assert past.listing(commit)["m"] == SUBMODULE


def test_git_checks_what_is_handed_over(past: Past, tmp_path: pathlib.Path) -> None:
    with workshop(past.git, tmp_path / "work") as shop:
        blob = shop.objects.entries(shop.tree_of(past.builds["b100"]))[b"g"]
        tree = shop.changed_tree(None, {(b".git", b"config"): blob})
        commit = shop.same_commit_on(past.builds["b100"], tree=tree, parent=past.builds["b100"])
        with pytest.raises(SeriesProblem, match="hasDotgit"):
            shop.hand_over(past.git, commit)
    assert not sees(past.git, commit)


def test_a_missing_object_and_one_of_another_kind_are_named(past: Past) -> None:
    objects = Objects.of(past.git)
    commit = past.builds["b100"]
    with pytest.raises(SourceTreeProblem, match=f"{'3' * 40} is missing"):
        objects.entries("3" * 40)
    with pytest.raises(SourceTreeProblem, match=f"{commit} is a commit, not a tree"):
        objects.entries(commit)


def test_a_damaged_object_is_named(past: Past) -> None:
    blob = past.git("rev-parse", "b100:g").text
    file = past.git.path / "objects" / blob[:2] / blob[2:]
    file.chmod(0o644)
    file.write_bytes(b"damaged")
    with pytest.raises(SourceTreeProblem, match=f"{blob} is damaged"):
        Objects.of(past.git).blob(blob)


def test_a_history_may_lie_in_a_folder_of_any_name(tmp_path: pathlib.Path) -> None:
    root = tmp_path / fsdecode(b"\xff \"$(x)'; #")
    root.mkdir()
    past = Past(root)
    past.build("b100", {"g": b"g\n"})
    with workshop(past.git, root / "work") as shop:
        commit = made_commit(shop, past)
        shop.hand_over(past.git, commit)
        assert shop.repo("cat-file", "blob", f"{past.builds['b100']}:g").stdout == b"g\n"
    assert sees(past.git, commit)


def test_a_folder_reads_like_an_absent_one_when_there_is_none(past: Past) -> None:
    objects = Objects.of(past.git)
    tree = past.git.tree_of("b100") or ""
    assert objects.entries(None) == {}
    assert objects.entries(tree)[b"d"].mode == FOLDER
    assert objects.file(tree, "d/f") == numbered(3)
    assert [objects.file(tree, path) for path in ("d", "d/x", "x/y")] == [None, None, None]
