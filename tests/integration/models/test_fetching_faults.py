"""Transfers that meet every kind of fault: what is resumed is right, what cannot be resumed begins again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ci.errors import DigestMismatch, DownloadFailed, ModelNotOffered, NotAModel
from ci.home import Home
from ci.models.fetch import File, ensure_files, files_of
from ci.models.lock import FromUrl, ModelEntry
from ci.models.sources import transfer
from ci.models.sources.answer import Origin
from tests.helpers.file_sites import Fault, Served, Site, serving
from tests.helpers.made_models import GGUF, entry, home_at, shard

PATH = "/files/tiny.gguf"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(transfer, "WAITS_S", (0.0, 0.0, 0.0))
    return home_at(tmp_path)


@pytest.fixture
def served() -> Served:
    return Served(content=GGUF)


@pytest.fixture
def site(served: Served) -> Iterator[Site]:
    with serving(Site(files={PATH: served})) as running:
        yield running


def model(site: Site, content: bytes = GGUF) -> ModelEntry:
    return entry(url=FromUrl(address=f"{site.url}{PATH}", shard=(shard(content),)))


def with_partial(home: Home, site: Site, content: bytes, **origin: object) -> File:
    """Bytes that an earlier run left, of a file that was called `"v1"`."""
    (file,) = files_of(home, model(site))
    known = {"address": f"{site.url}{PATH}", "tag": '"v1"', "size": len(GGUF)} | origin
    file.partial.begin(Origin.model_validate(known))
    file.partial.path.write_bytes(content)
    return file


def assert_fetched(home: Home, site: Site) -> None:
    (path,) = ensure_files(home, model(site))
    assert path.read_bytes() == GGUF
    assert not list(path.parent.glob("*.partial*"))
    assert not list(path.parent.glob(".*.partial*"))


def assert_nothing_kept(home: Home) -> None:
    kept = [path.name for path in home.models.rglob("*") if path.is_file() and path.name != ".lock"]
    assert kept == []


def test_a_partial_is_gone_on_from(home: Home, site: Site) -> None:
    with_partial(home, site, GGUF[:400])
    assert_fetched(home, site)
    assert site.ranges == ["bytes=400-"]
    assert site.asked[0].headers["if-range"] == '"v1"'
    assert site.asked[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("faults", "requests"),
    [
        ({Fault.NO_RANGES}, 1),
        ({Fault.FROM_START}, 2),
        ({Fault.UNSATISFIABLE}, 2),
        ({Fault.GZIP}, 2),
        ({Fault.NO_TAG}, 1),
    ],
    ids=lambda value: "-".join(sorted(fault.name for fault in value)) if isinstance(value, set) else "",
)
def test_a_partial_is_never_joined_with_bytes_that_do_not_follow_it(
    home: Home, site: Site, served: Served, faults: set[Fault], requests: int
) -> None:
    served.faults = frozenset(faults)
    with_partial(home, site, GGUF[:400])
    assert_fetched(home, site)
    assert len(site.asked) == requests


@pytest.mark.parametrize("faults", [frozenset(), frozenset({Fault.DEAF_TAG})], ids=["heeds", "ignores If-Range"])
def test_a_file_that_changed_at_the_server_begins_again(
    home: Home, site: Site, served: Served, faults: frozenset[Fault]
) -> None:
    with_partial(home, site, b"GGUF" + b"?" * 396, tag='"v0"')
    served.faults = faults
    assert_fetched(home, site)
    assert site.ranges == (["bytes=400-", None] if faults else ["bytes=400-"])


def test_a_complete_partial_is_verified_and_nobody_is_asked(home: Home, site: Site) -> None:
    with_partial(home, site, GGUF)
    assert_fetched(home, site)
    assert site.asked == []


def test_a_partial_that_is_too_long_begins_again(home: Home, site: Site) -> None:
    with_partial(home, site, GGUF + b"x" * 200)
    assert_fetched(home, site)
    assert site.ranges == [None]


def test_a_partial_of_nobody_knows_what_begins_again(home: Home, site: Site) -> None:
    file = with_partial(home, site, GGUF[:400])
    file.partial.note.write_text("{", encoding="utf-8")
    assert_fetched(home, site)
    assert site.ranges == [None]


def test_a_wrong_partial_of_a_silent_server_is_fetched_once_more_from_the_start(
    home: Home, site: Site, served: Served
) -> None:
    served.faults = frozenset({Fault.NO_TAG})
    with_partial(home, site, b"GGUF" + b"?" * 396)
    assert_fetched(home, site)
    assert site.ranges == ["bytes=400-", None]


@pytest.mark.parametrize("fault", [Fault.CUT, Fault.CUT_SILENTLY])
def test_a_broken_connection_is_taken_up_again(home: Home, site: Site, served: Served, fault: Fault) -> None:
    served.faults, served.times = frozenset({fault}), 1
    assert_fetched(home, site)
    assert site.ranges == [None, "bytes=700-"]


@pytest.mark.parametrize("fault", [Fault.CUT, Fault.CUT_SILENTLY])
def test_a_short_read_is_an_error_and_keeps_what_came(home: Home, site: Site, served: Served, fault: Fault) -> None:
    served.faults = frozenset({fault})
    with pytest.raises(DownloadFailed, match="are kept"):
        ensure_files(home, model(site))
    (file,) = files_of(home, model(site))
    assert not file.path.exists()
    assert file.partial.path.read_bytes() == GGUF[:700]
    served.faults = frozenset()
    assert_fetched(home, site)
    assert site.ranges[-1] == "bytes=700-"


def test_every_try_that_brings_something_counts_anew(home: Home, site: Site) -> None:
    class Further(Served):
        def next_faults(self) -> frozenset[Fault]:
            self.cut += 100
            return super().next_faults()

    site.files[PATH] = Further(content=GGUF, faults=frozenset({Fault.CUT}), cut=0)
    assert_fetched(home, site)
    assert len(site.asked) == 10


def test_a_busy_server_is_asked_again(home: Home, site: Site, served: Served) -> None:
    served.faults, served.times = frozenset({Fault.BUSY}), 3
    assert_fetched(home, site)
    assert len(site.asked) == 4


def test_a_server_that_stays_busy_is_told(home: Home, site: Site, served: Served) -> None:
    served.faults = frozenset({Fault.BUSY})
    with pytest.raises(DownloadFailed, match=f"{PATH}: the server answers 503"):
        ensure_files(home, model(site))
    assert len(site.asked) == transfer.TRIES
    assert_nothing_kept(home)


def test_compressed_bytes_are_unpacked_when_all_of_them_come(home: Home, site: Site, served: Served) -> None:
    served.faults = frozenset({Fault.GZIP})
    assert_fetched(home, site)


def test_more_bytes_than_pinned_are_refused(home: Home, site: Site, served: Served) -> None:
    served.faults = frozenset({Fault.TOO_MUCH})
    with pytest.raises(DigestMismatch, match="more than 1000 bytes came"):
        ensure_files(home, model(site))
    assert_nothing_kept(home)


@pytest.mark.parametrize(("before", "requests"), [(b"", 1), (GGUF[:400], 2)], ids=["fresh", "resumed"])
def test_a_wrong_digest_does_not_loop(home: Home, site: Site, served: Served, before: bytes, requests: int) -> None:
    served.content = GGUF[:-1] + b"?"
    if before:
        with_partial(home, site, before)
    with pytest.raises(DigestMismatch, match=r"sha256 is [0-9a-f]{64}, the pin is [0-9a-f]{64}; nothing was kept"):
        ensure_files(home, model(site))
    assert len(site.asked) == requests
    assert_nothing_kept(home)


def test_another_size_than_pinned_is_told_before_the_bytes_come(home: Home, site: Site, served: Served) -> None:
    served.content = GGUF + b"x"
    with pytest.raises(DigestMismatch, match="a file of 1001 bytes, the pin says 1000"):
        ensure_files(home, model(site))
    assert_nothing_kept(home)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 5\n",
            "a Git LFS pointer \\(ab, 5 bytes\\)",
        ),
        (b"<!DOCTYPE html><html>", "an HTML page.*/resolve/ gives the file"),
        (b"\n\n <html>", "an HTML page"),
        (b"tjgg" + bytes(100), "an old ggml file"),
        (b"", "an empty file"),
        (b"GGU", "3 bytes: an interrupted download"),
        (b'{"error": "Entry not found"}', 'a JSON answer: {"error": "Entry not found"}'),
    ],
)
def test_what_is_no_model_is_named_and_never_kept(
    home: Home, site: Site, served: Served, content: bytes, words: str
) -> None:
    served.content = content
    with pytest.raises(NotAModel, match=words):
        ensure_files(home, model(site))
    assert len(site.asked) == 1
    assert_nothing_kept(home)


def test_a_log_in_page_instead_of_the_rest_does_not_cost_what_is_here(home: Home, site: Site, served: Served) -> None:
    file = with_partial(home, site, GGUF[:400])
    served.content = b"<html>log in</html>"
    served.faults = frozenset({Fault.NO_RANGES})
    with pytest.raises(NotAModel, match="HTML page"):
        ensure_files(home, model(site))
    assert file.partial.path.read_bytes() == GGUF[:400]
    served.content, served.faults = GGUF, frozenset()
    assert_fetched(home, site)
    assert site.ranges == ["bytes=400-"] * 2


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (404, ModelNotOffered, "no such file"),
        (403, DownloadFailed, "access refused"),
        (401, DownloadFailed, "access refused"),
        (418, DownloadFailed, "the server answers 418"),
        (206, DownloadFailed, "the server answers 206"),
    ],
)
def test_an_answer_without_bytes_is_told_at_once(
    home: Home, site: Site, served: Served, status: int, kind: type[Exception], words: str
) -> None:
    served.status = status
    with pytest.raises(kind, match=words):
        ensure_files(home, model(site))
    assert len(site.asked) == 1
    assert_nothing_kept(home)


@pytest.mark.parametrize(
    ("target", "words"),
    [(PATH, "more than 5 redirects"), ("ftp://127.0.0.1/x", "redirects to ftp://127.0.0.1/x"), ("", "to nothing")],
)
def test_a_redirect_to_nowhere_is_told(home: Home, site: Site, target: str, words: str) -> None:
    site.redirects[PATH] = (target, {})
    with pytest.raises(DownloadFailed, match=words):
        ensure_files(home, model(site))


def test_nobody_there_is_told(home: Home, site: Site) -> None:
    gone = entry(url=FromUrl(address="http://127.0.0.1:1/a/tiny.gguf?signature=secret", shard=(shard(),)))
    with pytest.raises(DownloadFailed) as caught:
        ensure_files(home, gone)
    assert "127.0.0.1:1/a/tiny.gguf?***" in caught.value.message
    assert "secret" not in str(caught.value)


def test_passwords_of_netrc_stay_at_home(
    home: Home, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n", encoding="utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    assert_fetched(home, site)
    assert all("authorization" not in asked.headers for asked in site.asked)
