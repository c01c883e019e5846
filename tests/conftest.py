"""The seal around every test, and the real builds that integration tests use."""

import os
from pathlib import Path

import pytest

from ci.builds.store import Build, load_build
from ci.console import Console
from ci.home import Home
from ci.pipeline import UP_TO_BUILD
from ci.records import find_record
from ci.stage import Context, Options
from ci.stages.values import Built

CHECKOUT = Path(__file__).parents[1]
REAL_ENVIRON = dict(os.environ)
KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "PYTEST_CURRENT_TEST", "VIRTUAL_ENV")


@pytest.fixture(autouse=True)
def sealed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HOME, no tokens, no settings of the person who runs the tests."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name not in KEPT:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    return home


@pytest.fixture(scope="session")
def real_home() -> Home:
    """The state directory that `invoke build` filled."""
    return Home.find(CHECKOUT, REAL_ENVIRON)


@pytest.fixture(scope="session")
def real_context(real_home: Home) -> Context:
    """The pipeline as far as the builds, from its records; a test without its parts fails."""
    context = Context(home=real_home, console=Console(), options=Options())
    for stage in UP_TO_BUILD:
        kept = find_record(stage, context)
        if kept is None:
            pytest.fail(f"no current {stage.name} in {real_home.root}: run `invoke build` first")
        context = context.after(*kept)
    return context


@pytest.fixture(scope="session")
def stock_build(real_context: Context) -> Build:
    """The real stock build of the current pipeline."""
    return load_build(real_context.value(Built).stock)


@pytest.fixture(scope="session")
def speed_build(real_context: Context) -> Build:
    """The real speed build of the current pipeline."""
    return load_build(real_context.value(Built).speed)
