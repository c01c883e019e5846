"""The archive stage: both builds packed under the names that users see, and nothing of a build that was changed."""

from pathlib import Path

import pytest

from ci.builds.archive import unpack
from ci.builds.store import Build, load_build
from ci.builds.toolchain.image import ToolchainImage
from ci.console import Console
from ci.errors import DigestMismatch, EngineProblem, UsageProblem
from ci.home import Home
from ci.stage import Context, Options
from ci.stages import archive
from ci.stages.values import Archived, Built, Companion, Rebased
from tests.helpers.made_build import made_build, made_key

NAMES = ("llama-b7-speed.1-bin-linux-cpu-x64.tar.gz", "llama-b7-stock-bin-linux-cpu-x64.tar.gz")


def context_of(home: Home, stock: Build, speed: Build, *, target: str = "sm75") -> Context:
    built = Built(stock=stock.path, stock_digest=stock.digest, speed=speed.path, speed_digest=speed.digest)
    rebased = Rebased(release="b7-speed.1", onto="b7", head="c" * 40, tree="d" * 40, patches=())
    return Context(home=home, console=Console(), options=Options(target=target), values=(rebased, built))


@pytest.fixture
def builds(tmp_path: Path) -> tuple[Build, Build]:
    return made_build(tmp_path, made_key(variant="stock", label="b7", tree="cd" * 20)), made_build(tmp_path)


@pytest.fixture
def context(builds: tuple[Build, Build], tmp_path: Path) -> Context:
    return context_of(Home(root=tmp_path, checkout=tmp_path), *builds)


def test_both_are_packed_speed_first_and_can_be_unpacked(
    context: Context, builds: tuple[Build, Build], tmp_path: Path
) -> None:
    result = archive.run(context)
    assert isinstance(result.value, Archived)
    assert result.value.archives == NAMES
    assert result.made == tuple(tmp_path / "out" / "builds" / "b7-speed.1" / name for name in NAMES)
    for made, build in zip(result.made, reversed(builds), strict=True):
        assert load_build(unpack(made, tmp_path / "unpacked" / made.name), check=True).digest == build.digest


@pytest.mark.parametrize("variant", ["stock", "speed"])
def test_a_build_that_was_changed_is_not_packed(
    context: Context, builds: tuple[Build, Build], variant: str, tmp_path: Path
) -> None:
    build = next(build for build in builds if build.variant == variant)
    (build.path / "llama-server").write_bytes(b"\x7fELF another")
    with pytest.raises(DigestMismatch, match="llama-server"):
        archive.run(context)
    name = next(name for name in NAMES if variant in name)
    assert not (tmp_path / "out" / "builds" / "b7-speed.1" / name).exists()


def test_other_bytes_are_other_inputs(context: Context, builds: tuple[Build, Build]) -> None:
    stock, speed = builds
    other = context_of(context.home, stock, made_build(context.home.root, made_key(tree="ef" * 20), {"x": b"1"}))
    assert archive.plan(context) == archive.plan(context_of(context.home, stock, speed))
    assert archive.plan(context) != archive.plan(other)


def test_a_target_without_a_lane_has_no_companion(context: Context, builds: tuple[Build, Build]) -> None:
    with pytest.raises(UsageProblem, match="target cpu needs no companion libraries"):
        archive.lane_of(context_of(context.home, *builds, target="cpu"))


class NoEngine:
    """In the engine's place: nothing is asked of it here."""

    @classmethod
    def connect(cls) -> "NoEngine":
        return cls()

    def __enter__(self) -> "NoEngine":
        return self

    def __exit__(self, *_: object) -> None:
        pass


TOOLCHAIN = ToolchainImage(
    id="sha256:1", digest="a" * 64, lane="cu13", identity="tools", nvcc_archs=(), base="sha256:2", cuda_from=""
)


@pytest.fixture
def archived(context: Context, monkeypatch: pytest.MonkeyPatch) -> Context:
    """After the archives, with a toolchain image that nobody made."""
    monkeypatch.setattr(archive, "Engine", NoEngine)
    monkeypatch.setattr(archive, "toolchain_image", lambda *_: TOOLCHAIN)
    monkeypatch.setattr(archive, "image_of", lambda _: TOOLCHAIN)
    values = (*context.values, Archived(folder=context.home.out, archives=NAMES))
    return Context(home=context.home, console=context.console, options=context.options, values=values)


def test_libraries_that_cannot_be_had_leave_no_archive_and_no_scratch(
    archived: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(*args: object, owner: str) -> None:
        scratch = args[-1]
        assert isinstance(scratch, Path)
        scratch.mkdir(parents=True)
        (scratch / "libcudart.so.13").touch()
        raise EngineProblem("the toolchain image of cu13 lacks libraries of its lane")

    monkeypatch.setattr(archive, "fetch_companions", half)
    with pytest.raises(EngineProblem, match="lacks libraries"):
        archive.run_companion(archived)
    assert not list(archived.home.work.rglob("*"))
    assert not list(archived.home.out.glob("cudart*"))


def test_the_companion_is_what_was_packed(archived: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = archived.home.out / "cudart-cu13-linux-x64.tar.gz"
    monkeypatch.setattr(archive, "fetch_companions", lambda *_, **__: None)
    monkeypatch.setattr(archive, "pack_companion", lambda *_: packed)
    result = archive.run_companion(archived)
    assert (result.value, result.made) == (Companion(archive=packed), (packed,))
    assert archive.plan_companion(archived)["toolchain"] == TOOLCHAIN.digest


def test_a_description_that_says_more_is_packed_again(context: Context, builds: tuple[Build, Build]) -> None:
    """The same files, with a `build.json` that states a minimum driver: the archive holds that file too."""
    before = archive.plan(context)
    described = builds[1].path / "build.json"
    described.write_text(described.read_text().replace('"minimum_driver": ""', '"minimum_driver": "580"'))
    assert archive.plan(context) != before
