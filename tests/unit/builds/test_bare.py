"""What a server said on a bare system, and what does not count as an answer."""

import tarfile
from pathlib import Path

import pytest

from ci.builds.bare import Used, read_answers, top_of
from ci.errors import ArchiveProblem

VERSION = "::version version: 0.6.0-dev (build 11434, commit b11434-speed.1)"
REPLY = '::reply {"content": "x", "tokens": [5, 7], "timings": {}}'


def test_version_and_tokens_are_read() -> None:
    used = read_answers("a.tar.gz", (VERSION, REPLY), label="b11434-speed.1")
    assert used == Used(version=VERSION.removeprefix("::version "), tokens=(5, 7))


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((REPLY,), "names no b11434-speed.1"),
        ((VERSION.replace("speed.1", "speed.11"), REPLY), "names no b11434-speed.1"),
        (("::version ./llama-server: libggml.so.0: cannot open shared object file",), "cannot open shared object"),
        ((VERSION,), "completes nothing"),
        ((VERSION, "::log model is broken"), "model is broken"),
        ((VERSION, '::reply {"error": {"code": 400}}'), "completes nothing"),
        ((VERSION, "::reply <html>"), "completes nothing"),
        ((), "it says nothing"),
    ],
)
def test_anything_else_is_an_error_that_quotes_what_was_said(lines: tuple[str, ...], words: str) -> None:
    with pytest.raises(ArchiveProblem, match=words):
        read_answers("a.tar.gz", lines, label="b11434-speed.1")


def test_an_empty_archive_has_no_top(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz"):
        pass
    with pytest.raises(ArchiveProblem, match="empty archive"):
        top_of(path)
