"""When a toolchain image is made, when the one that is there will do, and what its labels say."""

import io
import shutil
import tarfile
from pathlib import Path

import pytest

from ci.builds.box import Job
from ci.builds.engine import Image
from ci.builds.target import find_lane
from ci.builds.toolchain import assemble, image
from ci.builds.toolchain.base import IMPORTED
from ci.builds.toolchain.image import LABEL, ToolchainImage, ensure_toolchain, find_toolchain_image, image_tag
from ci.builds.toolchain.lock import Parts
from ci.builds.toolchain.probe import VERSIONS
from ci.console import Console
from ci.errors import EngineProblem, UsageProblem
from ci.home import Home
from tests.helpers.fake_engine import Answer, FakeEngine, image_id
from tests.helpers.wheels import TERMS, make_wheel, parts_of

CU13, CU12 = find_lane("cu13"), find_lane("cu12")
TAG = image_tag("cu13")
DIGEST = "cd" * 32
PROBED = (f"digest {DIGEST}", *(f"{name} 1.0" for name in VERSIONS), "arch compute_75")
CUDA_IMAGE = image_id(50)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", checkout=tmp_path / "checkout")


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One small wheel stands for all; notes which were asked for."""
    members = {"nvidia/cu13/bin/nvcc": b"", **TERMS}
    wheel, path = make_wheel(tmp_path, members, take={"nvidia/cu13/": "cuda/"})
    asked: list[str] = []

    def download(project: str, filename: str, sha256: str, dest: Path, *_: object) -> Path:
        asked.append(filename)
        dest.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(path, dest / filename))

    monkeypatch.setattr(assemble, "download", download)
    monkeypatch.setattr(image, "load_parts", lambda lane: parts_of(wheel))
    return asked


def answer(job: Job) -> Answer:
    return (0, PROBED) if job.user == "0:0" else (0, ("system debian 11",))


def new_engine() -> FakeEngine:
    images = {IMPORTED: 1, "other:1": 2, CUDA_IMAGE: 50}
    return FakeEngine({name: Image(id=image_id(n), labels={}, size=1) for name, n in images.items()}, answer=answer)


def ensure(engine: FakeEngine, home: Home, **asked: str) -> ToolchainImage:
    return ensure_toolchain(engine, CU13, home, Console(), **asked)


@pytest.mark.usefixtures("fetched")
def test_an_image_is_made_measured_and_labelled(home: Home) -> None:
    engine = new_engine()
    made = ensure(engine, home)
    assert (made.digest, made.lane, made.nvcc_archs) == (DIGEST, "cu13", ("compute_75",))
    assert (made.base, made.cuda_from) == (image_id(1), "")
    assert made.identity.startswith(f"toolchain {DIGEST}; clang 1.0; gcc 1.0; nvcc 1.0")
    labels = engine.local[TAG].labels
    assert {labels[f"{LABEL}.{name}"] for name in ("lane", "kind")} == {"cu13", "wheels"}
    assert labels[f"{LABEL}.cuda"] == "1.0"
    unmeasured, named = (tag for _, tag, _, _ in engine.builds)
    assert named == TAG != unmeasured
    assert [network for _, _, _, network in engine.builds] == [False, False]


@pytest.mark.usefixtures("fetched")
def test_nothing_else_is_left(home: Home) -> None:
    engine = new_engine()
    ensure(engine, home)
    assert set(engine.local) == {IMPORTED, "other:1", CUDA_IMAGE, TAG}
    assert not list(home.work.iterdir())
    assert len(engine.orphans) == 1


def test_the_second_time_nothing_is_built_or_fetched(home: Home, fetched: list[str]) -> None:
    engine = new_engine()
    first = ensure(engine, home)
    builds, jobs, files = len(engine.builds), len(engine.jobs), len(fetched)
    del engine.local[IMPORTED]  # it needs no base either
    assert ensure(engine, home) == first == find_toolchain_image(engine, CU13)
    assert (len(engine.builds), len(engine.jobs), len(fetched)) == (builds, jobs, files)


@pytest.mark.usefixtures("fetched")
def test_another_base_is_another_image(home: Home) -> None:
    engine = new_engine()
    ensure(engine, home)
    assert ensure(engine, home, base="other:1").base == image_id(2)
    builds = len(engine.builds)
    ensure(engine, home, base="other:1")
    ensure(engine, home, base=image_id(2))
    ensure(engine, home)  # nothing asked for: the one that is there will do
    assert len(engine.builds) == builds


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", "no digest"),
        (".lane", "cu12"),
        (".kind", "image"),
        (".inputs", "0" * 64),
        (".identity", ""),
        (".archs", ""),
        (".base", ""),
    ],
)
@pytest.mark.usefixtures("fetched")
def test_an_image_with_other_labels_is_made_anew(home: Home, name: str, value: str) -> None:
    engine = new_engine()
    ensure(engine, home)
    labels = {**engine.local[TAG].labels, LABEL + name: value}
    engine.local[TAG] = Image(id=image_id(77), labels=labels, size=1)
    assert find_toolchain_image(engine, CU13) is None
    assert ensure(engine, home).id != image_id(77)


@pytest.mark.usefixtures("fetched")
def test_other_parts_are_another_image(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = new_engine()
    ensure(engine, home)

    def linked(lane: object) -> Parts:
        return parts_of(links={"cuda/lib64": "lib"})

    monkeypatch.setattr(image, "load_parts", linked)
    assert find_toolchain_image(engine, CU13) is None


@pytest.mark.usefixtures("fetched")
def test_compilers_that_the_base_lacks_are_installed_over_the_network(home: Home) -> None:
    engine = new_engine()
    lacking: Answer = (0, ("system debian 11", "lacks clang-16"))
    engine.__dict__["answer"] = lambda job: answer(job) if job.user == "0:0" else lacking
    ensure(engine, home)
    assert [network for _, _, _, network in engine.builds] == [True, False]
    assert "apt-get install -y --no-install-recommends build-essential ca-certificates clang-16" in dockerfile(engine)


@pytest.mark.usefixtures("fetched")
def test_the_recipe_of_wheels_copies_nothing_from_other_images(home: Home) -> None:
    engine = new_engine()
    ensure(engine, home)
    lines = dockerfile(engine).splitlines()
    assert lines[:2] == [f"FROM {image_id(1)}", "COPY root/ /"]
    assert "-Wl,-soname,libcuda.so.1 " in lines[2]
    assert "apt-get" not in "".join(lines)


@pytest.mark.usefixtures("fetched")
def test_cuda_is_copied_from_the_image_that_was_named(home: Home) -> None:
    engine = new_engine()
    made = ensure_toolchain(engine, CU12, home, Console(), image=CUDA_IMAGE)
    assert made.cuda_from == CUDA_IMAGE
    assert f"COPY --from={CUDA_IMAGE} /usr/local/cuda/ /opt/cuda/" in dockerfile(engine)
    assert engine.local[image_tag("cu12")].labels[f"{LABEL}.kind"] == "image"
    builds = len(engine.builds)
    assert ensure_toolchain(engine, CU12, home, Console()) == made
    assert len(engine.builds) == builds


def test_an_image_that_does_not_fit_is_refused_before_anything_else(home: Home, fetched: list[str]) -> None:
    engine = new_engine()
    ensure(engine, home)
    del fetched[:]
    with pytest.raises(UsageProblem, match="takes CUDA from wheels"):
        ensure(engine, home, image=CUDA_IMAGE)
    with pytest.raises(UsageProblem, match="none was named"):
        ensure_toolchain(engine, CU12, home, Console())
    assert not fetched


@pytest.mark.parametrize("probe", [(1, ("nvcc: not found",)), (0, PROBED[1:]), (0, ())])
@pytest.mark.usefixtures("fetched")
def test_an_image_that_does_not_work_gets_no_name(home: Home, probe: Answer) -> None:
    engine = new_engine()
    engine.__dict__["answer"] = lambda job: probe if job.user == "0:0" else answer(job)
    with pytest.raises(EngineProblem, match=r"does not (work|say)"):
        ensure(engine, home)
    assert set(engine.local) == {IMPORTED, "other:1", CUDA_IMAGE}
    assert not list(home.work.iterdir())


def dockerfile(engine: FakeEngine) -> str:
    with tarfile.open(fileobj=io.BytesIO(engine.builds[0][0])) as tar:
        content = tar.extractfile("Dockerfile")
        assert content is not None
        return content.read().decode()
