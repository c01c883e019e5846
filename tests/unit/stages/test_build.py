"""The build stage in containers: no image says what to type, and both builds get the same one."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from ci.builds.request import BuildRequest
from ci.builds.target import find_lane
from ci.builds.toolchain.image import ToolchainImage
from ci.console import Console
from ci.errors import ToolMissing
from ci.home import Home
from ci.stage import Context, Options
from ci.stages import build
from ci.stages.values import Rebased, Synced
from tests.helpers.fake_engine import FakeEngine
from tests.helpers.made_build import made_build

CU13 = find_lane("cu13")


def engine() -> FakeEngine:
    return FakeEngine({}, answer=lambda _: (0, ()))


def test_without_the_image_the_command_that_makes_it_is_named() -> None:
    with pytest.raises(ToolMissing, match="no toolchain image for lane cu13") as caught:
        build.toolchain_image(engine(), CU13)
    assert caught.value.hint == "invoke toolchain --lane cu13"


def test_both_builds_are_made_with_one_image_whatever_gets_its_name_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[str, object]] = []
    made = made_build(tmp_path)

    def contained(_: object, asked: BuildRequest, *rest: object, **__: object) -> SimpleNamespace:
        given.append((asked.variant, rest[-1]))
        return SimpleNamespace(build=made, counts=None)

    images = iter(
        ToolchainImage(
            id=f"sha256:{n}", digest=n * 64, lane="cu13", identity=n, nvcc_archs=(), base="b", cuda_from=""
        )
        for n in "12"
    )
    monkeypatch.setattr(build, "Engine", SimpleNamespace(connect=SimpleEngine))
    monkeypatch.setattr(build, "toolchain_image", lambda *_: next(images))
    monkeypatch.setattr(build, "build_contained", contained)
    values = (
        Synced(onto="b7", onto_tree="b" * 40, base="b7", base_tree="b" * 40),
        Rebased(release="b7-speed.1", onto="b7", head="c" * 40, tree="d" * 40, patches=()),
    )
    context = Context(
        home=Home(root=tmp_path, checkout=tmp_path),
        console=Console(),
        options=Options(target="sm75", lane="cu13"),
        values=values,
    )
    assert len(build.in_containers(context, CU13)) == 2
    assert [variant for variant, _ in given] == ["stock", "speed"]
    assert given[0][1] is given[1][1]


class SimpleEngine:
    """Answers nothing: what would ask it is replaced."""

    def __enter__(self) -> "SimpleEngine":
        return self

    def __exit__(self, *_: object) -> None:
        pass
