"""What each kind of difference needs, on plain dictionaries as trees."""

from collections.abc import Mapping

import pytest

from ci.gittree import FOLDER, Entries, Entry
from ci.series.engine.threeway import Plan, find, joined, plan, touched

A, B, C, D = (Entry("100644", letter * 40) for letter in "abcd")
LINK = Entry("120000", "a" * 40)
MODULE = Entry("160000", "a" * 40)
RUN = Entry("100755", "a" * 40)

Files = Mapping[str, Entry]


class Trees:
    """Trees by id; the id of a tree is its content in words."""

    def __init__(self) -> None:
        self.known: dict[str, Entries] = {}
        self.entered: list[str] = []

    def read(self, tree: str | None) -> Entries:
        if tree is None:
            return {}
        self.entered.append(tree)
        return self.known[tree]

    def of(self, files: Files) -> str:
        entries: dict[bytes, Entry] = {}
        folders: dict[str, dict[str, Entry]] = {}
        for path, entry in files.items():
            first, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(first, {})[rest] = entry
            else:
                entries[first.encode()] = entry
        entries |= {name.encode(): Entry(FOLDER, self.of(inner)) for name, inner in folders.items()}
        name = repr(sorted(entries.items()))
        self.known[name] = entries
        return name


def planned(base: Files, ours: Files, theirs: Files) -> Plan:
    trees = Trees()
    at_base, at_ours, at_theirs = (trees.of({"k": D, **side}) for side in (base, ours, theirs))
    return plan(trees.read, at_base, at_ours, at_theirs, touched(trees.read, at_base, at_theirs))


def words(found: Plan) -> dict[str, list[str]]:
    """The paths by what they need; kinds that nothing needs are left out."""
    kinds = {
        "splice": found.splices,
        "same": found.same,
        "text": [text.path for text in found.texts],
        "structural": found.structural,
    }
    return {kind: [joined(path).decode() for path in paths] for kind, paths in kinds.items() if paths}


NEEDS: Mapping[str, tuple[Files, Files, Files, dict[str, list[str]]]] = {
    "nothing changed": ({"f": A}, {"f": B}, {"f": A}, {}),
    "only the patch changed it": ({"f": A}, {"f": A}, {"f": B}, {"splice": ["f"]}),
    "a new file": ({"d/f": A}, {"d/f": B}, {"d/f": A, "d/n": C}, {"splice": ["d/n"]}),
    "a new folder": ({}, {}, {"d/n": C}, {"splice": ["d/n"]}),
    "a deletion": ({"f": A}, {"f": A}, {}, {"splice": ["f"]}),
    "a folder emptied": ({"d/f": A}, {"d/f": A}, {}, {"splice": ["d/f"]}),
    "a file becomes a link": ({"f": A}, {"f": A}, {"f": LINK}, {"splice": ["f"]}),
    "a submodule moves": ({"f": MODULE}, {"f": MODULE}, {"f": MODULE._replace(id=B.id)}, {"splice": ["f"]}),
    "both did the same": ({"f": A}, {"f": B}, {"f": B}, {"same": ["f"]}),
    "both changed it": ({"f": A}, {"f": B}, {"f": C}, {"text": ["f"]}),
    "one changed the mode, one the text": ({"f": A}, {"f": RUN}, {"f": C}, {"text": ["f"]}),
    "upstream deleted it": ({"f": A}, {}, {"f": B}, {"structural": ["f"]}),
    "the patch deleted it, upstream changed it": ({"f": A}, {"f": B}, {}, {"structural": ["f"]}),
    "both deleted it": ({"f": A}, {}, {}, {"structural": ["f"]}),
    "both added it alike": ({}, {"n": A}, {"n": A}, {"structural": ["n"]}),
    "both added it": ({}, {"n": A}, {"n": B}, {"structural": ["n"]}),
    "upstream made it a link": ({"f": A}, {"f": LINK}, {"f": B}, {"structural": ["f"]}),
    "the patch made it a link, upstream changed it": ({"f": A}, {"f": B}, {"f": LINK}, {"structural": ["f"]}),
    "upstream made it a submodule": ({"f": A}, {"f": MODULE}, {"f": B}, {"structural": ["f"]}),
    "upstream has a folder there": ({"f": A}, {"f/x": A}, {"f": B}, {"structural": ["f"]}),
    "a new file in a folder that upstream made a file": ({}, {"d": A}, {"d/n": B}, {"structural": ["d/n"]}),
    "a new file in a folder that upstream took away": (
        {"d/f": A},
        {"e/f": A},
        {"d/f": A, "d/n": B},
        {"structural": ["d/n"]},
    ),
    "the same one level up": (
        {"d/e/f": A},
        {"x/e/f": A},
        {"d/e/f": A, "d/n/n": B},
        {"structural": ["d/n/n"]},
    ),
    "the patch takes a folder away, upstream added to it": (
        {"d/f": A},
        {"d/f": A, "d/n": B},
        {"e/f": A},
        {"structural": ["d/f"], "splice": ["e/f"]},
    ),
    "the patch takes a folder away": ({"d/f": A}, {"d/f": A}, {"e/f": A}, {"splice": ["d/f", "e/f"]}),
    "a folder becomes a file": ({"d/f": A}, {"d/f": A}, {"d": B}, {"splice": ["d/f"], "structural": ["d"]}),
}


@pytest.mark.parametrize("name", NEEDS)
def test_every_kind_of_difference_gets_what_it_needs(name: str) -> None:
    base, ours, theirs, needs = NEEDS[name]
    assert words(planned(base, ours, theirs)) == needs


def test_a_splice_carries_the_patch_s_entry_and_a_text_all_three() -> None:
    found = planned({"f": A, "g": A, "h": A}, {"f": A, "g": B, "h": A}, {"f": RUN, "g": C})
    assert found.splices == {(b"f",): RUN, (b"h",): None}
    (text,) = found.texts
    assert (text.path, text.base, text.ours, text.theirs) == ((b"g",), A, B, C)


def test_equal_folders_are_not_entered() -> None:
    trees = Trees()
    big = {f"big/{number}": A for number in range(9)}
    before, after = trees.of({**big, "f": A}), trees.of({**big, "f": B})
    assert [file.path for file in touched(trees.read, before, after)] == [(b"f",)]
    assert set(trees.entered) == {before, after}


def test_a_file_and_a_folder_of_one_name_are_two_differences() -> None:
    trees = Trees()
    found = list(touched(trees.read, trees.of({"d/f": A}), trees.of({"d": B})))
    assert [(file.path, file.base, file.theirs) for file in found] == [((b"d", b"f"), A, None), ((b"d",), None, B)]


def test_find_goes_through_folders_only() -> None:
    trees = Trees()
    tree = trees.of({"d/e/f": A, "l": LINK})
    assert find(trees.read, tree, (b"d", b"e", b"f")) == A
    assert find(trees.read, tree, (b"d", b"e")) == Entry(FOLDER, trees.of({"f": A}))
    assert find(trees.read, tree, (b"l", b"f")) is None
    assert find(trees.read, tree, (b"x", b"f")) is None
