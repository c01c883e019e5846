import errno
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tenacity

import ci.index as index_module
from ci.errors import DigestMismatch, DiskFull, IndexUnreachable, UsageProblem
from ci.index import IndexFile, IndexSettings, download, list_files, parse_pip_config, read_settings, settings_from
from tests.helpers.package_index import Index, serving

NAME = "some_project-1.0.tar.gz"
DATA = bytes(range(256)) * 2000
PIN = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    monkeypatch.setattr(index_module, "WAITS", tenacity.wait_none())
    with serving(Index(files={NAME: DATA})) as running:
        yield running


def get(index: Index, to: Path, *, pin: str = PIN, name: str = NAME) -> Path:
    return download(index.project, name, pin, to, environ=index.environ)


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("as_json", [True, False])
def test_a_pinned_file_arrives_under_its_own_name(index: Index, tmp_path: Path, as_json: bool) -> None:
    index.as_json = as_json
    path = get(index, tmp_path / "new" / "folder")
    assert path.read_bytes() == DATA
    assert left_in(path.parent) == [NAME]


def test_progress_ends_at_the_whole_size(index: Index, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    report: Callable[[int, int | None], None] = lambda done, total: seen.append((done, total))  # noqa: E731
    download(index.project, NAME, PIN, tmp_path, report, environ=index.environ)
    assert seen[-1] == (len(DATA), len(DATA))
    assert seen == sorted(seen)


def test_a_file_that_is_there_needs_no_network(index: Index, tmp_path: Path) -> None:
    get(index, tmp_path)
    index.requests.clear()
    assert get(index, tmp_path).read_bytes() == DATA
    assert index.requests == []
    offline = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CERT": "x"}
    assert download(index.project, NAME, PIN, tmp_path, environ=offline).is_file()


@pytest.mark.parametrize("damaged", [b"", DATA[:-1], DATA + b"\0", b"<html>"])
def test_wrong_bytes_under_the_name_are_fetched_again(index: Index, tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / NAME).write_bytes(damaged)
    assert get(index, tmp_path).read_bytes() == DATA


def test_other_bytes_than_pinned_are_not_kept(index: Index, tmp_path: Path) -> None:
    index.digests = False
    with pytest.raises(DigestMismatch) as refused:
        get(index, tmp_path, pin="0" * 64)
    assert NAME in refused.value.message
    assert PIN in refused.value.message
    assert "0" * 64 in refused.value.message
    assert left_in(tmp_path) == []


def test_another_announced_digest_is_refused_before_the_transfer(index: Index, tmp_path: Path) -> None:
    with pytest.raises(DigestMismatch, match="announces"):
        get(index, tmp_path, pin="0" * 64)
    assert index.requests == ["/simple/some-project/"]


def test_a_transfer_that_breaks_is_tried_again(index: Index, tmp_path: Path) -> None:
    index.cut_transfers = 2
    assert get(index, tmp_path).read_bytes() == DATA


def test_a_busy_server_is_asked_again(index: Index, tmp_path: Path) -> None:
    index.server_errors = 2
    assert get(index, tmp_path).read_bytes() == DATA


def test_the_number_of_tries_is_bounded(index: Index, tmp_path: Path) -> None:
    index.cut_transfers = 1000
    with pytest.raises(IndexUnreachable) as refused:
        get(index, tmp_path)
    assert index.requests.count(f"/files/{NAME}") == index_module.TRIES
    assert NAME in refused.value.message
    assert "pip config list" in refused.value.hint
    assert left_in(tmp_path) == []


def test_compression_on_the_way_does_not_change_the_bytes(index: Index, tmp_path: Path) -> None:
    index.compress = True
    assert get(index, tmp_path).read_bytes() == DATA


def test_an_unknown_project_is_said_at_once(index: Index, tmp_path: Path) -> None:
    with pytest.raises(IndexUnreachable, match="project other"):
        download("other", NAME, PIN, tmp_path, environ=index.environ)
    assert index.requests == ["/simple/other/"]


def test_a_file_that_the_project_does_not_have_is_named(index: Index, tmp_path: Path) -> None:
    with pytest.raises(IndexUnreachable, match=r"other-2\.tar\.gz.* has 1 file\(s\) of some-project"):
        get(index, tmp_path, name="other-2.tar.gz")


def test_a_page_that_is_no_page_is_an_unreachable_index(index: Index, tmp_path: Path) -> None:
    index.garbled_page = True
    with pytest.raises(IndexUnreachable):
        get(index, tmp_path)


def test_nobody_listening_is_an_unreachable_index_without_the_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "WAITS", tenacity.wait_none())
    environ = {"PIP_INDEX_URL": "http://user:hunter2@127.0.0.1:9/simple?token=hunter2", "PIP_CERT": "x"}
    with pytest.raises(IndexUnreachable) as refused:
        download("p", NAME, PIN, tmp_path, environ=environ)
    assert "hunter2" not in str(refused.value)


