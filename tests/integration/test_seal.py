"""The seal bites: no test sees the settings or secrets of the person who runs it."""

import os
from pathlib import Path


def test_home_is_empty_and_not_the_real_one(sealed: Path) -> None:
    assert Path.home() == sealed
    assert list(sealed.iterdir()) == []


def test_nothing_but_the_bare_needs_is_in_the_environment() -> None:
    allowed = {"PATH", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "PYTEST_CURRENT_TEST", "VIRTUAL_ENV"}
    assert set(os.environ) <= allowed | {"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"}
