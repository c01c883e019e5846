"""What the store's table says of a real engine: which cache belongs to which toolchain, and what may go."""

import os
from collections.abc import Iterator

import pytest

from ci.builds.box import Job
from ci.builds.contained import CACHE_LABEL
from ci.builds.engine import Engine
from ci.builds.shelf import Item, Kind
from ci.builds.toolchain.image import ToolchainImage
from ci.console import Console
from ci.verbs.store import removed
from ci.verbs.store_survey import in_engine

OWNER = f"test-store:{os.getpid()}"


@pytest.fixture
def old_cache(engine: Engine) -> Iterator[str]:
    """The cache of a toolchain that no lane has any more."""
    name = f"speedfork-test-store-{os.getpid()}"
    engine.ensure_volume(name, {CACHE_LABEL: f"{os.getpid():064x}"})
    yield name
    if name in engine.volumes(CACHE_LABEL):
        engine.remove_volume(name)


def found(engine: Engine, name: str) -> Item:
    return next(item for item in in_engine(engine) if item.name == name)


def test_the_toolchain_of_a_lane_is_used_and_a_cache_of_none_is_not(
    engine: Engine, toolchain: ToolchainImage, old_cache: str
) -> None:
    image, cache = found(engine, toolchain.id), found(engine, old_cache)
    assert (image.kind, image.used, image.digest) == (Kind.TOOLCHAIN, "lane cu13", toolchain.digest)
    assert image.size
    assert image.size > 1_000_000_000
    assert (cache.kind, cache.used, cache.size) == (Kind.CACHE, "", 0)


def test_a_cache_that_a_container_uses_stays_and_goes_when_it_is_free(
    engine: Engine, toolchain: ToolchainImage, old_cache: str, capsys: pytest.CaptureFixture[str]
) -> None:
    item = found(engine, old_cache)
    job = Job(image=toolchain.id, argv=("true",), owner=OWNER, env={}, volumes={old_cache: "/ccache"})
    with engine.container(job):
        assert not removed(item, Console())
        assert f"kept {old_cache}" in capsys.readouterr().err
    assert removed(item, Console())
    assert old_cache not in engine.volumes(CACHE_LABEL)
