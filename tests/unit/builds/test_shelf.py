"""What may be removed: never what is used, never the newest, always what is damaged or left over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.builds.shelf import Item, Kind, newest, prunable, total


def build(name: str, *, made: float = 0.0, variant: str = "speed", target: str = "cpu", **more: str) -> Item:
    return Item(
        kind=Kind.BUILD,
        name=name,
        about=f"{variant} b7",
        target=target,
        size=10,
        made=made,
        **more,
    )


def names(items: list[Item], keep: int) -> list[str]:
    return [one.item.name for one in prunable(items, keep=keep)]


def test_the_newest_of_each_target_and_variant_stay() -> None:
    items = [build(f"{variant}{n}", made=n, variant=variant) for variant in ("stock", "speed") for n in range(4)]
    items.append(build("other", made=-5, target="sm75-cu13"))
    assert names(items, 2) == ["stock0", "stock1", "speed0", "speed1"]
    assert names(items, 0) == [item.name for item in items]


def test_what_a_record_points_at_stays_however_old() -> None:
    items = [build("old", used="current record"), build("new", made=9.0)]
    assert names(items, 1) == []
    assert names(items, 0) == ["new"]


def test_a_damaged_build_goes_and_takes_no_place_among_the_newest() -> None:
    items = [build("damaged", made=9.0, fault="damaged: x"), build("whole", made=1.0), build("old")]
    assert names(items, 1) == ["damaged", "old"]
    assert prunable(items, keep=1)[0].why == "damaged: x"


@pytest.mark.parametrize("kind", [Kind.CACHE, Kind.TOOLCHAIN])
def test_caches_and_images_go_when_no_lane_uses_them(kind: Kind) -> None:
    items = [
        Item(kind=kind, name="in use", about="", used="lane cu13"),
        Item(kind=kind, name="of another day", about=""),
    ]
    assert names(items, 9) == ["of another day"]


def test_leftovers_go() -> None:
    assert names([Item(kind=Kind.LEFTOVER, name=".x.1.y.part", about="")], 9) == [".x.1.y.part"]


def test_sizes_that_nobody_tells_count_as_nothing() -> None:
    assert total([build("a"), Item(kind=Kind.CACHE, name="b", about="")]) == 10


BUILDS = st.lists(
    st.builds(
        build,
        st.uuids().map(str),
        made=st.floats(0, 9),
        variant=st.sampled_from(["stock", "speed"]),
        target=st.sampled_from(["cpu", "sm75-cu13"]),
        used=st.sampled_from(["", "current record"]),
        fault=st.sampled_from(["", "damaged"]),
    ),
    unique_by=lambda item: item.name,
    max_size=12,
)


@given(items=BUILDS, keep=st.integers(0, 3))
def test_nothing_used_or_among_the_newest_ever_goes(items: list[Item], keep: int) -> None:
    gone = {one.item.name for one in prunable(items, keep=keep)}
    assert not gone & {item.name for item in items if item.used}
    assert not gone & newest(items, keep)
    stays = [item for item in items if item.name not in gone and not item.used]
    assert not [item for item in stays if item.fault]
    for group in {(item.target, item.about) for item in stays}:
        assert len([item for item in stays if (item.target, item.about) == group]) <= keep
