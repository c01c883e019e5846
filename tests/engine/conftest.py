"""A real Docker Engine and the toolchain image in it: engine tests fail without them, they never skip."""

from collections.abc import Iterator

import pytest

from ci.builds.engine import Engine
from ci.builds.target import find_lane
from ci.builds.toolchain.image import ToolchainImage, ensure_toolchain
from ci.console import Console
from ci.errors import SpeedforkError
from ci.home import Home
from tests.conftest import REAL_ENVIRON
from tests.helpers.cuda_project import SmallProject


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """The engine of the person who runs the tests."""
    try:
        reached = Engine.connect(REAL_ENVIRON)
    except SpeedforkError as missing:
        pytest.fail(str(missing))
    with reached:
        yield reached


@pytest.fixture(scope="session")
def toolchain(engine: Engine, real_home: Home) -> ToolchainImage:
    """The toolchain image of lane cu13; made when the engine has none."""
    try:
        return ensure_toolchain(engine, find_lane("cu13"), real_home, Console())
    except SpeedforkError as missing:
        pytest.fail(str(missing))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, real_home: Home) -> SmallProject:
    """A handful of upstream's CUDA files in a repository of its own."""
    return SmallProject(tmp_path_factory.mktemp("project") / "repository", real_home.history)
