"""CUDA's libraries come out of the real toolchain image, under their own terms."""

from pathlib import Path

from ci.builds.companion import fetch_companions
from ci.builds.engine import Engine
from ci.builds.target import find_lane
from ci.builds.toolchain.image import ToolchainImage


def test_the_libraries_of_the_lane_and_their_terms_are_fetched(
    engine: Engine, toolchain: ToolchainImage, tmp_path: Path
) -> None:
    lane = find_lane("cu13")
    made = fetch_companions(engine, toolchain, lane, tmp_path / "lib")
    terms = {"LICENSE-nvidia-cublas", "LICENSE-nvidia-cuda-runtime"}
    assert {path.name for path in made.folder.iterdir()} == {*lane.companions, *terms}
    assert all((made.folder / name).read_bytes()[:4] == b"\x7fELF" for name in lane.companions)
    assert all("NVIDIA" in (made.folder / name).read_text(encoding="utf-8") for name in terms)
    assert made.toolkit.startswith("release 13.")
    assert [source.partition("-")[0] for source in made.sources] == ["nvidia_cublas", "nvidia_cuda_runtime"]
