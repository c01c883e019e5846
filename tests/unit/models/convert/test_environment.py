"""The converter's environment: which one it is, and what pip gets to know."""

import sys
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import ConfigProblem, DiskFull
from ci.home import Home
from ci.models.convert.environment import CONFIG_FILE, Recipe, ensure_environment, environment_of, pip_environ


def home_in(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", checkout=tmp_path)


def recipe(**changes: object) -> Recipe:
    sizes = {"download_mb": 1, "download_with_cuda_mb": 2, "disk_mb": 3}
    return Recipe.model_validate({"requirements": ["a==1"], "modules": ["a"], **sizes, **changes})


def test_every_requirement_is_pinned() -> None:
    assert {requirement.count("==") for requirement in environment_of(home_in(Path("/x"))).recipe.requirements} == {1}


def test_another_requirement_is_another_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    before = recipe().digest
    assert recipe(disk_mb=9, modules=["b"]).digest == before
    assert recipe(requirements=["a==2"]).digest != before
    monkeypatch.setattr(sys, "version", "4.0")
    assert recipe().digest != before


def test_an_environment_is_ready_when_its_interpreter_is_there(tmp_path: Path) -> None:
    found = environment_of(home_in(tmp_path))
    assert not found.ready
    found.python.parent.mkdir(parents=True)
    found.python.symlink_to(tmp_path / "python-that-was-removed")
    assert not found.ready
    found.python.unlink()
    found.python.touch()
    assert ensure_environment(home_in(tmp_path), Console()) == found


def test_pip_gets_its_own_settings_and_no_secrets() -> None:
    environ = {
        "PIP_INDEX_URL": "https://index.example",
        "PIP_TARGET": "/elsewhere",
        "https_proxy": "p",
        "PATH": "/bin",
    }
    passed = pip_environ({**environ, "HF_TOKEN": "secret", "SSL_CERT_FILE": "c"})
    expected = {"PIP_INDEX_URL": "https://index.example", "https_proxy": "p", "PATH": "/bin", "SSL_CERT_FILE": "c"}
    assert passed == {**expected, "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def test_no_room_is_found_before_anything_is_fetched(tmp_path: Path) -> None:
    large = tmp_path / "large.toml"
    large.write_text(CONFIG_FILE.read_text().replace("disk_mb = 1200", "disk_mb = 900_000_000"))
    with pytest.raises(DiskFull, match="the converter's environment needs 900,000,000 MB"):
        ensure_environment(home_in(tmp_path), Console(), file=large)
    assert not (tmp_path / "home").exists()


def test_a_broken_list_is_a_configuration_fault(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("requirements = []\n")
    with pytest.raises(ConfigProblem, match="requirements"):
        environment_of(home_in(tmp_path), tmp_path / "c.toml")


def test_the_size_is_said() -> None:
    assert recipe().words.startswith("about 1 MB to download and 3 MB to keep, or 2 MB and more")
