import json
import os
import sys

import pytest

from ci.console import Console, Pace, amount, next_step, progress_line
from ci.errors import ConfigProblem


def test_json_leaves_standard_output_to_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(json_output=True)
    console.say("words")
    console.result("a line")
    console.table(("a", "b"), [("1", "PASS")])
    with console.task("work") as task:
        task.update(1, 2)
    console.document({"n": 1})
    out, err = capsys.readouterr()
    assert json.loads(out) == {"n": 1}
    assert "words" in err
    assert "PASS" in err


def test_a_name_that_is_no_utf_8_leaves_a_valid_document(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    name = os.fsdecode(b"bad\xff.gguf")
    Console(json_output=True).document({"file": name, "é": "卡"})
    assert json.loads(capfdbinary.readouterr().out.decode("utf-8")) == {"file": name, "é": "卡"}


def test_no_word_becomes_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    console.say("a.cpp:100:5: error")
    console.result("a.cpp:100:5: error")
    console.table(("file",), [("a.cpp:100:5",)])
    out, err = capsys.readouterr()
    assert (out + err).count("a.cpp:100:5") == 3


def test_without_json_no_document_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    console.document({"n": 1})
    console.result("a line")
    assert capsys.readouterr().out == "a line\n"


def test_no_colours_when_not_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    console.error(ConfigProblem("f.toml: bad [red]value[/red]", hint="edit f.toml"))
    console.table(("verdict",), [("FAIL",)])
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert "bad [red]value[/red]" in err
    assert "next:  edit f.toml" in err


@pytest.mark.parametrize(
    ("done", "total", "words"),
    [(12, 236, "12 of 236"), (0, None, ""), (7, None, "7"), (3_100_000, 37_386_600, "3.1 of 37.4 MB")],
)
def test_amounts_can_be_read(done: float, total: float | None, words: str) -> None:
    assert amount(done, total) == words


def test_a_log_line_says_how_much_is_left() -> None:
    assert progress_line(50, 200, "a.o", left=30.0) == "50 of 200, about 30 s left a.o"
    assert progress_line(0, 200, "a.o", left=None) == "0 of 200 a.o"


def test_the_time_left_follows_the_pace_of_the_last_minute() -> None:
    pace = Pace()
    assert pace.left(0.0, 0, 600) is None
    assert pace.left(1.0, 300, 600) == pytest.approx(1.0)  # a cache answers
    for second in range(2, 120):
        pace.left(float(second), 300 + second * 0.1, 600)  # and then it does not
    assert pace.left(120.0, 312, 600) == pytest.approx(2880, rel=0.05)


def test_nothing_done_yet_or_no_total_tells_no_time() -> None:
    pace = Pace()
    assert [pace.left(float(second), 5, 50) for second in range(3)] == [None] * 3
    assert pace.left(4.0, 6, None) is None


def test_another_total_begins_another_count(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = iter([0.0, 100.0, 200.0, 220.0])
    monkeypatch.setattr("ci.console.time.monotonic", lambda: next(now))
    with Console().task("work") as task:
        task.update(1, 2)
        task.update(5, 50)
        task.update(10, 50)
    assert "10 of 50, about 160 s left" in capsys.readouterr().err


def test_ids_stay_whole_while_words_wrap(capsys: pytest.CaptureFixture[str]) -> None:
    name = "-".join(["id"] * 20)
    Console().table(("patch", "one", "two"), [(name, "words " * 40, "words " * 40)])
    assert name in capsys.readouterr().out


def test_no_word_of_a_stranger_drives_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    bad, console = "m\x1b]0;t\x07\x9b31m\u202e\udc80.gguf", Console()
    console.say(bad)
    console.result(bad)
    console.error(ConfigProblem(bad, hint=bad))
    console.table((bad,), [(bad,)], title=bad)
    with console.task(bad) as task:
        task.update(1, 2, bad)
    printed = "".join(capsys.readouterr())
    assert printed.count(r"m\x1b]0;t\x07\x9b31m\u202e\udc80.gguf") == 8
    assert all(letter.isprintable() or letter == "\n" for letter in printed)


def test_hints_can_be_typed_outside_the_environment() -> None:
    assert next_step("invoke upstream", {}) == "invoke upstream"
    assert next_step("invoke upstream", {"NOX_CURRENT_SESSION": "pipeline"}).endswith("activate && invoke upstream")
    assert next_step("edit f.toml", {"NOX_CURRENT_SESSION": "pipeline"}) == "edit f.toml"


def test_a_reader_that_leaves_is_an_error_for_whoever_started_us(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    os.close(read)
    with open(write, "w", buffering=1) as nobody_reads:  # noqa: PTH123 - a descriptor has no path
        monkeypatch.setattr(sys, "stdout", nobody_reads)
        with pytest.raises(BrokenPipeError):
            Console().table(("a",), [("b",)])
        os.dup2(os.open(os.devnull, os.O_WRONLY), write)  # so that closing it can write what is left
