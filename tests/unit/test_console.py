import json

import pytest

from ci.console import Console
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
