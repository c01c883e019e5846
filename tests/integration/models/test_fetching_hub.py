"""Models of a hub whose bytes another host sends: the first hop's names, the user's token, shards side by side."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import DigestMismatch, DownloadFailed, ModelNotOffered, UsageProblem
from ci.files import exclusive
from ci.home import Home
from ci.models.fetch import ensure_files, files_of
from ci.models.lock import FromHub, ModelEntry
from ci.models.sources.answer import Origin
from ci.models.sources.hub import look_up
from ci.models.sources.hub_settings import HUB, endpoint_of
from ci.process import run, scrubbed_env
from tests.helpers.file_sites import COMMIT, Fault, Served, Site, serving, with_repository
from tests.helpers.made_models import GGUF, entry, sha256, shard

REPO = "owner/model"
NAMES = tuple(f"q4/m-{at:05}-of-00003.gguf" for at in (1, 2, 3))
SPLIT = {name: GGUF + name.encode() for name in NAMES}
TOKEN = "hf_secret"  # noqa: S105 - made up
BLOB = f"/blobs/{sha256(GGUF)}"
RESOLVE = f"/{REPO}/resolve/{COMMIT}/tiny.gguf"


@pytest.fixture
def hub(cdn: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with serving(Site()) as running:
        with_repository(running, cdn, REPO, {"tiny.gguf": GGUF, **SPLIT})
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield running


def single() -> ModelEntry:
    return entry(hub=FromHub(repo=REPO, revision=COMMIT, shard=(shard(),)))


def split() -> ModelEntry:
    shards = tuple(shard(content, name) for name, content in SPLIT.items())
    return entry(hub=FromHub(repo=REPO, revision=COMMIT, shard=shards))


def test_the_token_goes_to_the_hub_only(home: Home, hub: Site, cdn: Site) -> None:
    (path,) = ensure_files(home, single())
    assert path.read_bytes() == GGUF
    assert [(each.path, each.headers.get("authorization")) for each in hub.asked] == [(RESOLVE, f"Bearer {TOKEN}")]
    assert [each.headers.get("authorization") for each in cdn.asked] == [None]


def test_a_refusal_keeps_token_and_signature_to_itself(home: Home, hub: Site, cdn: Site) -> None:
    cdn.files[BLOB].status = 403
    with pytest.raises(DownloadFailed, match="access refused") as caught:
        ensure_files(home, single())
    assert TOKEN not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "HF_TOKEN" in caught.value.hint


def test_what_is_here_needs_no_hub(home: Home, hub: Site, cdn: Site) -> None:
    first = ensure_files(home, split())
    asked = len(hub.asked)
    assert ensure_files(home, split()) == first
    assert len(hub.asked) == asked


@pytest.mark.parametrize("faults", [set(), {Fault.NO_TAG}, {Fault.DEAF_TAG}], ids=["tag", "none", "deaf"])
def test_a_host_behind_the_hub_may_call_the_file_something_else(
    home: Home, hub: Site, cdn: Site, faults: set[Fault]
) -> None:
    (file,) = files_of(home, single())
    file.partial.begin(Origin(address=f"{hub.url}{RESOLVE}", linked=sha256(GGUF), size=len(GGUF), tag='"other edge"'))
    file.partial.path.write_bytes(GGUF[:400])
    cdn.files[BLOB].faults = frozenset(faults) | {Fault.DEAF_TAG}
    ensure_files(home, single())
    assert file.path.read_bytes() == GGUF
    assert cdn.ranges == ["bytes=400-"]


def test_a_repository_that_moved_is_followed_with_the_token(home: Home, hub: Site, cdn: Site) -> None:
    hub.redirects[f"/moved{RESOLVE}"] = hub.redirects[RESOLVE]
    hub.redirects[RESOLVE] = (f"/moved{RESOLVE}", {})
    (file,) = files_of(home, single())
    file.partial.begin(Origin(address=f"{hub.url}{RESOLVE}", linked=sha256(GGUF), size=len(GGUF), tag='"other edge"'))
    file.partial.path.write_bytes(GGUF[:400])
    cdn.files[BLOB].faults = frozenset({Fault.DEAF_TAG})
    assert ensure_files(home, single()) == (file.path,)
    assert [each.headers.get("authorization") for each in hub.asked] == [f"Bearer {TOKEN}"] * 2
    assert cdn.ranges == ["bytes=400-"]


def test_another_digest_at_the_hub_is_told_before_the_bytes_come(home: Home, hub: Site, cdn: Site) -> None:
    target, headers = hub.redirects[RESOLVE]
    hub.redirects[RESOLVE] = (target, {**headers, "X-Linked-Etag": f'"{"f" * 64}"'})
    with pytest.raises(DigestMismatch, match=f"a file with sha256 {'f' * 64}, the pin is {sha256(GGUF)}"):
        ensure_files(home, single())
    assert not list(home.models.rglob("*.gguf*"))


def test_shards_come_side_by_side_and_stand_beside_each_other(home: Home, hub: Site, cdn: Site) -> None:
    blobs = [cdn.files[f"/blobs/{sha256(content)}"] for content in SPLIT.values()]
    blobs[0].go_on, blobs[1].go_on = blobs[1].started, blobs[0].started
    paths = ensure_files(home, split())
    assert [path.name for path in paths] == [name.removeprefix("q4/") for name in NAMES]
    assert {path.read_bytes() for path in paths} == set(SPLIT.values())


def test_shards_that_came_stay_when_one_fails(home: Home, hub: Site, cdn: Site) -> None:
    broken = cdn.files.pop(f"/blobs/{sha256(SPLIT[NAMES[1]])}")
    with pytest.raises(ModelNotOffered, match=r"m-00002-of-00003\.gguf: the server has no such file"):
        ensure_files(home, split())
    assert not files_of(home, split())[1].path.exists()
    cdn.files[f"/blobs/{sha256(SPLIT[NAMES[1]])}"] = broken
    assert [path.read_bytes() for path in ensure_files(home, split())] == list(SPLIT.values())


def test_a_second_process_waits_and_says_so(
    home: Home, hub: Site, cdn: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    found = list[Path]()
    second = threading.Thread(target=lambda: found.extend(ensure_files(home, single(), Console())))
    with exclusive(home.models / "tiny" / ".lock"):
        second.start()
        second.join(0.3)
        assert second.is_alive()
        assert cdn.asked == []
    second.join(30)
    assert [path.read_bytes() for path in found] == [GGUF]
    assert "another process is at work on model tiny: waiting for it" in capsys.readouterr().err


def test_a_repository_is_looked_up(hub: Site) -> None:
    environ = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN}
    found = look_up(REPO, "main", environ)
    assert (found.commit, found.licence) == (COMMIT, "apache-2.0")
    assert {file.name: (file.size, file.sha256) for file in found.files}["tiny.gguf"] == (1000, sha256(GGUF))
    assert hub.asked[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_without_a_token_none_is_sent(hub: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("hf_from_a_log_in", encoding="utf-8")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    look_up(REPO, "main", {"HF_ENDPOINT": hub.url})
    assert "authorization" not in hub.asked[0].headers


@pytest.mark.parametrize(
    ("served", "kind", "words"),
    [
        (Served(content=b"{}"), DownloadFailed, "an answer that cannot be read"),
        (Served(content=b"<html>"), DownloadFailed, "an answer that cannot be read"),
        (Served(content=b'{"id": "owner/model"}'), DownloadFailed, "the answer names no commit"),
        (Served(content=b"", status=500), DownloadFailed, "500"),
        (Served(content=b"", status=403), DownloadFailed, "access refused"),
        (None, ModelNotOffered, "no such repository"),
    ],
)
def test_every_answer_of_a_hub_has_its_words(
    hub: Site, served: Served | None, kind: type[Exception], words: str
) -> None:
    path = f"/api/models/{REPO}/revision/main"
    del hub.files[path]
    if served:
        hub.files[path] = served
    with pytest.raises(kind, match=f"{REPO} at main: .*{words}"):
        look_up(REPO, "main", {"HF_ENDPOINT": hub.url})


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("RevisionNotFound", ModelNotOffered, "no such revision"),
        ("RepoNotFound", ModelNotOffered, "no such repository, or a private one"),
        ("GatedRepo", DownloadFailed, "accept the model's terms"),
    ],
)
def test_a_hub_says_why_it_refuses(hub: Site, code: str, kind: type[Exception], words: str) -> None:
    hub.files[f"/api/models/{REPO}/revision/main"] = Served(content=b"", status=404, headers={"X-Error-Code": code})
    with pytest.raises(kind, match=words):
        look_up(REPO, "main", {"HF_ENDPOINT": hub.url})


def test_a_hub_that_is_not_there_is_told() -> None:
    with pytest.raises(DownloadFailed, match=f"127.0.0.1:1/{REPO} at main"):
        look_up(REPO, "main", {"HF_ENDPOINT": "http://127.0.0.1:1"})


@pytest.mark.parametrize(
    "endpoint",
    [
        "huggingface.co",
        "file:///etc",
        "http://",
        "http://[::1",
        "http://h:99999",
        "http://h:x",
        f"http://{'a' * 70}.org",
        "http://a..b",
        "https://h/?x=1",
        "http://h\u00fcb",
        "http://a b",
        " ",
        "http://a\nb",
    ],
)
def test_a_hub_that_is_no_address_is_told(endpoint: str) -> None:
    with pytest.raises(UsageProblem, match="HF_ENDPOINT is") as caught:
        look_up(REPO, "main", {"HF_ENDPOINT": endpoint})
    assert "HF_ENDPOINT" in caught.value.hint


@pytest.mark.parametrize("endpoint", ["", "http://127.0.0.1:9/", "http://[::1]:9", "https://mirror.example.org/hf"])
def test_a_hub_may_be_anywhere(endpoint: str) -> None:
    assert endpoint_of({"HF_ENDPOINT": endpoint}) in (endpoint.rstrip("/"), HUB)


def test_a_hub_is_asked_once_and_not_told_what_runs_here(hub: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.utils._headers.detect_agent", lambda: "somebody")
    look_up(REPO, "main", {"HF_ENDPOINT": hub.url})
    (asked,) = hub.asked
    assert "somebody" not in asked.headers["user-agent"]


PIN = """
import os
from pathlib import Path
from ci.console import Console
from ci.models.lock import FromHub
from ci.models.pinning import Asked, new_pin
from tests.helpers.made_models import entry, home_at
new_pin(home_at(Path()), entry(hub=FromHub(repo="owner/model")), Asked(model="tiny"), Console(), os.environ)
"""


def test_the_hubs_library_is_not_even_loaded_where_it_would_fail(tmp_path: Path) -> None:
    environ = {"PYTHONPATH": str(Path(__file__).parents[3]), "HF_ENDPOINT": "http://[::1"}
    done = run((sys.executable, "-c", PIN), cwd=tmp_path, env=scrubbed_env(extra=environ), ok_codes=(1,))
    assert b"\nci.errors.UsageProblem: HF_ENDPOINT is " in done.stderr
