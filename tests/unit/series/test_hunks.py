from dataclasses import dataclass, replace
from os import fsencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.series.hunks import FileDiff, Hunk, Line, parse_diff, places_of, shown, unquote
from ci.series.patch_diff import Spans, stray_line
from tests.helpers.diffs import render_diff

HEAD = b"diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n"
NO_NEWLINE = b"\\ No newline at end of file\n"


@dataclass(frozen=True)
class Edit:
    """A stretch that stays, then lines that go and lines that come."""

    kept: tuple[bytes, ...]
    removed: tuple[bytes, ...]
    added: tuple[bytes, ...]


texts = st.lists(st.binary(max_size=4).map(lambda text: text.replace(b"\n", b"") + b"\n"), max_size=4).map(tuple)
edits = st.builds(Edit, kept=texts.filter(bool), removed=texts, added=texts).filter(
    lambda edit: edit.removed != edit.added
)


def written(edits: list[Edit], context: int) -> tuple[bytes, bytes, bytes]:
    """Old file, new file, and the diff with a hunk an edit; a hunk never reaches into its neighbour's lines."""
    old = new = b""
    diff = HEAD
    for edit in edits:
        old, new = old + b"".join(edit.kept), new + b"".join(edit.kept)
        before = edit.kept[max(0, len(edit.kept) - context) :]
        counts = len(before) + len(edit.removed), len(before) + len(edit.added)
        starts = (
            text.count(b"\n") - len(before) + (count > 0) for text, count in zip((old, new), counts, strict=True)
        )
        spans = tuple(
            f"{start}{f',{count}' if count != 1 else ''}" for start, count in zip(starts, counts, strict=True)
        )
        diff += f"@@ -{spans[0]} +{spans[1]} @@ f()\n".encode()
        signed = ((b" ", before), (b"-", edit.removed), (b"+", edit.added))
        diff += b"".join(sign + line for sign, lines in signed for line in lines)
        old, new = old + b"".join(edit.removed), new + b"".join(edit.added)
    return old, new, diff


def applied(hunks: tuple[Hunk, ...], old: bytes) -> bytes:
    """What a strict patch program would make of the old file, by line numbers."""
    lines, done, at = [line + b"\n" for line in old.split(b"\n")[:-1]], b"", 1
    for hunk in hunks:
        for line in hunk.lines:
            done += b"".join(lines[at - 1 : line.old - 1])
            at = max(at, line.old)
            assert done.count(b"\n") + 1 == line.new
            if line.sign == b"+":
                done += line.text
                continue
            assert lines[at - 1] == line.text
            done += line.text if line.sign == b" " else b""
            at += 1
    return done + b"".join(lines[at - 1 :])


@given(st.lists(edits, min_size=1, max_size=4), st.integers(0, 3))
def test_a_diff_is_read_back_to_the_byte_and_means_what_it_says(edits: list[Edit], context: int) -> None:
    old, new, diff = written(edits, context)
    assert stray_line(diff, 0) is None
    files = parse_diff(diff)
    assert render_diff(files) == diff
    (file,) = files
    assert len(file.hunks) == len(edits)
    assert not file.rest
    assert applied(file.hunks, old) == new


@given(st.binary())
def test_any_bytes_are_read_and_given_back_from_the_first_file_on(noise: bytes) -> None:
    diff = HEAD + noise
    end = b"" if diff.endswith(b"\n") else b"\n"
    assert render_diff(parse_diff(b"---\n f | 2 +-\n\n" + diff)) == diff + end


