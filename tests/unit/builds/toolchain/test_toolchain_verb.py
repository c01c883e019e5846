"""The verb: what it answers when there is an image, when there is none, and without an engine."""

import json
from pathlib import Path

import pytest

from ci.builds.engine import Engine
from ci.builds.toolchain.image import ToolchainImage
from ci.console import Console
from ci.errors import EngineMissing, UsageProblem
from ci.home import Home
from ci.verbs import toolchain as verb
from tests.helpers.fake_engine import FakeEngine

IMAGE = ToolchainImage(
    id="sha256:12",
    digest="ab" * 32,
    lane="cu13",
    identity="toolchain ab; clang 16",
    nvcc_archs=("compute_75",),
    base="debian@sha256:34",
    cuda_from="",
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", checkout=tmp_path / "checkout")


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> list[ToolchainImage]:
    """What the engine has; making one puts it there."""
    there: list[ToolchainImage] = []

    def ensure(*_: object, **__: object) -> ToolchainImage:
        there[:] = there or [IMAGE]
        return there[0]

    engine = FakeEngine({}, answer=lambda _: (0, ()))
    monkeypatch.setattr(Engine, "connect", classmethod(lambda cls: engine))
    monkeypatch.setattr(verb, "find_toolchain_image", lambda *_: there[0] if there else None)
    monkeypatch.setattr(verb, "ensure_toolchain", ensure)
    return there


def answered(home: Home, capsys: pytest.CaptureFixture[str], asked: verb.Request) -> dict[str, object]:
    assert verb.toolchain(home, Console(json_output=True), asked) == 0
    document = json.loads(capsys.readouterr().out)
    assert isinstance(document, dict)
    return document


def test_the_image_is_made_once_and_found_then(
    home: Home, images: list[ToolchainImage], capsys: pytest.CaptureFixture[str]
) -> None:
    first = answered(home, capsys, verb.Request())
    assert (first["state"], first["digest"], first["cuda_from"]) == ("built", "ab" * 32, "wheels")
    assert first["archs"] == ["compute_75"]
    assert answered(home, capsys, verb.Request()) == {**first, "state": "found"}
    assert answered(home, capsys, verb.Request(base="debian@sha256:34")) == {**first, "state": "found"}


def test_a_dry_run_lists_the_wheels_and_makes_nothing(
    home: Home, images: list[ToolchainImage], capsys: pytest.CaptureFixture[str]
) -> None:
    document = answered(home, capsys, verb.Request(dry_run=True))
    assert document["state"] == "dry run"
    assert len(str(document["wheels"]).split(",")) == 11
    assert not images
    assert not home.root.exists()


def test_a_dry_run_of_a_lane_with_an_image_says_so(
    home: Home, images: list[ToolchainImage], capsys: pytest.CaptureFixture[str]
) -> None:
    assert verb.toolchain(home, Console(), verb.Request(lane="cu12", dry_run=True)) == 0
    assert "--image" in capsys.readouterr().out


def test_an_unknown_lane_is_refused(home: Home) -> None:
    with pytest.raises(UsageProblem, match="unknown lane 'cu14'"):
        verb.toolchain(home, Console(), verb.Request(lane="cu14"))


def test_without_an_engine_it_says_how_to_get_one(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EngineMissing, match=r"none\.sock") as missing:
        verb.toolchain(home, Console(), verb.Request())
    assert missing.value.exit_code == 6
    assert "docker.io" in missing.value.hint
