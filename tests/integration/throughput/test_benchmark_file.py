"""The stage lets pytest-benchmark leave its file next to the evidence of the throughput suite."""

from pathlib import Path

import pytest

from ci.console import Console
from ci.files import read_json
from ci.home import Home
from ci.stages.prove import Suite, run_suite

OPTIONS = ("stock", "speed", "profile", "home", "evidence", "gpu-layers", "libraries")
CONFTEST = "def pytest_addoption(parser):\n" + "".join(f"    parser.addoption('--{name}')\n" for name in OPTIONS)
TEST = """
def test_scenario(benchmark):
    benchmark.pedantic(int, rounds=1)
    benchmark.extra_info.update(pairs=[{"order": "ab"}])
"""


@pytest.mark.parametrize(("name", "left"), [("throughput", True), ("parity", False)])
def test_only_the_throughput_suite_leaves_a_benchmark_file(tmp_path: Path, name: str, *, left: bool) -> None:
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(TEST)
    evidence = tmp_path / f"{name}-quick.json"
    run_suite(
        Suite(name=name, folder="suite", sources=()),
        home=Home(root=tmp_path / "state", checkout=tmp_path),
        console=Console(),
        stock=tmp_path,
        speed=tmp_path,
        profile="quick",
        evidence=evidence,
    )
    path = tmp_path / f"{name}-quick.benchmark.json"
    assert path.is_file() is left
    if left:
        (one,) = read_json(path)["benchmarks"]
        assert one["extra_info"]["pairs"] == [{"order": "ab"}]