def test_nothing_is_read_where_no_file_begins() -> None:
    assert parse_diff(b"") == ()
    assert parse_diff(b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n") == ()


def test_lines_carry_their_numbers_and_their_ends() -> None:
    diff = HEAD + b"@@ -7,2 +9,3 @@ f()\n same\n-old\n" + NO_NEWLINE + b"+new\n+last\r\n" + NO_NEWLINE
    (file,) = parse_diff(diff)
    (hunk,) = file.hunks
    assert tuple(hunk.lines) == (
        Line(sign=b" ", text=b"same\n", old=7, new=9),
        Line(sign=b"-", text=b"old", old=8, new=10),
        Line(sign=b"+", text=b"new\n", old=9, new=10),
        Line(sign=b"+", text=b"last\r", old=9, new=11),
    )
    assert hunk.spans == Spans(old_start=7, old_count=2, new_start=9, new_count=3)
    assert (hunk.preimage, hunk.postimage) == (b"same\nold", b"same\nnew\nlast\r")


@pytest.mark.parametrize(
    ("header", "old", "new"),
    [(b"@@ -0,0 +1 @@\n+a\n", 1, 1), (b"@@ -4,0 +5 @@\n+a\n", 5, 5), (b"@@ -5 +4,0 @@\n-a\n", 5, 5)],
)
def test_a_side_without_lines_is_numbered_by_the_line_in_front_of_it(header: bytes, old: int, new: int) -> None:
    (line,) = parse_diff(HEAD + header)[0].hunks[0].lines
    assert (line.old, line.new) == (old, new)


def test_a_hunk_is_cut_where_a_line_stays() -> None:
    (hunk,) = parse_diff(HEAD + b"@@ -1,5 +1,5 @@\n-a\n b\n c\n-d\n+e\n f\n+g\n")[0].hunks
    parts = [(run.above, b"".join(line.text for line in run.lines), run.below) for run in hunk.runs]
    assert parts == [(b"", b"a\n", b"b\n"), (b"c\n", b"d\ne\n", b"f\n"), (b"f\n", b"g\n", b"")]
    assert [run.result for run in hunk.runs] == [b"b\n", b"c\ne\nf\n", b"f\ng\n"]


@given(
    st.lists(st.sampled_from([b"a", b"b", b"\n", b"ab"]), max_size=12),
    st.sampled_from([b"a\n", b"a\nb\n", b"a", b"\n", b""]),
)
def test_places_are_the_lines_where_whole_lines_stand(pieces: list[bytes], text: bytes) -> None:
    blob = b"".join(pieces)
    lines = [line + b"\n" for line in blob.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    count = text.count(b"\n") or 1
    expected = [at for at in range(1, len(lines) + 1) if text and b"".join(lines[at - 1 : at - 1 + count]) == text]
    assert list(places_of(text, blob)) == expected


def test_an_empty_context_line_may_have_lost_its_blank() -> None:
    (hunk,) = parse_diff(HEAD + b"@@ -1,3 +1,3 @@\n\n-a\n+b\n\n")[0].hunks
    assert (hunk.preimage, hunk.postimage) == (b"\na\n\n", b"\nb\n\n")
    assert [line.sign for line in hunk.lines] == [b" ", b"-", b"+", b" "]


def test_the_signature_of_a_mail_belongs_to_no_hunk() -> None:
    (file,) = parse_diff(HEAD + b"@@ -1 +1 @@\n-a\n+b\n-- \n2.43.0\n\n")
    assert [line.text for line in file.hunks[0].lines] == [b"a\n", b"b\n"]
    assert file.rest == (b"-- ", b"2.43.0", b"")


def test_of_a_diff_that_is_cut_short_the_whole_hunks_are_read() -> None:
    diff = HEAD + b"@@ -1 +1 @@\n-a\n+b\n@@ -9,3 +9,3 @@\n c\n"
    (file,) = parse_diff(diff)
    assert stray_line(diff, 0)
    assert len(file.hunks) == 1
    assert render_diff([file]) == diff


@pytest.mark.parametrize(
    ("diff", "old", "new"),
    [
        (HEAD, "f", "f"),
        (b"diff --git a/a b b/a b\nold mode 100644\nnew mode 100755\n", "a b", "a b"),
        (b"diff --git a/n b/n\nnew file mode 100644\nindex 0..e\n", None, "n"),
        (
            b"diff --git a/n b/n\nnew file mode 100644\nindex 0..e\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n",
            None,
            "n",
        ),
        (b"diff --git a/g b/g\ndeleted file mode 100644\nindex e..0\n", "g", None),
        (
            b"diff --git a/g b/g\ndeleted file mode 100644\nindex e..0\n--- a/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
            "g",
            None,
        ),
        (b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", "x", "y"),
        (b"diff --git a/x b/y z\nsimilarity index 90%\ncopy from x\ncopy to y z\n", "x", "y z"),
        (b'diff --git "a/\\377\\t" "b/\\377\\t"\nold mode 100644\nnew mode 100755\n', "\udcff\t", "\udcff\t"),
        (b"diff --git a/s p b/s p\n--- a/s p\t\n+++ b/s p\t\n@@ -1 +1 @@\n-a\n+b\n", "s p", "s p"),
    ],
)
def test_both_names_of_a_file_are_read(diff: bytes, old: str | None, new: str | None) -> None:
    (file,) = parse_diff(diff)
    assert (file.old, file.new) == (old, new)
    assert file.path == (new or old)
    assert file.paths == tuple(dict.fromkeys(name for name in (old, new) if name))


def test_a_binary_change_has_no_hunks() -> None:
    diff = (
        b"diff --git a/f b/f\nindex 0..2\nGIT binary patch\nliteral 3\nKcmZQzWMT#Y01f~L\n\nliteral 0\nHcmV?d00001\n\n"
    )
    (file,) = parse_diff(diff)
    assert file.hunks == ()
    assert render_diff([file]) == diff


def test_a_file_behind_another_begins_anew() -> None:
    first, second = HEAD + b"@@ -1 +1 @@\n-a\n+b\n", HEAD.replace(b"/f", b"/g") + b"@@ -1 +1 @@\n--- a\n+++ b\n"
    files = parse_diff(first + second)
    assert [len(file.hunks) for file in files] == [1, 1]
    assert [line.text for line in files[1].hunks[0].lines] == [b"-- a\n", b"++ b\n"]


@given(st.binary(min_size=1).filter(lambda path: b"\0" not in path))
def test_quoting_as_git_does_is_undone(path: bytes) -> None:
    quoted = b'"' + b"".join(
        b"\\%03o" % byte if byte < 32 or byte > 126 or byte in b'"\\' else bytes([byte]) for byte in path
    )
    assert unquote(quoted + b'"') == path


def test_a_value_can_be_changed_and_written() -> None:
    (file,) = parse_diff(HEAD + b"@@ -1 +1 @@\n-a\n+b\n")
    assert isinstance(file, FileDiff)
    assert render_diff([replace(file, hunks=())]) == HEAD
    assert fsencode(file.path) == b"f"


@pytest.mark.parametrize(
    ("path", "text"),
    [("src/f.c", "src/f.c"), ("\u00e9 b", "\u00e9 b"), ("\udcff\n\t", "\\xff\\n\\t"), ("\u202ex", "\\u202ex")],
)
def test_a_path_can_be_shown(path: str, text: str) -> None:
    assert shown(path) == text
