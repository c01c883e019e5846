"""A container's output in pieces: every line once, in order, whatever the engine's answers overlap."""

from hypothesis import given
from hypothesis import strategies as st

from ci.builds.logtail import LogTail


def stamped(at: int, text: str) -> str:
    return f"2026-11-30T22:52:05.{at:09d}Z {text}\n"


def test_lines_come_without_their_times_and_once() -> None:
    tail = LogTail()
    first = stamped(1, "a") + stamped(2, "b")
    assert tail.feed(first.encode()) == ("a", "b")
    assert tail.feed((first + stamped(3, "c")).encode()) == ("c",)
    assert tail.feed(b"") == ()


def test_two_lines_of_one_moment_are_two_lines_even_when_the_second_comes_late() -> None:
    tail = LogTail()
    assert tail.feed(stamped(5, "a").encode()) == ("a",)
    assert tail.feed((stamped(5, "a") + stamped(5, "b")).encode()) == ("b",)
    assert tail.feed((stamped(5, "a") + stamped(5, "b") + stamped(5, "c")).encode()) == ("c",)


def test_it_asks_from_a_little_before_the_last_line() -> None:
    tail = LogTail()
    assert tail.since == 0.0
    tail.feed(stamped(500_000_000, "a").encode())
    assert 0 < 0.5 - tail.since % 1 < 1e-5


def test_an_empty_line_and_bytes_that_are_no_text_survive() -> None:
    tail = LogTail()
    assert tail.feed(stamped(1, "").encode() + b"2026-11-30T22:52:05.000000002Z \xff\n") == ("", "\ufffd")


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.text(st.characters(codec="ascii", exclude_characters="\r\n"), max_size=5))
    ),
    st.lists(st.integers(0, 30), max_size=6),
)
def test_however_the_output_is_cut_each_line_is_seen_once(lines: list[tuple[int, str]], cuts: list[int]) -> None:
    at, said = 0, []
    for step, text in lines:
        at += step
        said.append(stamped(at, text))
    tail = LogTail()
    seen: list[str] = []
    for cut in (*sorted(cuts), len(said)):
        seen += tail.feed("".join(said[:cut]).encode())
    assert seen == [text for _, text in lines]
