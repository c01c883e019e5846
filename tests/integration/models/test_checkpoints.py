"""Checkpoints through the lock: pinned at a hub on this machine, fetched, and ready for a conversion."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import CheckpointProblem, ConfigProblem, DigestMismatch, ModelNotOffered, NotAModel, UsageProblem
from ci.home import Home
from ci.models.exact_pair import SMALL
from ci.models.fetch import ensure_files, files_of
from ci.models.lock import ModelEntry, load_models
from ci.models.pinning import Asked
from ci.outcome import JsonMap
from ci.verbs import convert_draft as converting
from ci.verbs import models as verbs
from tests.helpers.checkpoint_lock import LOCAL, Lock
from tests.helpers.file_sites import COMMIT, Fault, Served, Site, serving, with_repository
from tests.helpers.made_models import sha256
from tests.helpers.tiny_checkpoint import write_draft, write_target

SHARDS = tuple(f"model-0000{at}-of-00003.safetensors" for at in (1, 2, 3))
INDEX = "model.safetensors.index.json"
NEVER = {"modeling_dspark.py": b"raise SystemExit", "training_args.bin": b"pickled", ".gitattributes": b"*"}

Damage = Callable[[Site], object]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture
def draft(tmp_path: Path) -> dict[str, bytes]:
    return content(write_draft(tmp_path / "draft", SMALL, shards=3))


@pytest.fixture
def hub(tmp_path: Path, cdn: Site, draft: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    target = content(write_target(tmp_path / "target", SMALL))
    weights = {name: draft[name] for name in SHARDS}
    small = {name: data for name, data in draft.items() if name not in weights}
    with serving(Site()) as running:
        with_repository(running, cdn, "owner/draft", weights, in_git={**small, **NEVER})
        with_repository(running, cdn, "owner/target", {"model.safetensors": b"weights"}, in_git=target)
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


@pytest.fixture
def lock(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lock:
    return Lock(home, tmp_path / "models.toml", monkeypatch)


def said(capsys: pytest.CaptureFixture[str]) -> JsonMap:
    document: JsonMap = json.loads(capsys.readouterr().out)
    return document


def content_of(home: Home, entry: ModelEntry) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in ensure_files(home, entry)}


def in_config(site: Site, head: bytes) -> None:
    """Other bytes, of the same number."""
    served = site.files[f"/owner/draft/resolve/{COMMIT}/config.json"]
    served.content = head + served.content[len(head) :]


def listing(site: Site) -> tuple[Served, JsonMap]:
    served = site.files["/api/models/owner/draft/revision/main"]
    document: JsonMap = json.loads(served.content)
    return served, document


def cut_blob_id(site: Site) -> None:
    served, document = listing(site)
    for file in document["siblings"]:
        file.pop("blobId")
    served.content = json.dumps(document).encode()


def named(site: Site, old: str, new: str) -> None:
    """The listing with a file renamed; with another file, where there is none of the old name."""
    served, document = listing(site)
    document["siblings"].append({"rfilename": "a", "size": 1, "blobId": "0" * 40})
    for file in document["siblings"]:
        file["rfilename"] = new if file["rfilename"] == old else file["rfilename"]
    served.content = json.dumps(document).encode()


def test_every_file_is_pinned_and_no_weights_come_for_it(
    lock: Lock, hub: Site, cdn: Site, draft: dict[str, bytes]
) -> None:
    entry = lock.pin("draft")
    assert entry.hub is not None
    assert entry.hub.revision == COMMIT
    assert [one.file for one in entry.shards] == ["config.json", INDEX, *SHARDS]
    assert all((one.size, one.sha256) == (len(draft[one.file]), sha256(draft[one.file])) for one in entry.shards)
    assert entry.licence == "apache-2.0"
    assert cdn.asked == []
    assert [one.file for one in lock.pin("target").shards] == ["config.json", "tokenizer.model"]


def test_what_is_pinned_is_fetched_into_one_folder_and_nothing_else_is_asked_for(
    lock: Lock, hub: Site, draft: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    lock.pin("draft")
    capsys.readouterr()
    lock.fetch("draft")
    paths = [Path(str(path)) for path in said(capsys)["draft"]]
    assert {path.name: path.read_bytes() for path in paths} == draft
    assert {path.parent for path in paths} == {lock.home.models / "draft"}
    assert not [one for one in hub.asked if one.path.endswith(tuple(NEVER))]


def test_weights_that_broke_off_are_gone_on_with(lock: Lock, hub: Site, cdn: Site, draft: dict[str, bytes]) -> None:
    entry = lock.pin("draft")
    served = cdn.files[f"/blobs/{sha256(draft[SHARDS[0]])}"]
    served.faults, served.times = frozenset({Fault.CUT}), 1
    assert content_of(lock.home, entry) == draft
    assert "bytes=700-" in cdn.ranges


@pytest.mark.parametrize(
    ("damage", "kind", "words"),
    [
        (
            lambda site: in_config(site, b"_"),
            DigestMismatch,
            r"config\.json: git's id of it is \w{40}, the hub states",
        ),
        (lambda site: in_config(site, b"<html>"), NotAModel, r"config\.json: an HTML page"),
        (cut_blob_id, ModelNotOffered, r"neither SHA-256 nor git's id for config\.json"),
        (
            lambda site: named(site, "a", "mask_embedding.pt"),
            ModelNotOffered,
            "owner/draft: mask_embedding.pt: pickled",
        ),
        (lambda site: named(site, "config.json", "a"), ModelNotOffered, r"owner/draft: no config\.json"),
        (lambda site: named(site, SHARDS[1], "a"), ModelNotOffered, f"1 files of weights are missing: {SHARDS[1]}"),
    ],
)
def test_what_is_not_what_the_hub_states_is_not_pinned(
    lock: Lock, hub: Site, damage: Damage, kind: type[Exception], words: str
) -> None:
    damage(hub)
    before = lock.path.read_bytes()
    with pytest.raises(kind, match=words):
        lock.pin("draft")
    assert lock.path.read_bytes() == before
    assert [path.name for path in (lock.home.models / "draft").glob("*config*")] == []


def test_a_dry_run_of_another_pin_leaves_what_is_here(
    lock: Lock, hub: Site, cdn: Site, draft: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    entry = lock.pin("draft")
    ensure_files(lock.home, entry)
    later = {"config.json": b"{}", INDEX: draft[INDEX]}
    with_repository(hub, cdn, "owner/draft", {name: draft[name] for name in SHARDS}, in_git=later)
    capsys.readouterr()
    asked = Asked(model="draft", revision="main")
    verbs.pin_model(lock.home, Console(json_output=True), asked, dry_run=True, lock_file=lock.path)
    document = said(capsys)
    assert document["entry"]["hub"]["shard"][0]["sha256"] == sha256(b"{}")
    assert load_models(lock.path)["draft"] == entry
    assert {file.path.name: file.path.read_bytes() for file in files_of(lock.home, entry)} == draft


def test_one_file_of_a_checkpoint_cannot_be_chosen(lock: Lock, hub: Site) -> None:
    with pytest.raises(UsageProblem, match="several files"):
        lock.pin("draft", file="config.json")


def test_a_conversion_takes_draft_and_target_from_the_lock(
    lock: Lock, hub: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigProblem, match=r"'draft' in models\.toml is not pinned"):
        lock.dry_run()
    lock.pin("draft")
    lock.pin("target")
    asked = len(hub.asked)
    with pytest.raises(UsageProblem, match="a dry run fetches nothing") as caught:
        lock.dry_run()
    assert caught.value.hint == "invoke fetch-models --model draft"
    assert len(hub.asked) == asked
    lock.fetch("draft", "target")
    capsys.readouterr()
    assert lock.dry_run() == 0
    document = said(capsys)
    assert document["draft"] == str(lock.home.models / "draft")
    assert document["target"] == str(lock.home.models / "target")
    assert document["would_make"] == [str(lock.home.out / "drafts" / "draft.gguf")]


def test_files_that_are_not_pinned_are_not_read(lock: Lock, hub: Site, tmp_path: Path) -> None:
    entries = [lock.pin("draft"), lock.pin("target")]
    folder = ensure_files(lock.home, entries[0])[0].parent
    ensure_files(lock.home, entries[1])
    for name in ("model.safetensors", "extra.json", "mask_embedding.pt"):
        (folder / name).write_bytes(b"{}")
    asked = converting.Request(draft="draft", target="target", dry_run=True)
    found = converting.plan(lock.home, Console(), asked).draft
    assert [path.name for path in found.files] == list(SHARDS)
    assert [path.name for path in found.texts] == ["config.json", INDEX]


def test_only_a_draft_with_weights_is_converted(lock: Lock, hub: Site) -> None:
    with pytest.raises(UsageProblem, match="--draft target: only what a conversion reads of a target"):
        lock.dry_run(draft="target")
    text = lock.path.read_text().replace('form = "checkpoint"\n', "")
    lock.path.write_text(text)
    with pytest.raises(UsageProblem, match="--draft draft: a GGUF model, not a checkpoint"):
        lock.dry_run()


def test_a_folder_of_the_users_is_pinned_where_it_is(lock: Lock, hub: Site, tmp_path: Path) -> None:
    lock.write(LOCAL)
    for name, data in NEVER.items():
        (tmp_path / "draft" / name).write_bytes(data)
    with pytest.raises(UsageProblem, match="a local folder, and nobody has said which"):
        lock.pin("draft")
    with pytest.raises(UsageProblem, match="no such folder"):
        lock.pin("draft", file=str(tmp_path / "none"))
    with pytest.raises(CheckpointProblem, match=r"target: no model\*\.safetensors"):
        lock.pin("draft", file=str(tmp_path / "target"))
    entry = lock.pin("draft", file=str(tmp_path / "draft"))
    assert entry.local is not None
    assert entry.local.path == str(tmp_path / "draft")
    assert [one.file for one in entry.shards] == ["config.json", INDEX, *SHARDS]
    lock.pin("target", file=str(tmp_path / "target"))
    assert lock.dry_run() == 0
    (tmp_path / "draft" / SHARDS[0]).write_bytes(b"another")
    with pytest.raises(DigestMismatch, match="not the bytes that are pinned"):
        ensure_files(lock.home, entry)
