"""Conflicts out of git's answers: names that git changed, sides that it lost."""

from ci.series.conflict import Conflict, conflict_of_merge
from ci.series.engine.merge_answer import Merged, Note, Stage

AT = Conflict(patch_id="speed", subject="Make it fast", index=1, total=1, upon="b101")
BLOBS = {"a" * 40: b"base\n", "b" * 40: b"upstream\n", "c" * 40: b"patch\n"}


def conflict(*stages: Stage, kind: str = "content") -> Conflict:
    notes = (Note(paths=(stages[-1].path,), kind="CONFLICT", text=f"CONFLICT ({kind}): words"),)
    merged = Merged(clean=False, tree="0" * 40, stages=stages, notes=notes)
    return conflict_of_merge(merged, AT, half_merged={}, blob=BLOBS.__getitem__)


def stage(path: bytes, number: int, letter: str) -> Stage:
    return Stage(path=path, number=number, mode="100644", blob=letter * 40)


def test_a_file_that_git_moved_aside_is_one_path_with_all_its_sides() -> None:
    aside = b"a.c~" + b"1" * 40
    found = conflict(stage(b"a.c", 1, "a"), stage(b"a.c", 3, "c"), stage(aside, 2, "b"), kind="distinct types")
    (path,) = found.paths
    (clash,) = path.clashes
    assert (path.path, path.kind) == ("a.c", "distinct types")
    assert (clash.base, clash.upstream, clash.patch) == ("base\n", "upstream\n", "patch\n")


def test_a_side_that_git_lost_between_renamed_folders_is_left_out() -> None:
    found = conflict(stage(b"d/x~" + b"1" * 40, 2, "0"), stage(b"d/x/y", 1, "a"), stage(b"d/x/y", 3, "c"))
    assert [path.path for path in found.paths] == ["d/x/y"]
