"""pin-model and fetch-models against servers on this machine: what is pinned is what the source has."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import ConfigProblem, DownloadFailed, ModelNotOffered, NotAModel, UsageProblem
from ci.files import exclusive
from ci.home import Home
from ci.models.fetch import ensure_model
from ci.models.lock import ModelEntry, Shard, load_models
from ci.models.pinning import Asked
from ci.models.sources import transfer
from ci.verbs import models as verbs
from ci.verbs.models import Wish
from tests.helpers.file_sites import COMMIT, Fault, Served, Site, serving, with_repository
from tests.helpers.made_models import GGUF, home_at, sha256, shard

HEAD = '[[model]]\nid = "tiny"\nabout = "made"\nrole = "small"\nlicence = "{licence}"\n\n'
SPLIT = {name: GGUF + name.encode() for name in ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf")}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(transfer, "WAITS_S", (0.0, 0.0, 0.0))
    return home_at(tmp_path)


@pytest.fixture
def site() -> Iterator[Site]:
    with serving(Site()) as running:
        yield running


@pytest.fixture
def hub(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    with_repository(site, site, "owner/one", {"q4/tiny.gguf": GGUF, "README.md": b"read me"})
    with_repository(site, site, "owner/many", {"a.gguf": GGUF, **SPLIT}, licence="")
    with_repository(site, site, "owner/half", {"m-00001-of-00002.gguf": GGUF})
    with_repository(site, site, "owner/none", {"model.safetensors": b"x"})
    monkeypatch.setenv("HF_ENDPOINT", site.url)
    return site


class Lock:
    """A lock with one entry, and what the verbs make of it."""

    def __init__(self, home: Home, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.path = path
        monkeypatch.setattr("ci.verbs.models.load_models", lambda file=path: load_models(file))

    def write(self, source: str, licence: str = "unknown") -> None:
        self.path.write_text(f"# a comment\n\n{HEAD.format(licence=licence)}{source}", encoding="utf-8")

    def pin(self, *, file: str = "", revision: str = "", dry_run: bool = False) -> ModelEntry:
        asked = Asked(model="tiny", file=file, revision=revision)
        assert verbs.pin_model(self.home, Console(json_output=True), asked, dry_run=dry_run, lock_file=self.path) == 0
        return self.entry

    @property
    def entry(self) -> ModelEntry:
        return load_models(self.path)["tiny"]

    def fetch(self, **wish: bool) -> None:
        assert verbs.fetch_models(self.home, Console(json_output=True), Wish(names=("tiny",), **wish)) == 0


@pytest.fixture
def lock(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lock:
    return Lock(home, tmp_path / "models.toml", monkeypatch)


def test_a_hub_model_is_pinned_by_its_commit_and_then_fetched(
    lock: Lock, hub: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    lock.write('[model.hub]\nrepo = "owner/one"\n')
    entry = lock.pin()
    assert entry.hub is not None
    assert entry.hub.revision == COMMIT
    assert entry.shards == (shard(file="q4/tiny.gguf"),)
    assert entry.licence == "apache-2.0"
    assert lock.path.read_text(encoding="utf-8").startswith("# a comment\n")
    assert not [asked for asked in hub.asked if asked.path.startswith("/blobs")]
    document = json.loads(capsys.readouterr().out)
    assert (document["state"], document["next"]) == ("pinned", "invoke fetch-models --model tiny")
    lock.fetch()
    (path,) = json.loads(capsys.readouterr().out)["tiny"]
    assert Path(path).read_bytes() == GGUF


def test_a_dry_run_shows_the_entry_and_changes_nothing(
    lock: Lock, hub: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    lock.write('[model.hub]\nrepo = "owner/one"\n')
    before = lock.path.read_bytes()
    assert not lock.pin(dry_run=True).pinned
    assert lock.path.read_bytes() == before
    said = capsys.readouterr()
    assert f'revision = "{COMMIT}"' in said.err
    assert json.loads(said.out)["entry"]["hub"]["shard"][0]["sha256"] == sha256(GGUF)


def test_what_is_pinned_is_not_asked_again_until_a_revision_is_named(
    lock: Lock, hub: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    lock.write('[model.hub]\nrepo = "owner/one"\n', licence="MIT")
    once = lock.pin()
    asked = len(hub.asked)
    assert lock.pin() == once
    assert len(hub.asked) == asked
    assert lock.pin(revision=COMMIT) == once
    assert len(hub.asked) == asked + 1
    assert once.licence == "MIT"


def test_a_repository_of_several_models_wants_a_choice(lock: Lock, hub: Site) -> None:
    lock.write('[model.hub]\nrepo = "owner/many"\n')
    with pytest.raises(UsageProblem, match=r"2 models\n    a\.gguf\n    m-00001-of-00002\.gguf\n  next: "):
        lock.pin()
    entry = lock.pin(file="m-00002-of-00002.gguf")  # any file of a model stands for it
    assert entry.hub is not None
    assert entry.hub.file == "m-00001-of-00002.gguf"
    assert [each.name for each in entry.shards] == list(SPLIT)
    assert entry.licence == "unknown"


@pytest.mark.parametrize(
    ("repo", "file", "words"),
    [
        ("owner/half", "", "owner/half has no m-00002-of-00002.gguf"),
        ("owner/none", "", "no .gguf file among its 1 files"),
        ("owner/one", "other.gguf", "owner/one has no other.gguf"),
        ("owner/many", "m-00003-of-00002.gguf", "owner/many has no m-00003-of-00002.gguf"),
        ("owner/missing", "", "owner/missing at main: no such repository"),
    ],
)
def test_what_a_hub_does_not_have_cannot_be_pinned(lock: Lock, hub: Site, repo: str, file: str, words: str) -> None:
    lock.write(f'[model.hub]\nrepo = "{repo}"\n')
    before = lock.path.read_bytes()
    with pytest.raises(ModelNotOffered, match=words):
        lock.pin(file=file)
    assert lock.path.read_bytes() == before


def test_a_file_without_a_digest_at_the_hub_cannot_be_pinned(lock: Lock, hub: Site) -> None:
    served = hub.files["/api/models/owner/one/revision/main"]
    document = json.loads(served.content)
    del document["siblings"][0]["lfs"]
    served.content = json.dumps(document).encode()
    lock.write('[model.hub]\nrepo = "owner/one"\n')
    with pytest.raises(ModelNotOffered, match=r"states no size or SHA-256 for q4/tiny\.gguf"):
        lock.pin()


def test_what_is_behind_an_address_is_pinned_by_its_bytes_and_stays(lock: Lock, site: Site) -> None:
    site.files = {f"/a/{name}": Served(content=content) for name, content in SPLIT.items()}
    lock.write(f'[model.url]\naddress = "{site.url}/a/m-00001-of-00002.gguf"\n')
    assert lock.pin().shards == tuple(shard(content, name) for name, content in SPLIT.items())
    asked = len(site.asked)
    lock.fetch()
    assert len(site.asked) == asked


def test_what_has_no_pin_yet_is_only_joined_where_the_server_names_it(lock: Lock, site: Site) -> None:
    served = Served(content=GGUF, faults=frozenset({Fault.CUT}), times=1)
    site.files = {"/a/tiny.gguf": served}
    lock.write(f'[model.url]\naddress = "{site.url}/a/tiny.gguf"\n')
    assert lock.pin().shards == (shard(),)
    assert site.ranges == [None, "bytes=700-"]


def test_a_server_that_names_nothing_is_asked_for_all_of_it_again(lock: Lock, site: Site) -> None:
    class Mending(Served):
        """The first answer breaks off."""

        def next_faults(self) -> frozenset[Fault]:
            self.times -= 1
            return self.faults | ({Fault.CUT} if self.times == 9 else set())

    site.files = {"/a/tiny.gguf": Mending(content=GGUF, faults=frozenset({Fault.NO_TAG}), times=10)}
    lock.write(f'[model.url]\naddress = "{site.url}/a/tiny.gguf"\n')
    assert lock.pin().shards == (shard(),)
    assert site.ranges == [None, "bytes=700-", None]


def test_a_server_that_does_not_say_how_much_it_sends_cannot_be_pinned(lock: Lock, site: Site) -> None:
    site.files = {"/a/tiny.gguf": Served(content=GGUF, faults=frozenset({Fault.CUT_SILENTLY}))}
    lock.write(f'[model.url]\naddress = "{site.url}/a/tiny.gguf"\n')
    with pytest.raises(DownloadFailed, match="does not say how long the file is"):
        lock.pin()


def test_a_local_file_is_pinned_where_it_is(lock: Lock, tmp_path: Path) -> None:
    for name, content in SPLIT.items():
        (tmp_path / name).write_bytes(content)
    lock.write("[model.local]\n")
    entry = lock.pin(file=str(tmp_path / "m-00001-of-00002.gguf"))
    assert entry.local is not None
    assert entry.local.path == str(tmp_path / "m-00001-of-00002.gguf")
    assert entry.shards == tuple(shard(content, name) for name, content in SPLIT.items())
    lock.fetch(verify=True)


def test_a_local_file_must_be_named_be_there_and_be_a_model(lock: Lock, tmp_path: Path) -> None:
    lock.write("[model.local]\n")
    with pytest.raises(UsageProblem, match="nobody has said which") as caught:
        lock.pin()
    assert caught.value.hint == "invoke pin-model --model tiny --file FILE"
    with pytest.raises(UsageProblem, match="no such file"):
        lock.pin(file=str(tmp_path / "none.gguf"))
    (tmp_path / "page.gguf").write_bytes(b"<html>")
    with pytest.raises(NotAModel, match="HTML page"):
        lock.pin(file=str(tmp_path / "page.gguf"))
    with pytest.raises(UsageProblem, match="has no revision"):
        lock.pin(revision="main")


def test_an_unpinned_model_is_not_fetched(lock: Lock) -> None:
    lock.write('[model.hub]\nrepo = "owner/one"\n')
    with pytest.raises(ConfigProblem, match="is not pinned") as caught:
        lock.fetch()
    assert (caught.value.exit_code, caught.value.hint) == (2, "invoke pin-model --model tiny")


def test_a_dry_fetch_says_what_would_come(lock: Lock, hub: Site, capsys: pytest.CaptureFixture[str]) -> None:
    lock.write('[model.hub]\nrepo = "owner/one"\n')
    lock.pin()
    capsys.readouterr()
    lock.fetch(dry_run=True)
    plan = json.loads(capsys.readouterr().out)["models"]["tiny"]
    assert (plan["size"], plan["missing"]) == (1000, 1000)
    assert not list(lock.home.models.rglob("*.gguf*"))
    lock.fetch()
    capsys.readouterr()
    lock.fetch(dry_run=True)
    assert json.loads(capsys.readouterr().out)["models"]["tiny"]["missing"] == 0


def test_names_and_all_exclude_each_other(lock: Lock) -> None:
    with pytest.raises(UsageProblem, match="exclude each other"):
        lock.fetch(all_pinned=True)


def test_a_shard_knows_its_name() -> None:
    assert Shard(file="q4/tiny.gguf", size=1, sha256="0" * 64).name == "tiny.gguf"


def test_a_name_that_cannot_be_pinned_is_told_before_anything_is_read_or_asked(
    lock: Lock, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[Path]()
    monkeypatch.setattr("ci.models.pinning.digest", lambda path, _: read.append(path))
    (tmp_path / "my model.gguf").write_bytes(GGUF)
    lock.write("[model.local]\n")
    with pytest.raises(UsageProblem, match="cannot be pinned"):
        lock.pin(file=str(tmp_path / "my model.gguf"))
    with pytest.raises(UsageProblem, match="no such file"):
        lock.pin(file="/")
    lock.write(f'[model.url]\naddress = "{site.url}/a/m%20y.gguf"\n')
    with pytest.raises(UsageProblem, match="cannot be pinned"):
        lock.pin()
    assert (read, site.asked) == ([], [])
    assert not lock.entry.pinned


def test_a_local_model_of_unknown_licence_comes_with_a_note(
    lock: Lock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tiny.gguf").write_bytes(GGUF)
    for licence, notes in (("unknown", 1), ("MIT", 0)):
        lock.write("[model.local]\n", licence=licence)
        lock.pin(file=str(tmp_path / "tiny.gguf"))
        said = json.loads(capsys.readouterr().out)["notes"]
        assert len(said) == notes
        assert all("read the model's card, then set licence" in note for note in said)


def test_a_pin_waits_for_the_pipeline_instead_of_being_thrown_away(
    lock: Lock, site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site.files = {"/a/tiny.gguf": Served(content=GGUF)}
    lock.write(f'[model.url]\naddress = "{site.url}/a/tiny.gguf"\n')
    with contextlib.ExitStack() as pipeline, monkeypatch.context() as patched:
        pipeline.enter_context(exclusive(lock.home.lock))
        say = Console.say

        def told(console: Console, words: str, **rest: str) -> None:
            say(console, words, **rest)
            pipeline.close()

        patched.setattr(Console, "say", told)
        assert lock.pin().shards == (shard(),)
    assert "another run is at work" in capsys.readouterr().err
    assert len(site.asked) == 1


def test_the_line_ends_of_a_lock_stay(lock: Lock, hub: Site) -> None:
    lock.write('[model.hub]\nrepo = "owner/one"\n\n# the end\n')
    lock.path.write_bytes(lock.path.read_bytes().replace(b"\n", b"\r\n"))
    assert lock.pin().pinned
    text = lock.path.read_bytes()
    assert text.count(b"\n") == text.count(b"\r\n") > 10
    assert b"\r\r" not in text


def test_the_licence_of_a_hub_fits_into_a_line(lock: Lock, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with_repository(site, site, "owner/one", {"tiny.gguf": GGUF}, licence=" \x1b[31m a\n\tb " + "x" * 5000)
    monkeypatch.setenv("HF_ENDPOINT", site.url)
    lock.write('[model.hub]\nrepo = "owner/one"\n')
    licence = lock.pin().licence
    assert licence.startswith("[31m a b x")
    assert len(licence) == 100
    assert licence.isprintable()


def test_a_dry_fetch_says_that_a_local_file_is_gone_or_another(
    lock: Lock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "tiny.gguf"
    mine.write_bytes(GGUF)
    lock.write("[model.local]\n")
    lock.pin(file=str(mine))
    for change, words in ((mine.unlink, "not there"), (lambda: mine.write_bytes(b"GGUF"), "not the pinned bytes")):
        change()
        capsys.readouterr()
        lock.fetch(dry_run=True)
        state = json.loads(capsys.readouterr().out)["models"]["tiny"]["state"]
        assert state == f"refused: {mine} is {words}; invoke pin-model --model tiny --file FILE"


def test_a_pair_is_named_by_its_target_and_a_dry_fetch_says_whether_it_is_here(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    wish, states, shown = Wish(names=("exact-pair-small",)), list[str](), ""
    for dry in (True, False, True):
        assert verbs.fetch_models(home, Console(json_output=True), replace(wish, dry_run=dry)) == 0
        said = capsys.readouterr()
        document = json.loads(said.out)
        if dry:
            states.append(document["models"]["exact-pair-small"]["state"])
        else:
            shown = said.err
    assert states == ["generated: it is not here", "hashed: it is here"]
    assert "draft.gguf" not in shown
    assert "target.gguf" in "".join(shown.split())


def test_who_names_a_pair_as_one_model_is_told_how_to_name_a_file_of_it(home: Home) -> None:
    with pytest.raises(UsageProblem, match="generated, not downloaded") as caught:
        ensure_model(home, "exact-pair-small")
    make, look = caught.value.hint.split(", then: ")
    assert make == "invoke fetch-models --model exact-pair-small"
    file = Path(look.removeprefix("invoke inspect-model --file "))
    verbs.fetch_models(home, Console(json_output=True), Wish(names=("exact-pair-small",)))
    assert file.is_file()
