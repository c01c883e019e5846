"""Merging many files at once, and beforehand, changes no answer."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from ci.gittree import Entries, Entry
from ci.series.engine.merge_answer import Merged, Note, Stage
from ci.series.engine.texts import Chain, Link, Sides, Texts
from ci.series.engine.threeway import Text

VERSIONS = "abcdef"
versions = st.sampled_from(VERSIONS)


def entry(version: str) -> Entry:
    return Entry("100644", version * 40)


class Merge:
    """Stands for git: equal versions merge, others too when their letters lie at an even distance."""

    def __init__(self) -> None:
        self.trees: dict[str, Entries] = {}
        self.calls: list[int] = []

    def __call__(self, many: Sequence[Sides]) -> Sequence[Merged]:
        return [self._merged(*sides) for sides in many]

    def _merged(self, base: Entries, ours: Entries, theirs: Entries) -> Merged:
        assert base.keys() == ours.keys() == theirs.keys()
        self.calls.append(len(base))
        merged = {name: self._one(base[name], ours[name], theirs[name]) for name in base}
        tree = str(len(self.calls))
        self.trees[tree] = {name: found or Entry("100644", "<" * 40) for name, found in merged.items()}
        clashes = [name for name, found in merged.items() if found is None]
        return Merged(
            clean=not clashes,
            tree=tree,
            stages=tuple(
                Stage(path=name, number=number, mode=side[name].mode, blob=side[name].id)
                for name in clashes
                for number, side in enumerate((base, ours, theirs), start=1)
            ),
            notes=(
                *(Note(paths=(name,), kind="Auto-merging", text=f"Auto-merging {name!r}") for name in base),
                *(Note(paths=(name,), kind="CONFLICT (contents)", text="CONFLICT (content): x") for name in clashes),
            ),
        )

    def _one(self, base: Entry, ours: Entry, theirs: Entry) -> Entry | None:
        at = [VERSIONS.index(side.id[0]) for side in (base, ours, theirs)]
        if base in (ours, theirs) or ours == theirs:
            return theirs if ours == base else ours
        return entry(VERSIONS[sum(at) % len(VERSIONS)]) if (at[1] - at[2]) % 2 == 0 else None

    def read(self, tree: str | None) -> Entries:
        return self.trees[tree or ""]


def texts_of(triples: Sequence[tuple[str, str, str]]) -> tuple[Text, ...]:
    return tuple(
        Text(path=(b"d", b"%d.c" % number), base=entry(base), ours=entry(ours), theirs=entry(theirs))
        for number, (base, ours, theirs) in enumerate(triples)
    )


triples = st.lists(st.tuples(versions, versions, versions), min_size=1, max_size=5)
chains = st.lists(
    st.builds(
        lambda ours, steps: Chain(
            ours=entry(ours),
            links=tuple(Link(base=entry(old), theirs=entry(new)) for old, new in steps),
        ),
        versions,
        st.lists(st.tuples(versions, versions).filter(lambda step: step[0] != step[1]), max_size=5),
    ),
    max_size=6,
)


@given(asked=st.lists(triples, max_size=4), foreseen=chains)
def test_foreseeing_changes_no_answer(asked: list[list[tuple[str, str, str]]], foreseen: list[Chain]) -> None:
    plain, ready = (Texts(merge, merge.read) for merge in (Merge(), Merge()))
    ready.foresee(foreseen)
    for question in map(texts_of, asked):
        one, other = plain.merge(question), ready.merge(question)
        assert (one.entries, one.conflicts) == (other.entries, other.conflicts)
        assert (one.answer is None) == (other.answer is None) == (not one.conflicts)
        if one.answer and other.answer:
            assert (one.answer.stages, one.answer.notes) == (other.answer.stages, other.answer.notes)


@given(triple=triples)
def test_together_gives_what_each_gives_alone(triple: list[tuple[str, str, str]]) -> None:
    together, merge = texts_of(triple), Merge()
    found = Texts(merge, merge.read).merge(together)
    for text in together:
        merge = Merge()
        alone = Texts(merge, merge.read).merge([text])
        assert alone.entries[text.path] == found.entries[text.path]
        assert (text in alone.conflicts) == (text in found.conflicts)


def test_a_chain_is_merged_beforehand_link_by_link_and_all_chains_in_one_round() -> None:
    merge = Merge()
    texts = Texts(merge, merge.read)
    links = (Link(base=entry("a"), theirs=entry("c")), Link(base=entry("c"), theirs=entry("b")))
    texts.foresee([Chain(ours=entry("e"), links=links), Chain(ours=entry("a"), links=links)])
    assert merge.calls == [1, 1]  # a, e, c gives a; then c, a, b does not merge; the other chain needs no merge
    assert texts.merge(texts_of([("a", "e", "c")])).entries == {(b"d", b"0.c"): entry("a")}
    assert merge.calls == [1, 1]
    assert texts.merge(texts_of([("c", "a", "b")])).conflicts
    assert merge.calls == [1, 1, 1]


def test_a_conflict_is_told_with_the_names_of_the_files_alone() -> None:
    merge = Merge()
    question = texts_of([("a", "c", "e"), ("a", "b", "c")])
    found = Texts(merge, merge.read).merge(question)
    assert found.conflicts == question[1:]
    assert found.answer is not None
    assert {stage.path for stage in found.answer.stages} == {b"d/1.c"}
    assert [(note.paths, note.text) for note in found.answer.notes] == [((b"d/1.c",), "CONFLICT (content): d/1.c")]


def test_nothing_is_merged_twice_when_it_was_clean() -> None:
    merge = Merge()
    texts = Texts(merge, merge.read)
    question = texts_of([("a", "c", "e")])
    answers: list[Mapping[tuple[bytes, ...], Entry]] = [texts.merge(question).entries for _ in range(2)]
    assert answers[0] == answers[1]
    assert merge.calls == [1]
