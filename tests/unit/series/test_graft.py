"""What `touched` finds between two trees, `graft` puts onto the first: that gives the second."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from ci.gittree import FOLDER, Entries, Entry
from ci.series.engine.threeway import Path, graft, touched

A, B = (Entry("100644", letter * 40) for letter in "ab")


class Store:
    """Trees by id, in memory; the empty tree is None, as for git a folder cannot be empty."""

    def __init__(self) -> None:
        self._trees: dict[str, Entries] = {}

    def read(self, tree: str | None) -> Entries:
        return self._trees[tree] if tree else {}

    def write(self, entries: Entries) -> str:
        name = repr(sorted(entries.items()))
        self._trees[name] = dict(entries)
        return name

    def tree(self, files: Mapping[Path, Entry]) -> str | None:
        """The tree with these files; one below another one's path is left out."""
        folders: dict[bytes, dict[Path, Entry]] = {}
        entries = {path[0]: entry for path, entry in files.items() if len(path) == 1}
        for path, entry in files.items():
            if path[0] not in entries:
                folders.setdefault(path[0], {})[path[1:]] = entry
        for name, inner in folders.items():
            below = self.tree(inner)
            entries |= {name: Entry(FOLDER, below)} if below else {}
        return self.write(entries) if entries else None


def moved(before: Mapping[Path, Entry], after: Mapping[Path, Entry]) -> tuple[str | None, str | None]:
    """What `graft` makes of `before`, and what it should be."""
    store = Store()
    old, new = store.tree(before), store.tree(after)
    changes = {file.path: file.theirs for file in touched(store.read, old, new)}
    return graft(store.read, store.write, old, changes), new


PATHS = st.lists(st.sampled_from((b"d", b"e", b"f")), min_size=1, max_size=3).map(tuple)
FILES = st.dictionaries(PATHS, st.sampled_from((A, B)), max_size=5)


def test_a_file_takes_the_place_of_a_folder() -> None:
    ours, expected = moved({(b"d", b"inner"): A}, {(b"d",): B})
    assert ours == expected is not None


def test_a_folder_takes_the_place_of_a_file() -> None:
    ours, expected = moved({(b"d",): A}, {(b"d", b"inner"): B})
    assert ours == expected is not None


@given(before=FILES, after=FILES)
def test_the_difference_of_two_trees_leads_from_one_to_the_other(
    before: Mapping[Path, Entry], after: Mapping[Path, Entry]
) -> None:
    ours, expected = moved(before, after)
    assert ours == expected
