"""Patch files as values: headers, subject, paths, and the files that are refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.series.patch import Patch, changed_lines, clean_subject, decode_words, parse_patch, read_mail, touched_files
from tests.helpers.mails import MAIL

PATH = Path("one.patch")


def patch(raw: bytes) -> Patch:
    parsed = parse_patch(PATH, raw)
    assert isinstance(parsed, Patch), parsed
    return parsed


def fault(raw: bytes) -> str:
    parsed = parse_patch(PATH, raw)
    assert isinstance(parsed, tuple)
    (only,) = parsed
    return only


def with_header(name: bytes, value: bytes) -> bytes:
    lines = MAIL.split(b"\n")
    return b"\n".join(name + b": " + value if line.startswith(name + b":") else line for line in lines)


def test_a_format_patch_file_becomes_a_value() -> None:
    found = patch(MAIL)
    assert (found.id, found.subject, found.author) == ("one", "Make one fast", "A Person <a@example.org>")
    assert found.files == ("src/f.c",)
    assert found.raw == MAIL


def test_about_is_the_message_without_subject_and_trailers() -> None:
    assert patch(MAIL).about == "Why it is faster."
    longer = MAIL.replace(b"Why it is faster.\n", b"Why it is faster.\n\nHow much:\n  a  b\n")
    assert patch(longer).about == "Why it is faster.\n\nHow much:\n  a  b"
    assert patch(MAIL.replace(b"Why it is faster.\n\n", b"")).about == ""


def test_a_subject_folded_over_lines_is_one_line() -> None:
    folded = with_header(b"Subject", b"[PATCH] " + b"word " * 12 + b"\n" + b" more" * 12)
    assert patch(folded).subject == " ".join(["word"] * 12 + ["more"] * 12)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("[PATCH 3/9] [CUDA] ggml: fix x", "[CUDA] ggml: fix x"),
        ("[PATCH] x", "x"),
        ("Re: [PATCH v2 1/2] x", "x"),
        ("[RFC PATCH] x", "x"),
        ("[CUDA] [HIP] x", "[CUDA] [HIP] x"),
        ("[CUDA] [PATCH] x", "[CUDA] x"),
        ("fix [PATCH] handling", "fix [PATCH] handling"),
        ("[open bracket", "[open bracket"),
        ("Read: x", "Read: x"),
        ("Re:", "Re:"),
        ("", ""),
        ("[PATCH]", ""),
    ],
)
def test_only_the_patch_bracket_leaves_the_subject(raw: str, clean: str) -> None:
    assert clean_subject(raw) == clean


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"=?iso-8859-1?q?J=F6rg?= <j@example.org>", "J\u00f6rg <j@example.org>"),
        (b"=?UTF-8?q?a=C3?= =?UTF-8?q?=A9b?=", "a\u00e9b"),
        (b"=?UTF-8?B?w6k=?=\t=?UTF-8?B?w6k=?=", "\u00e9\u00e9"),
        (b"=?big5?b?pKSk5Q==?= <b@example.org>", "\u4e2d\u6587 <b@example.org>"),
        (b"=?no-such-charset?q?caf=C3=A9?=", "caf\u00e9"),
        (b"=?utf-8?b?w?= x", "=?utf-8?b?w?= x"),
        (b"raw caf\xe9", "raw caf\u00e9"),
        (b"literal \\u0041", "literal \\u0041"),
    ],
)
def test_header_words_are_decoded_from_their_charset(raw: bytes, text: str) -> None:
    assert decode_words(raw) == text


def test_an_in_body_author_wins() -> None:
    raw = MAIL.replace(b"\n\nWhy", b"\n\nFrom: B Person <b@example.org>\n\nWhy")
    assert patch(raw).author == "B Person <b@example.org>"


def test_a_body_that_begins_with_from_is_prose() -> None:
    raw = MAIL.replace(b"\nWhy it is faster.", b"\nWhy:\n\nFrom the upstream thread: it helps.")
    found = patch(raw)
    assert found.author == "A Person <a@example.org>"
    assert "From the upstream thread" in read_mail(raw).body


def test_a_first_line_with_a_colon_is_no_header() -> None:
    assert "server: why" in read_mail(MAIL.replace(b"Why it is faster.", b"server: why")).body


def test_a_body_in_another_charset_is_read_without_a_traceback() -> None:
    assert "caf\u00e9" in read_mail(MAIL.replace(b"Why it", b"Why caf\xe9 it")).body


def test_a_mail_without_a_body_lacks_trailers_and_the_diff_is_not_the_description() -> None:
    raw = MAIL.replace(MAIL.partition(b"\n\n")[2].partition(b"---\n")[0], b"")
    assert "no trailers" in fault(raw)


def test_a_converted_file_is_named_as_such() -> None:
    assert "CRLF line ends" in fault(MAIL.replace(b"\n", b"\r\n"))


def test_a_patch_of_a_crlf_file_is_not_mistaken_for_a_converted_one() -> None:
    raw = MAIL.replace(b"-old caf\xe9", b"-old\r").replace(b"+new caf\xe9", b"+new\r")
    assert patch(raw).raw == raw


def test_two_mails_in_one_file_are_refused() -> None:
    assert fault(MAIL + MAIL) == "holds 2 mails: one file holds one patch"


def test_a_change_without_bytes_is_refused() -> None:
    diff = b"diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n"
    assert fault(MAIL.partition(b"diff --git")[0] + diff) == (
        "logo.png: made without --binary, the new bytes are not in the patch"
    )


def test_a_mail_without_a_change_is_refused() -> None:
    assert "carries no change" in fault(MAIL.partition(b"diff --git")[0])


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (b"From", b"nobody", "is not 'Name <address>'"),
        (b"Date", b"", "Date: missing header"),
        (b"Subject", b"[PATCH]", "Subject: missing or empty header"),
    ],
)
def test_headers_that_git_needs_are_missed_by_name(name: bytes, value: bytes, words: str) -> None:
    assert words in fault(with_header(name, value))


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (b"Content-Transfer-Encoding: quoted-printable", "'quoted-printable': made by a mail program"),
        (b"Content-Type: multipart/mixed; boundary=x", "multipart mail"),
    ],
)
def test_mails_from_a_mail_program_are_refused(extra: bytes, words: str) -> None:
    assert words in fault(MAIL.replace(b"\nDate:", b"\n" + extra + b"\nDate:", 1))


@pytest.mark.parametrize(
    ("diff", "files"),
    [
        (b"diff --git a/a b b/a b\nold mode 100644\nnew mode 100755\n", ("a b",)),
        (b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", ("x", "y")),
        (b'diff --git "a/\\303\\251\\t" "b/\\303\\251\\t"\nnew file mode 100644\nindex 0..e\n', ("\u00e9\t",)),
        (b'diff --git a/q b/q\n--- a/q\n+++ "b/\\"q\\\\"\n@@ -1 +1 @@\n', ('"q\\', "q")),
        (
            b"diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n",
            ("gone",),
        ),
        (b"diff --git a/with b/with\n--- a/with\n+++ b/with\n@@ -1,2 +1 @@\n--- a/not\n", ("with",)),
        (
            b"diff --git a/e b/e\nnew file mode 100644\nindex 0..e\ndiff --git a/f b/f\nnew file mode 100644\n",
            ("e", "f"),
        ),
        (b"diff --git a/s p b/s p\n--- a/s p\t\n+++ b/s p\t\n@@ -1 +1 @@\n", ("s p",)),
    ],
)
def test_touched_paths_are_read_from_the_headers_only(diff: bytes, files: tuple[str, ...]) -> None:
    assert touched_files(diff) == files


def test_changed_lines_carry_their_sign_and_raw_bytes() -> None:
    assert list(changed_lines(read_mail(MAIL).diff)) == [b"-old caf\xe9", b"+new caf\xe9"]


def test_the_signature_of_a_mail_is_no_removed_line() -> None:
    signed = MAIL + b"-- \n2.43.0\n\n"
    assert list(changed_lines(read_mail(signed).diff)) == list(changed_lines(read_mail(MAIL).diff))


@given(st.binary())
def test_any_bytes_give_faults_and_never_a_traceback(raw: bytes) -> None:
    assert isinstance(parse_patch(PATH, raw), tuple)


@given(st.binary(max_size=60), st.integers(0, len(MAIL)))
def test_damage_anywhere_never_gives_a_traceback(noise: bytes, at: int) -> None:
    parsed = parse_patch(PATH, MAIL[:at] + noise + MAIL[at:])
    assert parsed
    assert isinstance(parsed, (tuple, Patch))
