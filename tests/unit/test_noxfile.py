"""The shared environment is installed once per content of pyproject.toml, and again when an install broke off."""

from pathlib import Path
from typing import cast

import nox
import pytest

import noxfile


class Recorder:
    """Stands for a nox session: notes what would be run, and can be told to fail."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.failing = ""

    def log(self, _: str) -> None:
        pass

    def run(self, *words: str, **_: object) -> None:
        kind = "venv" if "venv" in words else "install"
        self.ran.append(kind)
        if kind == self.failing:
            raise RuntimeError(kind)
        noxfile.ENV.mkdir(exist_ok=True)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    (tmp_path / "pyproject.toml").write_text("one")
    monkeypatch.setattr(noxfile, "ROOT", tmp_path)
    monkeypatch.setattr(noxfile, "ENV", tmp_path / "env")
    return Recorder()


def prepare(session: Recorder) -> list[str]:
    session.ran.clear()
    noxfile.prepare(cast("nox.Session", session))
    return session.ran


def test_a_second_session_installs_nothing(session: Recorder) -> None:
    assert prepare(session) == ["venv", "install"]
    assert prepare(session) == []


def test_a_changed_pyproject_installs_again(session: Recorder) -> None:
    prepare(session)
    (noxfile.ROOT / "pyproject.toml").write_text("two")
    assert prepare(session) == ["venv", "install"]


@pytest.mark.parametrize("step", ["venv", "install"])
def test_a_broken_install_is_done_again(session: Recorder, step: str) -> None:
    prepare(session)
    (noxfile.ROOT / "pyproject.toml").write_text("two")
    session.failing = step
    with pytest.raises(RuntimeError):
        prepare(session)
    session.failing = ""
    assert prepare(session) == ["venv", "install"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["sm120", "--files"], ["--target", "sm120", "--files"]),
        (["--target", "sm75"], ["--target", "sm75"]),
        ([], []),
    ],
)
def test_a_target_may_be_named_alone(words: list[str], named: list[str]) -> None:
    assert noxfile.named_target(words) == named


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["a.tar.gz"], ["--file", "a.tar.gz"]),
        (["a", "b", "--json"], ["--file", "a", "--file", "b", "--json"]),
        (["--target", "sm75", "--lane", "cu13", "a"], ["--target", "sm75", "--lane", "cu13", "--file", "a"]),
        (["--file", "a", "--target=sm75", "b"], ["--file", "a", "--target=sm75", "--file", "b"]),
        ([], []),
    ],
)
def test_plain_words_of_an_audit_are_its_files(words: list[str], named: list[str]) -> None:
    assert noxfile.named_files(words) == named
