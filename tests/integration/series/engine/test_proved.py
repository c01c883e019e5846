"""Proved commits against `git am`: the same ids, or none at all."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ci.errors import SeriesProblem
from ci.series.engine.importing import applied_by_git
from ci.series.engine.proved import proved_commits
from ci.series.engine.workshop import workshop
from ci.series.order import load_series
from tests.helpers.histories import Entry, Past, changed, message, numbered

LINES = numbered(30)


def both(past: Past) -> tuple[tuple[str, ...] | None, object]:
    series = load_series(past.save(past.root / "patches"))
    base = past.builds[past.base]
    with workshop(past.git, past.root / "work") as shop:
        proved = proved_commits(shop, series, base)
    with workshop(past.git, past.root / "work") as shop:
        return proved, applied_by_git(shop, series, base)


@pytest.fixture
def past(tmp_path: Path) -> Past:
    past = Past(tmp_path)
    past.build("b100", {"f": LINES, "dir/g": b"no newline", "link": Entry(b"f", "120000"), "gone": LINES})
    return past


@pytest.mark.parametrize(
    "files",
    [
        {"f": changed(LINES, 12)},
        {"f": Entry(changed(LINES, 30), "100755")},
        {"dir/g": b"still none", "dir/new": b"", "gone": None},
        {"deep/er/new": numbered(3, end="\r\n")},
        {"f": LINES.replace(b"\n", b"\r\n")},
        {"name with blank": b"x\n", 'quo"te': b"y\n"},
    ],
)
def test_what_is_proved_has_the_ids_that_git_am_gives(past: Past, files: dict[str, bytes | Entry | None]) -> None:
    past.patch("one", files)
    past.patch("two", {"f": changed(LINES, 3, b"two"), "gone": None})
    proved, applied = both(past)
    assert proved is not None
    assert proved == applied


@pytest.mark.parametrize(
    "text",
    [
        message("one", "b100", subject="Ünïcödé " * 20),
        message(
            "one", "b100", subject="[CUDA] ggml: a subject of more than seventy-eight letters, which git has to fold"
        ),
        message("one", "b100", body="From the thread:\n\n\n\n  indented \t\n--\n>From here"),
        message("one", "b100", body="- diff\n+ none\n@@ nor this @@"),
    ],
)
def test_messages_come_out_as_git_am_writes_them(past: Past, text: str) -> None:
    past.patch("one", {"f": changed(LINES, 12)}, text=text)
    proved, applied = both(past)
    assert proved == applied


BY_HAND: Mapping[str, tuple[bytes, bytes]] = {
    "a zone that git spells otherwise": (b"22:13:20 +0000", b"22:13:20 -0000"),
    "no such zone": (b"22:13:20 +0000", b"22:13:20 +9999"),
    "no such hour": (b"22:13:20", b"25:13:20"),
    "before git's time": (b"14 Nov 2023", b"14 Nov 1969"),
    "after git's time": (b"14 Nov 2023", b"14 Nov 2100"),
    "a year of two digits": (b"14 Nov 2023", b"14 Nov 0023"),
    "another day of the week": (b"Tue, 14", b"Wed, 14"),
    "a day with a zero": (b"Tue, 14 Nov", b"Tue, 07 Nov"),
    "a name that ends in a control character": (b"From: speedfork", b"From: speedfork\x01"),
    "a name with a tab": (b"From: speedfork", b"From: speed\t fork"),
    "a quoted name": (b"From: speedfork", b'From: "J. Random" X'),
    "a quote in a name": (b"From: speedfork", b'From: speed".fork" Q'),
    "a remark in a name": (b"From: speedfork", b"From: speedfork (remark)"),
    "an encoded word that is cut off": (b"[PATCH] ", b"[PATCH] =?UTF-8?q?a "),
    "an encoded word of no kind": (b"[PATCH] ", b"[PATCH] =[[x] =?[] "),
    "an encoded control character": (b"From: speedfork", b"From: =?UTF-8?q?a=01b=01?="),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_what_git_reads_otherwise_or_not_at_all_is_left_to_it(past: Past, name: str) -> None:
    old, new = BY_HAND[name]
    raw = past.patch("one", {"f": changed(LINES, 12)})
    assert old in raw
    past.patches["one"] = raw.replace(old, new, 1)
    try:
        proved, applied = both(past)
    except SeriesProblem:
        with workshop(past.git, past.root / "work") as shop:
            assert proved_commits(shop, load_series(past.root / "patches"), past.builds["b100"]) is None
    else:
        assert proved in (None, applied)


@pytest.mark.parametrize("name", ["J. Random.", 'O\'Neil, "Jr"', "Ærøskøbing", "a <b"])
def test_authors_come_out_as_git_am_writes_them_or_are_left_to_it(past: Past, name: str) -> None:
    env = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_DATE": "1700000001 -0730"}
    past.patch("one", {"f": changed(LINES, 12)}, env=env)
    proved, applied = both(past)
    assert proved in (None, applied)


@pytest.mark.parametrize(
    "files",
    [
        {"f": Entry(b"dir/g", "120000")},
        {"link": b"a file now\n"},
        {".gitattributes": b"* -text\n"},
        {"bin": b"\0\1\2"},
    ],
)
def test_what_is_no_plain_text_change_is_left_to_git(past: Past, files: dict[str, bytes | Entry | None]) -> None:
    past.patch("one", files)
    proved, applied = both(past)
    assert proved is None
    assert isinstance(applied, tuple)


def test_a_patch_that_only_fits_with_an_offset_is_left_to_git(past: Past) -> None:
    raw = past.patch("one", {"f": changed(LINES, 12)})
    past.patches["one"] = raw.replace(b"@@ -9,7 +9,7 @@", b"@@ -7,7 +7,7 @@")
    proved, applied = both(past)
    assert proved is None
    assert isinstance(applied, tuple)
