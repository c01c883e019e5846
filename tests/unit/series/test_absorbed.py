"""Lines of a patch that upstream has: above all, what must not count as landed."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.series.absorbed import Landed, Share, landed, share_present
from tests.helpers.diffs import diff_of, split
from tests.helpers.histories import numbered

Texts = Mapping[str, bytes | None]

BASE = b"int f() {\n  one();\n  return 0;\n}\n\nint g() {\n  two();\n  return 0;\n}\n"
SPEED = BASE.replace(b"  one();\n", b"  fast();\n  faster();\n")
ADDS = BASE.replace(b"  one();\n", b"  one();\n  fast();\n  faster();\n")
CUTS = BASE.replace(b"  two();\n", b"")


def share(before: Texts, after: Texts, aim: Texts) -> Share:
    paths = sorted({*before, *after})
    diff = b"".join(diff_of(before.get(path), after.get(path), path=path) for path in paths)
    return share_present(diff, before=before.get, aim=aim.get)


def of_one(before: bytes, after: bytes, aim: bytes | None) -> Share:
    return share({"f.c": before}, {"f.c": after}, {"f.c": aim})


@pytest.mark.parametrize(
    ("after", "aim", "verdict", "words"),
    [
        (ADDS, BASE, Landed.NONE, "0 of 2 added lines are upstream"),
        (ADDS, ADDS, Landed.ALL, "2 of 2 added lines are upstream"),
        (ADDS, b"// new\n" + ADDS.replace(b"two", b"three"), Landed.ALL, "2 of 2 added lines are upstream"),
        (ADDS, ADDS.replace(b"  faster();\n", b""), Landed.PART, "1 of 2 added lines are upstream"),
        (ADDS, ADDS.replace(b"faster", b"quicker"), Landed.PART, "1 of 2 added lines are upstream"),
        (ADDS, ADDS.replace(b"  faster", b"\tfaster"), Landed.PART, "1 of 2 added lines are upstream"),
        (ADDS, ADDS.replace(b"\n", b"\r\n"), Landed.NONE, "0 of 2 added lines are upstream"),
        (SPEED, SPEED, Landed.ALL, "2 of 2 added lines are upstream, 1 of 1 removed lines are gone"),
        (SPEED, ADDS, Landed.PART, "2 of 2 added lines are upstream, 0 of 1 removed lines are gone"),
        (
            SPEED,
            BASE.replace(b"  one();\n", b""),
            Landed.PART,
            "0 of 2 added lines are upstream, 1 of 1 removed lines are gone",
        ),
        (SPEED, BASE, Landed.NONE, "0 of 2 added lines are upstream, 0 of 1 removed lines are gone"),
        (CUTS, CUTS, Landed.REMOVED, "1 of 1 removed lines are gone"),
        (CUTS, BASE, Landed.NONE, "0 of 1 removed lines are gone"),
        (CUTS, None, Landed.NONE, "0 of 1 removed lines are gone"),
        (ADDS, None, Landed.NONE, "0 of 2 added lines are upstream"),
    ],
)
def test_one_file_is_judged_by_its_lines(after: bytes, aim: bytes | None, verdict: Landed, words: str) -> None:
    found = of_one(BASE, after, aim)
    assert landed(found) is verdict
    assert found.words == words


def test_a_line_that_occurs_elsewhere_in_the_file_proves_nothing() -> None:
    after = BASE.replace(b"  one();\n", b"  return 0;\n  one();\n")
    found = of_one(BASE, after, BASE)
    assert landed(found) is Landed.NONE
    assert found.missing == (("f.c", b"  return 0;\n"),)
    assert landed(of_one(BASE, after, after)) is Landed.ALL


def test_a_removed_line_may_stand_elsewhere_in_the_file() -> None:
    after = BASE.replace(b"  return 0;\n", b"", 1)
    assert landed(of_one(BASE, after, after)) is Landed.REMOVED
    found = of_one(BASE, after, BASE)
    assert found.lingering == (("f.c", b"  return 0;\n"),)
    assert landed(found) is Landed.NONE


TWICE = BASE.replace(b"  two();\n", b"  return 0;\n")


def test_a_copy_that_upstream_drops_elsewhere_hides_no_run_that_came_whole() -> None:
    after = TWICE.replace(b"  one();\n", b"  one();\n  return 0;\n")
    aim = after.replace(b"int g() {\n  return 0;\n", b"int g() {\n")
    assert aim.count(b"return 0;") == TWICE.count(b"return 0;")
    assert landed(of_one(TWICE, after, aim)) is Landed.ALL
    assert landed(of_one(TWICE, after, aim.replace(b"one", b"three"))) is Landed.NONE


def test_a_copy_that_upstream_adds_elsewhere_hides_no_removed_run() -> None:
    after = BASE.replace(b"  one();\n  return 0;\n", b"  one();\n")
    aim = after.replace(b"  two();\n", b"  two();\n  return 0;\n")
    assert landed(of_one(BASE, after, aim)) is Landed.REMOVED
    assert landed(of_one(BASE, after, BASE)) is Landed.NONE


def test_a_run_that_came_once_is_no_proof_of_two() -> None:
    functions = b"f() {\n  a;\n}\n" * 2
    faster = functions.replace(b"  a;\n", b"  a;\n  fast;\n")
    once = functions.replace(b"  a;\n", b"  a;\n  fast;\n", 1)
    assert landed(of_one(functions, faster, once)) is Landed.PART
    assert landed(of_one(functions, faster, faster)) is Landed.ALL


def test_a_run_of_braces_that_came_proves_nothing() -> None:
    before = b"{\n}\nold;\n}\nold;\n"
    after = b"{\n}\n}\nold;\n"
    assert landed(of_one(before, after, b"old;\nold;\n" + b"}\n" * 9)) is Landed.NONE


def test_equal_lines_need_as_many_copies() -> None:
    after, part = BASE + b"x;\n" * 5, BASE + b"x;\n" * 3
    found = of_one(BASE, after, part)
    assert (found.present, found.total, len(found.missing)) == (3, 5, 2)
    assert landed(found) is Landed.PART


def test_a_line_that_only_moves_proves_nothing() -> None:
    swapped = BASE.replace(b"one", b"three").replace(b"two", b"one").replace(b"three", b"two")
    for aim in (BASE, swapped, b""):
        found = of_one(BASE, swapped, aim)
        assert landed(found) is Landed.UNKNOWN
        assert not landed(found).retires


def test_a_move_beside_a_change_leaves_the_change_to_tell() -> None:
    after = BASE.replace(b"  one();\n", b"").replace(b"  two();\n", b"  two();\n  one();\n  fast();\n")
    assert of_one(BASE, after, BASE).total == 1
    assert landed(of_one(BASE, after, BASE)) is Landed.NONE
    assert landed(of_one(BASE, after, after)) is Landed.ALL


def test_lines_without_a_letter_or_digit_prove_nothing() -> None:
    braces = BASE.replace(b"  one();\n", b"  {\n  }\n\n")
    assert of_one(BASE, braces, braces).total == 0
    only_braces = BASE + b"{\n}\n__\n"
    found = of_one(BASE, only_braces, only_braces)
    assert found.words == "no line that could tell"
    assert landed(found) is Landed.UNKNOWN


def test_letters_beyond_ascii_are_letters() -> None:
    comment = BASE + "// \u65e9\n".encode() + b"// \xe9\n"
    assert of_one(BASE, comment, comment).total == 2


def test_upstream_that_reverted_the_patch_does_not_have_it() -> None:
    assert landed(of_one(BASE, ADDS, b"// landed, then reverted\n" + BASE)) is Landed.NONE


def test_a_squash_has_all_of_the_last_patch_and_a_part_of_the_first() -> None:
    second = ADDS.replace(b"faster", b"fastest")
    assert landed(of_one(BASE, ADDS, second)) is Landed.PART
    assert landed(of_one(ADDS, second, second)) is Landed.ALL


def test_what_a_patch_in_front_brings_is_not_upstreams() -> None:
    doubled = BASE + b"x;\n" + b"x;\n"
    assert landed(of_one(BASE + b"x;\n", doubled, BASE)) is Landed.NONE
    assert landed(of_one(BASE + b"x;\n", doubled, doubled)) is Landed.ALL


def test_a_line_in_another_file_is_not_in_this_one() -> None:
    before, after = {"a.c": BASE, "b.c": BASE}, {"a.c": ADDS, "b.c": BASE}
    assert landed(share(before, after, {"a.c": BASE, "b.c": ADDS})) is Landed.NONE


def test_one_file_of_two_is_a_part() -> None:
    before, after = {"a.c": BASE, "b.c": BASE}, {"a.c": ADDS, "b.c": CUTS}
    assert landed(share(before, after, {"a.c": ADDS, "b.c": BASE})) is Landed.PART
    assert landed(share(before, after, {"a.c": BASE, "b.c": CUTS})) is Landed.PART
    assert landed(share(before, after, after)) is Landed.ALL


def test_a_new_file_is_there_when_all_its_lines_are() -> None:
    after = {"n.c": BASE}
    assert landed(share({}, after, after)) is Landed.ALL
    assert landed(share({}, after, {})) is Landed.NONE
    assert landed(share({}, after, {"n.c": CUTS})) is Landed.PART


def test_a_deleted_file_is_gone_when_upstream_lacks_it() -> None:
    before = {"g.c": BASE}
    assert landed(share(before, {}, {})) is Landed.REMOVED
    assert landed(share(before, {}, before)) is Landed.NONE
    assert landed(share(before, {}, {"g.c": CUTS})) is Landed.PART


@pytest.mark.parametrize("verdict", Landed)
def test_only_full_answers_retire_a_patch(verdict: Landed) -> None:
    assert verdict.retires == (verdict in {Landed.ALL, Landed.REMOVED})


MODE = b"diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
BINARY = b"diff --git a/f b/f\nindex 0..2\nGIT binary patch\nliteral 3\nKcmZQzWMT#Y01f~L\n\n"
EMPTY = b"diff --git a/e b/e\nnew file mode 100644\nindex 0..e\n"
SUBMODULE = b"diff --git a/s b/s\n--- a/s\n+++ b/s\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n"


@pytest.mark.parametrize("diff", [MODE, BINARY, EMPTY, MODE + BINARY, b""])
def test_changes_of_whole_files_are_the_merges_to_judge(diff: bytes) -> None:
    found = share_present(diff, before={"run.sh": b"a\n"}.get, aim={"run.sh": b"a\n"}.get)
    assert landed(found) is Landed.WHOLE
    assert found.words == "no lines: files change as a whole"


def test_beside_a_whole_file_the_lines_tell() -> None:
    diff = MODE + diff_of(BASE, ADDS, path="f.c")
    assert landed(share_present(diff, before={"f.c": BASE}.get, aim={"f.c": BASE}.get)) is Landed.NONE


NAMED = MODE.partition(b"\n")[2]


@pytest.mark.parametrize(
    ("more", "untold"),
    [
        (BINARY, ("f",)),
        (MODE, ("run.sh",)),
        (diff_of(b"a\nb\n", b"b\na\n", path="swap"), ("swap",)),
        (diff_of(b"a\n", b"a\n{\n}\n", path="braces"), ("braces",)),
        (b"", ()),
    ],
)
def test_all_lines_are_not_all_when_a_file_changes_that_no_line_tells_of(
    more: bytes, untold: tuple[str, ...]
) -> None:
    found = share_present(diff_of(BASE, ADDS) + more, before={"f.c": BASE}.get, aim={"f.c": ADDS}.get)
    assert found.untold == untold
    assert landed(found) is (Landed.LINES if untold else Landed.ALL)
    assert landed(found).retires == (not untold)


def test_a_mode_beside_lines_is_not_told_by_them() -> None:
    diff = diff_of(BASE, ADDS).replace(b"index", NAMED + b"index", 1)
    found = share_present(diff, before={"f.c": BASE}.get, aim={"f.c": ADDS}.get)
    assert (found.present, found.untold, landed(found)) == (2, ("f.c",), Landed.LINES)


def test_without_the_old_file_nothing_is_proven() -> None:
    nothing: dict[str, bytes] = {}
    assert landed(share_present(diff_of(BASE, SPEED), before=nothing.get, aim={"f.c": SPEED}.get)) is Landed.NONE
    assert landed(share_present(SUBMODULE, before=nothing.get, aim=nothing.get)) is Landed.NONE


def test_the_last_line_counts_with_its_end() -> None:
    diff = b"diff --git a/f.c b/f.c\n--- a/f.c\n+++ b/f.c\n@@ -1 +1,2 @@\n a\n+b\n\\ No newline at end of file\n"
    aims = {b"a\nb": Landed.ALL, b"z\nb": Landed.ALL, b"a\nb\n": Landed.NONE, b"a\n": Landed.NONE}
    for aim, verdict in aims.items():
        assert landed(share_present(diff, before={"f.c": b"a\n"}.get, aim={"f.c": aim}.get)) is verdict


def test_a_share_is_plain_json() -> None:
    diff = diff_of(b"a\xff\n", b"b\xff\n", path="f.c")
    found = share_present(diff, before={"f.c": b"a\xff\n"}.get, aim={"f.c": b"a\xff\n"}.get)
    assert json.loads(json.dumps(found.to_json())) == {
        "landed": "none",
        "present": 0,
        "total": 1,
        "removed": 1,
        "missing": [{"path": "f.c", "line": "b\\xff"}],
        "lingering": [{"path": "f.c", "line": "a\\xff"}],
    }


lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"}\n", b"\n"]), max_size=8).map(b"".join)


@given(lines, lines)
def test_a_patch_is_never_missing_from_its_own_result(before: bytes, after: bytes) -> None:
    found = of_one(before, after, after)
    assert not found.missing
    assert not found.lingering
    assert landed(found) in {Landed.ALL, Landed.REMOVED, Landed.UNKNOWN, Landed.WHOLE}


@given(lines, lines)
def test_a_patch_has_not_landed_where_nothing_changed(before: bytes, after: bytes) -> None:
    found = of_one(before, after, before)
    assert found.present == 0
    assert landed(found) in {Landed.NONE, Landed.UNKNOWN, Landed.WHOLE}


@given(numbers=st.lists(st.integers(1, 30), min_size=1, unique=True), kept=st.integers(0, 30))
def test_every_line_that_came_is_counted(numbers: list[int], kept: int) -> None:
    base = numbered(30)
    new = {number: b"speed %d\n" % number for number in numbers}
    chosen = set(numbers[:kept])
    after = b"".join(new.get(at, line) for at, line in enumerate(split(base), start=1))
    aim = b"".join(new[at] if at in chosen else line for at, line in enumerate(split(base), start=1))
    found = of_one(base, after, aim)
    assert (found.present, found.total, found.removed) == (len(chosen), len(numbers), len(numbers))
    assert (len(found.missing), len(found.lingering)) == (len(numbers) - len(chosen),) * 2
