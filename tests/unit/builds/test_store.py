"""The store: what is put is found, what is damaged is not."""

import dataclasses
import json
from pathlib import Path

import pytest

from ci.builds.store import BUILD_JSON, content_digest, find, load_build
from ci.errors import ConfigProblem, DigestMismatch
from ci.files import write_json
from ci.home import Home
from tests.helpers.made_build import FILES, made_build, made_key


def test_a_put_build_is_found_by_its_inputs(tmp_path: Path) -> None:
    made = made_build(tmp_path)
    home = Home(root=tmp_path, checkout=tmp_path)
    assert find(home, made_key().digest) == made == load_build(made.path, check=True)
    assert (made.variant, made.label, made.tag, made.target) == ("speed", "b7-speed.1", "b7", "cpu")
    assert made.sizes == {name: len(content) for name, content in FILES.items()}
    assert find(home, made_key(label="b7-speed.2").digest) is None


def test_every_input_changes_the_key() -> None:
    key = made_key()
    others = [
        made_key(variant="stock"),
        made_key(label="b7-speed.2"),
        made_key(tree="cd" * 20),
        dataclasses.replace(key, number=8),
        dataclasses.replace(key, compiler="c++ 13"),
        dataclasses.replace(key, platform="arm64"),
        dataclasses.replace(key, recipe=dataclasses.replace(key.recipe, version=99)),
    ]
    assert len({key.digest, *(other.digest for other in others)}) == len(others) + 1


def test_modes_are_fixed_and_build_json_is_the_same_everywhere(tmp_path: Path) -> None:
    one, two = made_build(tmp_path / "one"), made_build(tmp_path / "two")
    assert (one.path / "llama-server").stat().st_mode & 0o777 == 0o755
    assert (one.path / "LICENSE").stat().st_mode & 0o777 == 0o644
    assert (one.path / BUILD_JSON).read_bytes() == (two.path / BUILD_JSON).read_bytes()
    assert str(tmp_path).encode() not in (one.path / BUILD_JSON).read_bytes()


def test_equal_content_has_equal_digests_whatever_it_is_called(tmp_path: Path) -> None:
    speed = made_build(tmp_path)
    stock = made_build(tmp_path, made_key(variant="stock", label="b7"))
    assert speed.path != stock.path
    assert speed.digest == stock.digest


def test_changed_missing_and_extra_files_are_listed_together(tmp_path: Path) -> None:
    made = made_build(tmp_path)
    (made.path / "llama-server").write_bytes(b"other")
    (made.path / "LICENSE").unlink()
    (made.path / "libcuda.so.1").touch()
    assert load_build(made.path) == made
    with pytest.raises(DigestMismatch) as caught:
        load_build(made.path, check=True)
    for fault in ("llama-server: sha256", "LICENSE: sha256 missing", "libcuda.so.1: not in build.json"):
        assert fault in caught.value.message
    assert find(Home(root=tmp_path, checkout=tmp_path), made_key().digest) is None


def test_a_folder_without_build_json_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblem, match=r"it has no build\.json"):
        load_build(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("variant", "fast"),
        ("label", "../x"),
        ("tag", "11434"),
        ("tree", "xyz"),
        ("format", 2),
        ("files", {}),
        ("digest", "0" * 64),
        ("extra", 1),
        ("files", {"../x": {"sha256": "0" * 64, "size": 1}}),
    ],
)
def test_a_forged_build_json_is_refused(tmp_path: Path, name: str, value: object) -> None:
    path = made_build(tmp_path).path / BUILD_JSON
    data = {**json.loads(path.read_bytes()), name: value}
    write_json(path, data)
    with pytest.raises(ConfigProblem, match=r"build\.json"):
        load_build(path.parent)


def test_a_file_name_that_leaves_the_folder_is_refused_even_with_a_fitting_digest(tmp_path: Path) -> None:
    path = made_build(tmp_path).path / BUILD_JSON
    files = {"../x": "0" * 64}
    data = {
        **json.loads(path.read_bytes()),
        "files": {"../x": {"sha256": "0" * 64, "size": 1}},
        "digest": content_digest(files),
    }
    write_json(path, data)
    with pytest.raises(ConfigProblem, match=r"build\.json"):
        load_build(path.parent)


def test_a_failed_put_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("stop")

    monkeypatch.setattr("ci.builds.store.write_json", fail)
    with pytest.raises(RuntimeError):
        made_build(tmp_path)
    assert list((tmp_path / "store").iterdir()) == []
