"""Nothing of the person who builds reaches the compilers."""

from pathlib import Path

import pytest

from ci.builds.native import build_env
from ci.home import Home

AMBIENT = {
    "PATH": "/usr/bin",
    "CC": "clang",
    "CXX": "clang++",
    "CFLAGS": "-O0",
    "CXXFLAGS": "-march=native",
    "LDFLAGS": "-L/opt",
    "CPATH": "/opt/include",
    "LIBRARY_PATH": "/opt/lib",
    "LD_LIBRARY_PATH": "/opt/lib",
    "CMAKE_PREFIX_PATH": "/opt",
    "CMAKE_GENERATOR": "Unix Makefiles",
    "CCACHE_DIR": "/home/someone/.ccache",
    "CCACHE_DISABLE": "1",
    "GITHUB_TOKEN": "secret",
    "GIT_DIR": "/elsewhere/.git",
    "HTTPS_PROXY": "http://proxy",
    "HOME": "/home/someone",
    "MAKEFLAGS": "-j64",
}


@pytest.fixture
def env() -> dict[str, str]:
    home = Home(root=Path("/state"), checkout=Path("/checkout"))
    return build_env(home, Path("/state/scratch/build/cpu"), AMBIENT)


def test_only_path_passes(env: dict[str, str]) -> None:
    assert env["PATH"] == "/usr/bin"
    assert {name for name, value in AMBIENT.items() if env.get(name) == value} == {"PATH"}
    assert not {"CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CPATH", "GITHUB_TOKEN", "MAKEFLAGS"} & set(env)


def test_the_cache_is_ours_and_the_network_is_nowhere(env: dict[str, str]) -> None:
    assert env["CCACHE_DIR"] == "/state/ccache"
    assert env["https_proxy"] == env["http_proxy"] == "http://127.0.0.1:9"
    assert env["HOME"].startswith("/state/")
