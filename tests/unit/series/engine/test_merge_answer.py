"""Answers of `git merge-tree` are read whole or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.series.engine.merge_answer import Merged, Note, Stage, parse_answer

IDS = st.text("0123456789abcdef", min_size=40, max_size=40)
WORDS = st.text("ab c\n:1", min_size=1, max_size=9)
PATHS = st.binary(min_size=1, max_size=6).map(lambda path: path.replace(b"\0", b"0").replace(b"\t", b"t"))

stages = st.builds(
    Stage, path=PATHS, number=st.integers(1, 3), mode=st.sampled_from(["100644", "100755", "120000"]), blob=IDS
)
notes = st.builds(
    Note,
    paths=st.lists(PATHS, min_size=1, max_size=3).map(tuple),
    kind=st.sampled_from(["Auto-merging", "CONFLICT (contents)", "CONFLICT (rename/delete)"]),
    text=WORDS.map(lambda text: text.rstrip("\n")),
)
clean = st.builds(Merged, clean=st.just(True), tree=IDS)
conflicts = st.builds(
    Merged,
    clean=st.just(False),
    tree=IDS,
    stages=st.lists(stages, max_size=4).map(tuple),
    notes=st.lists(notes, max_size=4).map(tuple),
)


def said(merged: Merged) -> bytes:
    """The answer as git writes it."""
    words = [b"1" if merged.clean else b"0", merged.tree.encode()]
    words += [b"%s %s %d\t%s" % (s.mode.encode(), s.blob.encode(), s.number, s.path) for s in merged.stages]
    words.append(b"")
    for note in merged.notes:
        words += [b"%d" % len(note.paths), *note.paths, note.kind.encode(), note.text.encode() + b"\n"]
    return b"".join(word + b"\0" for word in ([*words, b""] if not merged.clean else words))


@given(merged=clean | conflicts)
def test_an_answer_counts_only_when_it_is_whole(merged: Merged) -> None:
    answer = said(merged)
    assert parse_answer(answer) == merged
    assert [parse_answer(answer[:end]) for end in range(len(answer))] == [None] * len(answer)


@pytest.mark.parametrize(
    ("kind", "is_conflict"),
    [
        ("CONFLICT (contents)", True),
        ("CONFLICT (binary)", True),
        ("Auto-merging", False),
        ("Skipped submodule", False),
    ],
)
def test_notes_of_conflicts_are_told_from_others(kind: str, is_conflict: bool) -> None:
    assert Note(paths=(b"f",), kind=kind, text="").is_conflict == is_conflict
