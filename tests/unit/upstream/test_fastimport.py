from hypothesis import given
from hypothesis import strategies as st

from ci.upstream.fastimport import quoted_path


def unquoted(text: bytes) -> bytes:
    """C unquoting as git does it: our oracle."""
    out, at = bytearray(), 1
    while at < len(text) - 1:
        if text[at : at + 1] == b"\\":
            out.append(int(text[at + 1 : at + 4], 8))
            at += 4
        else:
            out.append(text[at])
            at += 1
    return bytes(out)


@given(st.binary(min_size=1))
def test_any_path_survives_quoting(path: bytes) -> None:
    quoted = quoted_path(path)
    assert unquoted(quoted) == path
    assert quoted.isascii()
    assert b"\n" not in quoted


def test_quotes_and_backslashes_are_escaped() -> None:
    assert quoted_path(b'a"b\\c') == rb'"a\042b\134c"'
