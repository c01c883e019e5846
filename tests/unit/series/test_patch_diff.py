"""What a patch file may hold after its first `diff --git` line, and what is refused instead of dropped."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.series.patch import Patch, parse_patch
from ci.series.patch_diff import stray_line
from tests.helpers.mails import MAIL

PATH = Path("one.patch")
END = MAIL.count(b"\n")
SIGNATURE = b"-- \n2.43.0\n\n"
NO_NEWLINE = b"\\ No newline at end of file\n"
FILE = b"diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n"
HUNK = b"@@ -1,2 +1,2 @@ int f()\n same\n-old\n+new\n"
BINARY = (
    b"diff --git a/f b/f\nnew file mode 100644\nindex 0..2\nGIT binary patch\n"
    b"literal 3\nKcmZQzWMT#Y01f~L\n\nliteral 0\nHcmV?d00001\n\n"
)


def fault(raw: bytes) -> str:
    parsed = parse_patch(PATH, raw)
    assert isinstance(parsed, tuple), "was accepted"
    (only,) = parsed
    return only


def accepted(raw: bytes) -> bool:
    return isinstance(parse_patch(PATH, raw), Patch)


@pytest.mark.parametrize("tail", [b"", b"\n", SIGNATURE, b"-- \n", b"-- \n2.39.5 (Apple Git-154)\n\n"])
def test_a_mail_may_end_in_the_signature_of_git(tail: bytes) -> None:
    assert accepted(MAIL + tail)


@pytest.mark.parametrize("between", [b"", SIGNATURE])
def test_a_second_mail_without_its_first_line_is_refused(between: bytes) -> None:
    line = END + between.count(b"\n") + 1
    said = fault(MAIL + between + MAIL.partition(b"\n")[2] + SIGNATURE)
    assert said == f"line {line}: 'From: A Person <a@example.org>' is no part of the diff, git would drop it"


@pytest.mark.parametrize(
    "line", [b"xx garbage", b"From: x", b"Subject: x", b"Speed-Id: two", b"+aaa", b"-aaa", b" aaa", b"--- a/g", b"--"]
)
@pytest.mark.parametrize("after", [b"", b"\n", SIGNATURE, b"diff --git a/g b/g\nnew file mode 100644\nindex 0..e\n"])
def test_a_line_that_is_no_diff_is_named_with_its_number(line: bytes, after: bytes) -> None:
    assert fault(MAIL + line + b"\n" + after).startswith(f"line {END + 1}: {line.decode()!r} is no part of the diff")


@pytest.mark.parametrize("line", [b"Speed-Id: two", b"+aaa", b"3.14-is-no-second-version"])
def test_nothing_stands_behind_the_signature(line: bytes) -> None:
    assert fault(MAIL + SIGNATURE + line + b"\n").startswith(f"line {END + 4}: {line.decode()!r} is no part")


def test_a_line_between_the_headers_of_a_diff_is_refused() -> None:
    assert "line 2: 'note'" in str(stray_line(FILE.replace(b"index", b"note\nindex") + HUNK, 0))


def test_bytes_that_are_no_text_are_shown_escaped_and_short() -> None:
    assert f"line {END + 1}: '\\\\xff{'x' * 59}' is" in fault(MAIL + b"\xff" + b"x" * 500 + b"\n")


@pytest.mark.parametrize(
    ("diff", "line"),
    [
        (FILE + b"@@ -1,2 +1,2 @@\n same\n-old\n", 7),
        (FILE + b"@@ -1,2 +1,2 @@\n same\n-old\n-older\n+new\n", 8),
        (FILE + b"@@ -1,2 +1,2 @@\n same\n-old\nFrom: x\n", 8),
        (FILE + b"@@ -1,3 +1,3 @@\n same\n-old\n+new\n@@ -9 +9 @@\n-a\n+b\n", 9),
        (FILE + b"@@ -1,3 +1,3 @@\n same\n-old\n+new\n" + BINARY, 9),
        (FILE, 4),
        (FILE + BINARY, 5),
    ],
)
def test_a_hunk_that_ends_before_its_count_is_refused(diff: bytes, line: int) -> None:
    assert stray_line(diff, 0) == f"hunk is cut short at line {line}"
    assert stray_line(diff, 100) == f"hunk is cut short at line {100 + line}"


@pytest.mark.parametrize(
    "diff",
    [
        FILE + HUNK,
        FILE + HUNK + HUNK + FILE + HUNK,
        FILE + b"@@ -1 +1 @@\n-old\n" + NO_NEWLINE + b"+new\n" + NO_NEWLINE,
        FILE + b"@@ -1,2 +1,2 @@\n\n-old\n+new\n",
        FILE + b"@@ -0,0 +1,2 @@\n+-- \n+diff --git a/x b/x\n",
        FILE + b"@@ -1,2 +0,0 @@\n--- a/x\n--- \n",
        FILE + b"@@ -1 +1 @@ \xff\n-\xe9\x00\n+\xfe\r\r\n",
        BINARY + FILE + HUNK,
        BINARY.replace(b"literal 0", b"delta 0"),
        b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n" + FILE + HUNK,
        b"diff --git a/x b/y\nsimilarity index 90%\ncopy from x\ncopy to y\n",
        b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\ndissimilarity index 80%\n",
        b"diff --git a/x b/x\ndeleted file mode 100644\nindex e..0\n",
        b"---\n f | 2 +-\n 1 file changed\n\n" + FILE + HUNK,
    ],
)
def test_what_git_writes_is_accepted(diff: bytes) -> None:
    assert stray_line(diff, 0) is None
    assert stray_line(diff + SIGNATURE, 0) is None


def test_text_behind_a_binary_change_is_refused() -> None:
    assert "line 11: 'note'" in str(stray_line(BINARY + b"note\n", 0))
    assert "line 6: 'no data'" in str(stray_line(BINARY.replace(b"KcmZQzWMT#Y01f~L", b"no data"), 0))


def test_a_byte_order_mark_is_refused_by_name() -> None:
    assert "begins with a byte order mark" in fault(b"\xef\xbb\xbf" + MAIL)


@pytest.mark.parametrize(
    "line", [b"diff --git a/src/f.c b/src/f.c", b" 100644", b"--- a/src/f.c", b"+++ b/src/f.c", b" @@"]
)
def test_one_converted_line_of_a_diff_tells_that_the_file_was_converted(line: bytes) -> None:
    assert "CRLF line ends" in fault(MAIL.replace(line + b"\n", line + b"\r\n"))


def test_a_mail_whose_diff_alone_was_converted_is_refused() -> None:
    head, mark, diff = MAIL.partition(b"---\ndiff")
    assert "CRLF line ends" in fault(head + (mark + diff).replace(b"\n", b"\r\n"))


def test_a_hunk_whose_every_line_ends_in_crlf_is_a_patch_of_such_a_file() -> None:
    assert accepted(MAIL.replace(b"caf\xe9\n", b"caf\xe9\r\n") + SIGNATURE)


@given(
    st.lists(st.sampled_from([b" ", b"-", b"+"]), min_size=1, max_size=9), st.binary(max_size=9), st.integers(0, 8)
)
def test_counted_lines_are_never_mistaken_for_anything_else(signs: list[bytes], text: bytes, at: int) -> None:
    old, new = (sum(sign != other for sign in signs) for other in (b"+", b"-"))
    lines = [sign + text.replace(b"\n", b"") + b"\n" for sign in signs]
    header = FILE + b"@@ -1,%d +1,%d @@\n" % (old, new)
    assert stray_line(header + b"".join(lines) + SIGNATURE, 0) is None
    del lines[at % len(lines)]
    assert stray_line(header + b"".join(lines) + BINARY, 0) == f"hunk is cut short at line {6 + len(lines)}"
