"""A lock that knows a draft and its target as checkpoints."""

from pathlib import Path

import pytest

from ci.console import Console
from ci.home import Home
from ci.models.lock import ModelEntry, load_models
from ci.models.pinning import Asked
from ci.verbs import convert_draft as converting
from ci.verbs import models as verbs

ENTRY = (
    '[[model]]\nid = "{id}"\nabout = "made"\nrole = "{role}"\n'
    'licence = "unknown"\nform = "checkpoint"\npair = "p"\n\n'
)
HUB = '[model.hub]\nrepo = "owner/{id}"\n\n'
LOCAL = "[model.local]\n\n"


class Lock:
    """A lock with a draft and its target, and what the verbs make of it."""

    def __init__(self, home: Home, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.path = home, path
        for module in ("models", "convert_draft"):
            monkeypatch.setattr(f"ci.verbs.{module}.load_models", lambda file=path: load_models(file))
        self.write(HUB)

    def write(self, source: str) -> None:
        entries = (("draft", "draft"), ("target", "target"))
        self.path.write_text("".join((ENTRY + source).format(id=name, role=role) for name, role in entries))

    def pin(self, name: str, file: str = "") -> ModelEntry:
        verbs.pin_model(self.home, Console(json_output=True), Asked(model=name, file=file), lock_file=self.path)
        return load_models(self.path)[name]

    def fetch(self, *names: str) -> None:
        assert verbs.fetch_models(self.home, Console(json_output=True), verbs.Wish(names=names)) == 0

    def dry_run(self, draft: str = "draft") -> int:
        asked = converting.Request(draft=draft, target="target", dry_run=True)
        return converting.convert_draft(self.home, Console(json_output=True), asked)
