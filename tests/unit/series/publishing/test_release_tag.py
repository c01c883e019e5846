"""The bytes of a release's tag."""

import dataclasses

from ci.git import SIGNATURE
from ci.release.version import ReleaseId
from ci.series.publishing.release_tag import ReleaseTag, TaggedPatch

TAG = ReleaseTag(
    release=ReleaseId.parse("b100-speed.3"),
    head="a" * 40,
    tree="b" * 40,
    base_tree="c" * 40,
    patches=(
        TaggedPatch(id="first", subject="Make it fast", patch_id="1" * 40),
        TaggedPatch(id="second", subject="Make it\n  faster\tstill", patch_id="2" * 40),
    ),
)


def test_the_whole_object() -> None:
    assert TAG.raw(tagger=SIGNATURE).decode() == (
        f"object {'a' * 40}\ntype commit\ntag b100-speed.3\n"
        "tagger speedfork <speedfork@example.org> 1700000000 +0000\n\n"
        "b100-speed.3: 2 speed patches on llama.cpp b100\n\n"
        f"Base: b100\nBase-Tree: {'c' * 40}\nSpeed-Tree: {'b' * 40}\n\n"
        f"{'1' * 40} first: Make it fast\n{'2' * 40} second: Make it faster still\n"
    )


def test_one_patch_is_not_two() -> None:
    alone = dataclasses.replace(TAG, patches=TAG.patches[:1])
    assert "1 speed patch on" in alone.message()


def test_a_subject_that_is_no_text_still_gives_bytes() -> None:
    odd = TaggedPatch(id="odd", subject="caf\udce9", patch_id="3" * 40)
    assert b"odd: caf?\n" in dataclasses.replace(TAG, patches=(odd,)).raw(tagger=SIGNATURE)
