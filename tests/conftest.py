"""The seal around every test, and the real builds that integration tests use."""

import os
from pathlib import Path

import pytest

from ci.home import Home

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
