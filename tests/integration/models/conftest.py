"""A home whose downloads do not wait between tries, and a host that sends a hub's bytes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ci.home import Home
from ci.models.sources import transfer
from tests.helpers.file_sites import Site, serving
from tests.helpers.made_models import home_at


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(transfer, "WAITS_S", (0.0, 0.0, 0.0))
    return home_at(tmp_path)


@pytest.fixture
def cdn() -> Iterator[Site]:
    with serving(Site()) as running:
        yield running