def test_no_space_left_is_said_and_nothing_stays(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pypi_simple.PyPISimple.download_package", full)
    with pytest.raises(DiskFull, match=NAME):
        get(index, tmp_path)
    assert left_in(tmp_path) == []


def test_a_file_larger_than_the_disk_is_refused_before_the_transfer(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10})())
    with pytest.raises(DiskFull, match=NAME):
        get(index, tmp_path)
    assert index.requests == ["/simple/some-project/"]


@pytest.mark.parametrize("name", ["../x.tar.gz", "/etc/x", "", ".", "..", "a/b"])
def test_a_name_that_leaves_the_folder_is_refused(index: Index, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageProblem):
        get(index, tmp_path, name=name)
    assert index.requests == []


def test_what_the_index_says_about_a_file(index: Index) -> None:
    assert list_files(index.project, environ=index.environ) == (IndexFile(filename=NAME, sha256=PIN, size=len(DATA)),)


def test_what_the_index_does_not_say_is_none(index: Index) -> None:
    index.as_json = index.digests = False
    assert list_files(index.project, environ=index.environ) == (IndexFile(filename=NAME, sha256=None, size=None),)


def test_a_project_that_the_index_does_not_know_is_named(index: Index) -> None:
    with pytest.raises(IndexUnreachable, match=r"project other: the index at .* does not know it"):
        list_files("other", environ=index.environ)


def test_the_environment_wins_over_pips_configuration() -> None:
    configured = {"global.index-url": "https://b.example.org/simple", "global.cert": "/b"}
    environ = {"PIP_INDEX_URL": "https://a.example.org/simple", "PIP_CERT": "/a"}
    assert settings_from(environ, configured) == IndexSettings(endpoint="https://a.example.org/simple", cert="/a")
    assert settings_from({}, configured) == IndexSettings(endpoint="https://b.example.org/simple", cert="/b")


def test_without_settings_the_librarys_default_counts() -> None:
    chosen = settings_from({}, {})
    assert chosen.endpoint.startswith("https://")
    assert chosen.cert is None


def test_pips_listing_is_read_as_literals() -> None:
    listing = (
        "global.index-url='https://x.example.org/a=b'\nglobal.cert=\"/it's\"\nodd line\nglobal.timeout=bare word"
    )
    assert parse_pip_config(listing) == {
        "global.index-url": "https://x.example.org/a=b",
        "global.cert": "/it's",
        "global.timeout": "bare word",
    }


def test_pips_own_configuration_file_is_honoured(tmp_path: Path) -> None:
    config = tmp_path / "pip.conf"
    config.write_text("[global]\nindex-url = https://mirror.example.org/simple\n", encoding="utf-8")
    settings = read_settings({"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PIP_CONFIG_FILE": str(config)})
    assert settings.endpoint == "https://mirror.example.org/simple"
