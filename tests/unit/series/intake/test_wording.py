"""Commit messages on their way into patch files: names, trailers, lines that a mail would read as its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.series.intake.rawcommit import RawCommit
from ci.series.intake.wording import INDENTED, as_carried, completed, in_print, one_line, slug, worded
from ci.series.message import read_trailers
from ci.series.trailers import ID_PATTERN, REQUIRED
from tests.helpers.histories import message


def commit(text: str | bytes, *, encoding: str = "") -> RawCommit:
    raw = text if isinstance(text, bytes) else text.encode()
    author = b"A Person <a@example.org> 1700000000 +0000"
    return RawCommit(tree="0" * 40, parents=(), author=author, encoding=encoding, message=raw)


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("[CUDA] fuse RoPE", "cuda-fuse-rope"),
        ("ggml : schnell für Türme", "ggml-schnell-fur-turme"),
        ("../../etc/passwd", "etc-passwd"),
        ("--upload-pack=x", "upload-pack-x"),
        ("速い", "patch"),
        ("", "patch"),
        ("a" * 80, "a" * 40),
        ("sampling: read the greedy tokens off the row of logits", "sampling-read-the-greedy-tokens-off-the"),
    ],
)
def test_a_subject_becomes_a_name(subject: str, name: str) -> None:
    assert slug(subject) == name


@given(st.text())
def test_every_subject_becomes_an_id(subject: str) -> None:
    assert ID_PATTERN.fullmatch(slug(subject))


@given(st.lists(st.sampled_from(["one", "One!", "two", "x" * 70]), max_size=30))
def test_names_are_ids_and_differ(subjects: list[str]) -> None:
    names: list[str] = []
    for subject in subjects:
        names.append(worded(commit(f"{subject}\n"), taken=set(names)).name)
    assert len(set(names)) == len(subjects)
    assert all(ID_PATTERN.fullmatch(name) for name in names)


def test_a_message_with_all_trailers_stays_as_it_is() -> None:
    whole = message("fast-one", "b100")
    made = worded(commit(whole), taken=())
    assert (made.name, made.message.decode(), made.todo, made.notes) == ("fast-one", whole, (), ())


def test_missing_trailers_are_asked_for() -> None:
    made = worded(commit("Make it fast\n\nBecause.\n"), taken=())
    head, _, paragraph = made.message.decode().rpartition("\n\n")
    assert head == "Make it fast\n\nBecause."
    assert paragraph.splitlines()[0] == "Speed-Id: make-it-fast"
    assert [line.partition(": ")[2] for line in paragraph.splitlines()[1:]] == ["TODO"] * 6
    assert made.todo == tuple(key for key in REQUIRED if key != "Speed-Id")


def test_a_name_that_leads_elsewhere_is_not_taken_from_the_fork() -> None:
    made = worded(commit("Fast\n\nSpeed-Id: ../../x\n"), taken=())
    assert made.name == "fast"
    assert ("Speed-Id", "../../x") in read_trailers(made.message.decode())


@pytest.mark.parametrize(
    "line",
    ["---", "--- a/file", "diff --git a/x b/x", "Index: x", "From 1234 Mon Sep 17 00:00:00 2001", "---\r"],
)
def test_lines_that_a_mail_would_read_as_its_own_are_indented(line: str) -> None:
    made = worded(commit(f"Fast\n\nAbove.\n{line}\nbelow\n"), taken=())
    assert f"Above.\n {line}\nbelow" in made.message.decode()
    assert made.notes == (INDENTED,)


@pytest.mark.parametrize("line", ["From: B <b@example.org>", "subject: x", "Date: now", "[PATCH] x", ">From you"])
def test_a_first_line_that_looks_like_a_header_is_indented(line: str) -> None:
    assert f"Fast\n\n {line}\n{line}" in worded(commit(f"Fast\n\n{line}\n{line}\n"), taken=()).message.decode()


@pytest.mark.parametrize("line", ["From the upstream thread:", "----", "-- ", "--- ", "different", "index: x"])
def test_other_lines_stay(line: str) -> None:
    made = worded(commit(f"Fast\n\nAbove.\n{line}\nbelow\n"), taken=())
    assert (f"Above.\n{line}\nbelow" in made.message.decode()) == (line != "--- ")


def test_bytes_of_another_encoding_stay() -> None:
    made = worded(commit(b"caf\xe9\n\nna\xefve\n", encoding="ISO-8859-1"), taken=())
    assert made.name == "cafe"
    assert made.message.startswith(b"caf\xe9\n\nna\xefve\n\nSpeed-Id: cafe\n")
    assert made.notes == ("its words are ISO-8859-1: the patch holds them in UTF-8",)


def test_words_that_a_mail_drops_from_a_subject_are_told() -> None:
    (note,) = worded(commit("Re: [PATCH 3/9] [CUDA] fuse\n"), taken=()).notes
    assert note == "its subject 'Re: [PATCH 3/9] [CUDA] fuse' reads '[CUDA] fuse' in a mail"


def test_a_commit_without_message_gets_a_subject_to_write() -> None:
    made = worded(commit("\n"), taken=())
    assert made.message.startswith(b"(no subject)\n\nSpeed-Id: patch\n")
    assert made.notes == ("has no message: its subject is to be written",)


@given(st.text(alphabet="ab :-\n\t"))
def test_what_a_mail_carries_is_carried_again(text: str) -> None:
    carried = as_carried(f"Subject {text}")
    assert as_carried(carried) == carried


def test_a_subject_of_several_lines_is_one() -> None:
    assert one_line("a\nb\n\nc") == "a b"
    assert as_carried("a\nb\n\n\n\nc  \n\n") == "a b\n\nc"


def test_foreign_words_do_not_steer_a_terminal() -> None:
    assert in_print("Größe \x1b[31m\x9b1m \u202e速") == "Größe \ufffd[31m\ufffd1m \ufffd速"


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("Fast", "Fast\n\nSpeed-Id: x\nSpeed-Feature: TODO\n"),
        ("Fast\n\nWhy.\n\n", "Fast\n\nWhy.\n\nSpeed-Id: x\nSpeed-Feature: TODO\n"),
        ("Fast\n\nNote: this is prose\n", "Fast\n\nNote: this is prose\n\nSpeed-Id: x\nSpeed-Feature: TODO\n"),
        ("Fast\n\nsigned-off-by: A\n", "Fast\n\nsigned-off-by: A\nSpeed-Id: x\nSpeed-Feature: TODO\n"),
        ("Fast\n\nSpeed-Id: y\n", "Fast\n\nSpeed-Id: y\nSpeed-Feature: TODO\nSpeed-Numerics: TODO\n"),
        ("Speed-Id: y\n", "Speed-Id: y\n\nSpeed-Id: x\nSpeed-Feature: TODO\n"),
    ],
)
def test_missing_trailers_join_those_that_are_there(text: str, whole: str) -> None:
    assert completed(text, patch_id="x")[0].startswith(whole)


@given(st.text(alphabet="aS:#\n \t-(", max_size=60))
def test_a_completed_message_lacks_nothing(text: str) -> None:
    whole, _ = completed(text, patch_id="x")
    assert {key for key, _ in read_trailers(whole)} >= set(REQUIRED)
    assert completed(whole, patch_id="other")[0] == whole
