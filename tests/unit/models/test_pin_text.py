"""The lock's text with a pin in it: one entry says more, and every other line stays as it was."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import ConfigProblem
from ci.models.pin_text import entry_text, quoted, with_pin
from tests.helpers.made_models import shard

LOCK = """# what this file is

[[model]]
id = "a"  # the first
licence = "unknown"

[model.hub]
repo = "owner/a"

# about b: two lines
# of comment

[[model]]
id = "b"
licence = "MIT"

[ model.hub ]  # odd, and TOML
# which branch it was
revision = "0" # old
repo = "owner/b"

[[model.hub.shard]]
file = "old.gguf"
size = 1
sha256 = "0"

[[model]]
id = "c"
licence = "unknown"

[model.local]
# say where it is
"""


def pinned(text: str, at: int, source: str = "hub", **keys: str) -> str:
    return with_pin(text, at, source, own={}, keys=keys, shards=(shard(),))


def test_an_entry_gets_its_pin_before_the_comment_of_the_next() -> None:
    text = pinned(LOCK, 0, revision="f" * 40)
    tiny = shard()
    added = (
        f'revision = "{"f" * 40}"\n\n[[model.hub.shard]]\nfile = "tiny.gguf"\nsize = 1000\nsha256 = "{tiny.sha256}"\n'
    )
    assert text == LOCK.replace('repo = "owner/a"\n', f'repo = "owner/a"\n{added}')


def test_old_pins_go_and_comments_stay() -> None:
    lines = pinned(LOCK, 1, revision="f" * 40).splitlines()
    assert "# which branch it was" in lines
    assert f'revision = "{"f" * 40}"' in lines
    assert not [line for line in lines if "old" in line]
    model = tomllib.loads("\n".join(lines))["model"][1]
    assert [each["file"] for each in model["hub"]["shard"]] == ["tiny.gguf"]


def test_an_empty_table_gets_its_keys() -> None:
    text = pinned(LOCK, 2, "local", path='/a "b"/\\c')
    assert tomllib.loads(text)["model"][2]["local"]["path"] == '/a "b"/\\c'
    assert "# say where it is" in text


def test_a_key_of_the_entry_itself_is_replaced_in_its_place() -> None:
    text = with_pin(LOCK, 0, "hub", own={"licence": "apache-2.0"}, keys={}, shards=())
    assert text == LOCK.replace('licence = "unknown"', 'licence = "apache-2.0"', 1)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_pinning_twice_is_pinning_once(at: int) -> None:
    source = "local" if at == 2 else "hub"
    once = pinned(LOCK, at, source, path="/a")
    assert pinned(once, at, source, path="/a") == once


@pytest.mark.parametrize("at", [0, 1, 2])
def test_all_other_entries_and_comments_stay(at: int) -> None:
    source = "local" if at == 2 else "hub"
    text = pinned(LOCK, at, source, path="/a")
    others = [other for other in range(3) if other != at]
    assert [entry_text(text, other) for other in others] == [entry_text(LOCK, other) for other in others]
    comments = [line for line in LOCK.splitlines() if line.startswith("#")]
    assert [line for line in text.splitlines() if line.startswith("#")] == comments


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x85"])
def test_what_only_looks_like_a_line_end_stays_where_it_is(odd: str) -> None:
    text = LOCK.replace("# of comment", f"# of{odd}comment").replace('"MIT"', f'"a{odd}b"')
    assert pinned(text, 0) == pinned(LOCK, 0).replace("# of comment", f"# of{odd}comment").replace(
        '"MIT"', f'"a{odd}b"'
    )
    assert f'licence = "a{odd}b"' in entry_text(text, 1)


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [(LOCK, 3, "entry 4 has no"), ('[[model]]\nid = "a"\nhub = { repo = "o/a" }\n', 0, r"no \[model\.hub\] table")],
)
def test_an_entry_that_is_written_otherwise_is_left_alone(text: str, at: int, words: str) -> None:
    with pytest.raises(ConfigProblem, match=words):
        pinned(text, at, revision="f")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_quoted_is_read_back(value: str) -> None:
    assert tomllib.loads(f"a = {quoted(value)}") == {"a": value}
