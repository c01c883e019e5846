from pathlib import Path

import pytest

from ci.errors import ModelUnreadable
from ci.models.header import shards as shards_module
from ci.models.header.reading import Limits
from ci.models.header.shards import read_model
from tests.helpers.made_gguf import TensorIn, Typed, ValueIn, write_gguf

NAMES = [f"m-0000{number}-of-00003.gguf" for number in (1, 2, 3)]


def split(place: int, count: int = 3, total: int = 3) -> dict[str, ValueIn]:
    return {
        "split.no": Typed("UINT16", place),
        "split.count": Typed("UINT16", count),
        "split.tensors.count": Typed("INT32", total),
    }


def shards(folder: Path, **changes: dict[str, ValueIn]) -> Path:
    """Three shards, one tensor in each; changes by `first`, `second`, `third`."""
    for place, word in enumerate(("first", "second", "third")):
        own: dict[str, ValueIn] = {"general.architecture": "qwen3"} if place == 0 else {}
        metadata = {**own, **split(place), **changes.get(word, {})}
        write_gguf(folder / NAMES[place], metadata, [TensorIn(f"t{place}", (32, place + 1))])
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_any_shard_stands_for_the_whole_model(tmp_path: Path, name: str) -> None:
    model = read_model(shards(tmp_path) / name)
    assert [shard.path.name for shard in model.shards] == NAMES
    assert [tensor.name for tensor in model.tensors] == ["t0", "t1", "t2"]
    assert model.path == tmp_path / NAMES[0]
    assert model.arch == "qwen3"
    assert model.file_size == sum((tmp_path / file).stat().st_size for file in NAMES)


@pytest.mark.parametrize("named", [NAMES[0], NAMES[2]])
def test_missing_shards_are_named(tmp_path: Path, named: str) -> None:
    (shards(tmp_path) / NAMES[1]).unlink()
    with pytest.raises(ModelUnreadable, match=f"1 of 3 shards are missing: {NAMES[1]}"):
        read_model(tmp_path / named)


def test_a_model_in_one_file_needs_no_name(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "any name", {"split.count": Typed("UINT16", 1)}, [TensorIn("t")])
    assert len(read_model(path).shards) == 1


def test_a_name_alone_makes_no_shard(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / NAMES[1], {"general.architecture": "qwen3"}, [TensorIn("t")])
    assert len(read_model(path).shards) == 1


@pytest.mark.parametrize(
    "name", ["m.gguf", NAMES[0], "m-00002-of-00004.gguf", "-00002-of-00003.gguf", "m-2-of-3.gguf"]
)
def test_a_renamed_shard_is_refused_with_its_right_name(tmp_path: Path, name: str) -> None:
    (shards(tmp_path) / NAMES[1]).rename(tmp_path / name)
    with pytest.raises(ModelUnreadable, match=r"shard 2 of 3, so its name must be NAME-00002-of-00003\.gguf"):
        read_model(tmp_path / name)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"second": split(2)}, "it says that it is shard 3 of 3, not 2 of 3"),
        ({"third": split(2, count=4)}, "it says that it is shard 3 of 4, not 3 of 3"),
        ({"first": split(0, total=4)}, "split.tensors.count is 4, the shards hold 3"),
        ({"second": {"split.no": "one"}}, "split.no is 'one', expected a number"),
        ({"second": {"split.no": -1}}, "split.no is -1, expected a number"),
        ({"first": {"split.count": [3]}}, "split.count is ArrayValue"),
        ({"first": split(0, count=65535)}, "split.count is 65535; no model that we believe has more than 1024"),
    ],
)
def test_shards_that_do_not_fit_together_are_refused(
    tmp_path: Path, changes: dict[str, dict[str, ValueIn]], words: str
) -> None:
    with pytest.raises(ModelUnreadable, match=words):
        read_model(shards(tmp_path, **changes) / NAMES[0])


def test_a_tensor_in_two_shards_is_refused(tmp_path: Path) -> None:
    write_gguf(shards(tmp_path) / NAMES[2], split(2), [TensorIn("t0")])
    with pytest.raises(ModelUnreadable, match="tensors in more than one shard: t0"):
        read_model(tmp_path / NAMES[0])


def test_a_damaged_shard_is_named(tmp_path: Path) -> None:
    (shards(tmp_path) / NAMES[2]).write_bytes(b"")
    with pytest.raises(ModelUnreadable, match=f"{NAMES[2]}: an empty file"):
        read_model(tmp_path / NAMES[0])


def test_notes_of_all_shards_are_kept(tmp_path: Path) -> None:
    last = shards(tmp_path) / NAMES[2]
    last.write_bytes(last.read_bytes() + bytes(100))
    assert read_model(tmp_path / NAMES[0]).notes == (f"{NAMES[2]}: 100 bytes follow the data of the last tensor",)


def test_later_shards_keep_no_metadata_but_their_place(tmp_path: Path) -> None:
    model = read_model(shards(tmp_path, second={"k": [1] * 1000}, first={"k": [1] * 1000}) / NAMES[0])
    assert ["k" in shard.metadata for shard in model.shards] == [True, False, False]


def test_all_shards_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards_module, "LIMITS", Limits(tensors=2))
    with pytest.raises(ModelUnreadable, match=f"{NAMES[2]}: 3 tensors up to here"):
        read_model(shards(tmp_path) / NAMES[0])
