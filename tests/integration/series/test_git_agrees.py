"""git is the oracle for what we read ourselves: trailers and mail headers."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ci.git import Git
from ci.series.message import read_trailers
from ci.series.patch import read_mail

FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return Git.open_bare(tmp_path / "empty.git")


def git_trailers(git: Git, message: str) -> tuple[tuple[str, str], ...]:
    lines = git("interpret-trailers", "--parse", stdin=message.encode()).stdout.decode().split("\n")[:-1]
    return tuple((key, value.strip(" \t\r\n")) for key, _, value in (line.partition(":") for line in lines))


KEYS = st.sampled_from(["Speed-Id", "Speed-Numerics", "Signed-off-by", "x", "A1", "Not a key", "-", "é", ""])
LINES = st.one_of(
    st.builds("{}: {}".format, KEYS, st.text("ab:.- é", max_size=12)),
    st.builds("{} :{}".format, KEYS, st.text("ab", max_size=3)),
    st.builds(" {}".format, st.text("ab: ", max_size=6)),
    st.sampled_from(["", "", "prose", "(cherry picked from commit 1)", "Signed-off-by: A <a@example.org>"]),
)


@FEW
@given(lines=st.lists(LINES, max_size=9))
def test_trailers_are_the_ones_that_git_reads(git: Git, lines: list[str]) -> None:
    message = "\n".join(["Subject", "", *lines]) + "\n"
    ours = tuple((key, value) for key, value in read_trailers(message))
    assert ours == git_trailers(git, message)


def mailinfo(git: Git, raw: bytes, place: Path) -> dict[str, str]:
    said = git("mailinfo", "-b", place / "message", place / "diff", stdin=raw).stdout
    return dict(line.split(": ", 1) for line in said.decode().split("\n") if ": " in line)


WORDS = st.lists(
    st.sampled_from(
        ["[PATCH]", "[PATCH 2/7]", "[CUDA]", "[RFC PATCH v3]", "Re:", "ggml:", "fix", "é", "[", "]", "a]b"]
    ),
    min_size=1,
    max_size=7,
)


@FEW
@given(words=WORDS, fold=st.integers(0, 6))
def test_subjects_are_the_ones_that_git_reads(git: Git, tmp_path: Path, words: list[str], fold: int) -> None:
    subject = " ".join(words[:fold]) + "\n " + " ".join(words[fold:]) if 0 < fold < len(words) else " ".join(words)
    raw = f"From: A <a@example.org>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: {subject}\n\nbody\n".encode()
    assert read_mail(raw).subject == mailinfo(git, raw, tmp_path).get("Subject", "")


@pytest.mark.parametrize(
    "author",
    [
        b"A Person <a@example.org>",
        b"=?iso-8859-1?q?J=F6rg?= M <j@example.org>",
        b"=?UTF-8?q?Zo=C3=AB?= =?UTF-8?q?_Q?= <z@example.org>",
        b"=?big5?b?pKSk5Q==?= <b@example.org>",
    ],
)
def test_authors_are_the_ones_that_git_reads(git: Git, tmp_path: Path, author: bytes) -> None:
    raw = b"From: " + author + b"\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: x\n\nbody\n"
    said = mailinfo(git, raw, tmp_path)
    assert read_mail(raw).author == f"{said['Author']} <{said['Email']}>"


def test_in_body_headers_are_the_ones_that_git_reads(git: Git, tmp_path: Path) -> None:
    raw = (
        b"From: A <a@example.org>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: x\n\n"
        b"From: B <b@example.org>\nSubject: [PATCH] a long\n one\n\nFrom: C <c@example.org> is prose\n"
        b"---\ndiff --git a/f b/f\n"  # git heeds them only in front of a patch
    )
    said = mailinfo(git, raw, tmp_path)
    assert read_mail(raw).author == f"{said['Author']} <{said['Email']}>" == "B <b@example.org>"
    assert read_mail(raw).subject == said["Subject"] == "a long one"
