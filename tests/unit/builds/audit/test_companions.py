"""A companion archive's description: every way in which it does not fit its files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ci.builds.audit.companions import DESCRIPTION, described
from ci.builds.target import find_lane
from ci.digest import sha256_bytes
from ci.outcome import Verdict

LANE = find_lane("cu13")
FILES = {"libcudart.so.13": b"library", "LICENSE-nvidia-cuda-runtime": b"terms"}


def make(folder: Path) -> dict[str, Any]:
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    listed = {name: {"sha256": sha256_bytes(content), "size": len(content)} for name, content in FILES.items()}
    return {"lane": "cu13", "minimum_driver": "580", "files": listed}


def told(folder: Path, about: object) -> str:
    (folder / DESCRIPTION).write_text(json.dumps(about))
    finding = described(folder, LANE)
    assert (finding.verdict is Verdict.PASS) == (finding.file == "")
    return finding.found


def test_a_description_that_fits(tmp_path: Path) -> None:
    assert told(tmp_path, make(tmp_path)) == "cu13, driver 580 or newer"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder, about: about.update(lane="cu12"), "lane 'cu12', not 'cu13'"),
        (lambda folder, about: about.pop("minimum_driver"), "minimum_driver None, not '580'"),
        (lambda folder, about: about.update(files=[]), "no list of files"),
        (
            lambda folder, about: (folder / "libcudart.so.13").write_bytes(b"Library"),
            "libcudart.so.13 has other bytes",
        ),
        (lambda folder, about: (folder / "libcudart.so.13").unlink(), "libcudart.so.13 is missing"),
        (lambda folder, about: (folder / "notes.txt").touch(), "notes.txt is not listed"),
        (lambda folder, about: about["files"].update({"libcudart.so.13": 1}), "libcudart.so.13 has other bytes"),
    ],
)
def test_one_that_does_not(tmp_path: Path, spoil: Callable[[Path, dict[str, Any]], object], words: str) -> None:
    about = make(tmp_path)
    spoil(tmp_path, about)
    assert told(tmp_path, about) == words


@pytest.mark.parametrize(
    ("text", "words"), [(b"[]", "no JSON object"), (b"{", "no JSON object"), (None, "not there")]
)
def test_none_at_all(tmp_path: Path, text: bytes | None, words: str) -> None:
    make(tmp_path)
    if text is not None:
        (tmp_path / DESCRIPTION).write_bytes(text)
    finding = described(tmp_path, LANE)
    assert (finding.verdict, finding.found.startswith(words)) == (Verdict.FAIL, True)
