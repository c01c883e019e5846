"""A commit object as bytes and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.series.intake.rawcommit import RawCommit, decoded, parse_commit

COMMITTER = "speedfork <speedfork@example.org> 1700000000 +0000"
LINE = st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b"").replace(b"\0", b""))
ID = st.text("0123456789abcdef", min_size=40, max_size=40)


@given(
    st.builds(
        RawCommit,
        tree=ID,
        parents=st.lists(ID, max_size=3).map(tuple),
        author=LINE,
        encoding=st.sampled_from(["", "ISO-8859-1", "KOI8-R"]),
        message=st.binary(max_size=200),
    )
)
def test_what_is_written_is_read(commit: RawCommit) -> None:
    assert parse_commit(commit.render(committer=COMMITTER)) == commit


def test_a_signature_is_passed_over() -> None:
    raw = (
        b"tree 1\nparent 2\nauthor A <a@x> 1 +0000\ncommitter B <b@x> 2 +0000\n"
        b"gpgsig -----BEGIN\n tree 9\n \n author X\n -----END\n\nsubject\n\ntree 7\n"
    )
    found = parse_commit(raw)
    assert (found.tree, found.parents, found.author) == ("1", ("2",), b"A <a@x> 1 +0000")
    assert found.message == b"subject\n\ntree 7\n"


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        (b"caf\xc3\xa9", "", "café"),
        (b"caf\xe9", "", "café"),
        (b"caf\xe9 caf\xc3\xa9", "", "café café"),
        (b"caf\xe9", "ISO-8859-1", "café"),
        (b"\xcb\xcf\xc6\xc5", "KOI8-R", "кофе"),
        (b"caf\xc3\xa9", "no-such-encoding", "café"),
    ],
)
def test_bytes_are_read_as_git_reads_them(data: bytes, encoding: str, text: str) -> None:
    assert decoded(data, encoding) == text
