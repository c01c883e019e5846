"""Servers that mean ill or fall silent: an error of ours, every byte kept, and nobody has to wait for them."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ci.errors import DownloadFailed, Interrupted, NotAModel, UsageProblem
from ci.home import Home
from ci.models import fetch
from ci.models.fetch import ensure_files, files_of
from ci.models.lock import FromUrl, ModelEntry
from ci.models.shelf import silent
from ci.models.side_by_side import in_parallel
from ci.models.sources import transfer
from ci.models.sources.answer import Origin
from ci.models.sources.asking import Broken, Wanted, asked
from tests.helpers.made_models import GGUF, entry, home_at, shard
from tests.helpers.raw_site import End, saying

OK = b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: "v1"\r\n\r\n'
DIGITS = b"9" * 5000


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(transfer, "WAITS_S", (0.0, 0.0, 0.0))
    return home_at(tmp_path)


def model(url: str) -> ModelEntry:
    return entry(url=FromUrl(address=f"{url}/tiny.gguf", shard=(shard(),)))


def moved(to: bytes) -> bytes:
    return b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + to + b"\r\n\r\n"


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 204 No Content\r\nX-Linked-Size: " + DIGITS + b"\r\n\r\n",
        b"HTTP/1.1 416 No\r\nContent-Length: 0\r\nContent-Range: bytes */" + DIGITS + b"\r\n\r\n",
        b"HTTP/1.1 206 Some\r\nContent-Length: 0\r\nContent-Range: bytes 0-1/" + DIGITS + b"\r\n\r\n",
        moved(b"http://[::1"),
        moved(b"http://" + b"a" * 70 + b".example/x"),
        moved(b"http://\xff\xfe/x"),
        moved(b"http://127.0.0.1:99999/x"),
        moved(b"file:///etc/passwd"),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
        b"no HTTP at all\r\n\r\n",
    ],
    ids=lambda said: said[9:60].decode("latin1"),
)
def test_no_answer_gets_further_than_an_error_of_ours(home: Home, said: bytes) -> None:
    with saying(said) as site, pytest.raises(DownloadFailed):
        ensure_files(home, model(site.url))


def test_a_length_of_thousands_of_digits_says_nothing(home: Home) -> None:
    said = b"HTTP/1.1 200 OK\r\nContent-Length: " + DIGITS + b"\r\n\r\n<html>"
    with saying(said) as site, pytest.raises(NotAModel, match="HTML page"):
        ensure_files(home, model(site.url))


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        (moved(b"/tiny.gguf"), "name the address of the file itself"),
        (moved(b"file:///etc/passwd"), "name the address of the file itself"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "name the address of the file itself"),
        (b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", "download the file yourself"),
    ],
)
def test_what_another_try_cannot_mend_has_words_of_its_own(home: Home, said: bytes, hint: str) -> None:
    with saying(said) as site, pytest.raises(DownloadFailed) as caught:
        ensure_files(home, model(site.url))
    assert hint in caught.value.hint


@contextlib.contextmanager
def coming(end: End) -> Iterator[Iterator[bytes]]:
    """What comes of a file whose sender ends after 777 of its 1,000 bytes."""
    with saying(OK + GGUF[:777], end) as site, asked(Wanted(address=site.url), have=0, before=None) as reply:
        yield reply.chunks


def test_a_reset_costs_no_byte_that_came() -> None:
    came = list[bytes]()
    with pytest.raises(Broken, match="reset"), coming(End.RESET) as chunks:
        came.extend(chunks)
    assert b"".join(came) == GGUF[:777]


def test_bytes_are_here_when_they_come() -> None:
    with coming(End.SILENCE) as chunks:
        assert GGUF.startswith(next(chunks))


def test_nobody_waits_for_a_silent_server_when_another_job_failed(home: Home) -> None:
    with saying(OK + GGUF[:777], End.SILENCE) as site:
        (file,) = files_of(home, model(site.url))
        wanted = fetch.wanted_file(model(site.url), file.shard, {})

        def failing(_: threading.Event) -> None:
            assert site.sent.wait(30)
            raise UsageProblem("enough")

        with pytest.raises(UsageProblem, match="enough"):
            in_parallel([failing, lambda stop: fetch.bring(wanted, file, lambda *_: None, stop)])
        assert not site.over.is_set()


def test_hashing_ends_when_somebody_stops() -> None:
    stop, told = threading.Event(), list[int]()
    report = fetch.stoppable(lambda done, *_: told.append(done), stop)
    report(1, 2, "verifying")
    stop.set()
    with pytest.raises(Interrupted):
        report(2, 2, "verifying")
    assert told == [1]


def test_a_partial_that_leads_elsewhere_is_not_followed(home: Home, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(GGUF[:400])
    with saying(OK + GGUF) as site:
        (file,) = files_of(home, model(site.url))
        file.partial.begin(Origin(address=f"{site.url}/tiny.gguf", tag='"v1"', size=len(GGUF)))
        file.partial.path.unlink()
        file.partial.path.symlink_to(precious)
        assert ensure_files(home, model(site.url)) == (file.path,)
    assert precious.read_bytes() == GGUF[:400]
    assert not file.path.is_symlink()


@pytest.mark.parametrize("name", ["tiny.gguf", ".tiny.gguf.partial"])
def test_a_folder_in_the_place_of_the_file_is_told_before_anybody_is_asked(home: Home, name: str) -> None:
    gone = model("http://127.0.0.1:1")
    (file,) = files_of(home, gone)
    file.path.with_name(name).mkdir(parents=True)
    with pytest.raises(UsageProblem, match="a folder is in the place") as caught:
        ensure_files(home, gone)
    assert caught.value.hint.startswith("mv ")


class Waits(threading.Event):
    """Remembers how long it was waited for, and lets nobody wait."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = list[float | None]()

    def wait(self, timeout: float | None = None) -> bool:
        self.asked.append(timeout)
        return False


def test_a_busy_server_is_left_alone_for_as_long_as_it_asks(home: Home) -> None:
    stop = Waits()
    busy = b"HTTP/1.1 429 Slowly\r\nContent-Length: 0\r\nRetry-After: 7\r\n\r\n"
    (file,) = files_of(home, model("http://127.0.0.1:1"))
    with saying(busy) as site, pytest.raises(DownloadFailed, match="the server answers 429"):
        transfer.transfer(Wanted(address=site.url), file.partial, silent, stop)
    assert stop.asked == [7.0] * (transfer.TRIES - 1)


def test_a_host_without_encryption_or_certificate_has_words_of_its_own(home: Home) -> None:
    with saying(b"HTTP/1.1 400 Bad Request\r\n\r\n") as site, pytest.raises(DownloadFailed) as caught:
        ensure_files(home, model(site.url.replace("http:", "https:")))
    assert "certificates" in caught.value.hint
