"""Folders that look like a build to whoever starts `llama-server` from them."""

import sys
from pathlib import Path

from tests.helpers import fake_llama


def fake_build(folder: Path, *, mark: str = "") -> Path:
    """A build folder whose llama-server is the stand-in; `mark` makes its bytes differ."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "llama-server"
    source = Path(fake_llama.__file__).read_text(encoding="utf-8")
    program.write_text(f"#!{sys.executable} -I\n# {mark}\n{source}", encoding="utf-8")
    program.chmod(0o755)
    return folder
