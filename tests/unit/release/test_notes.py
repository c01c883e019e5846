"""The notes are read back with an independent Markdown parser: hostile text must stay text."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ci.release.notes import JOINER, code, escaped, render_notes
from ci.report.words import one_line
from tests.helpers import releases

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](https://evil.example)",
    "![x](https://evil.example/x.png)",
    "[ref]: https://evil.example",
    "[^1] and [^1]: note",
    "<https://evil.example>",
    "@octocat please look",
    "a | b | c",
    "|---|---|",
    "# heading",
    "- item",
    "1. item",
    "1) item",
    "> quote",
    "=====",
    "-----",
    "***",
    "```sh",
    "~~~",
    "``` ` ``",
    "*bold* _it_ __b__ ~~gone~~",
    "line\n\n# heading\n\n- x",
    "line\r\n| a |\r",
    "trailing backslash \\",
    "two trailing \\\\",
    "&lt;b&gt; &amp;amp; &#64;octocat",
    "$x^2$ and $$y$$",
    "\u202egnp.exe",
    "nul \x00 bell \x07",
    "#123 and owner/repo#45 and GH-7",
    "https://evil.example www.evil.example me@evil.example",
    ":tada:",
    "+ item",
    "",
    "   indented",
    "\tindented",
)
texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(alphabet="\\`*_{}[]()#+-.!|<>&~@$:=^\"'/ \n\tab1w", max_size=40),
    st.text(max_size=40),
)


def shape(tokens: list[Token]) -> list[tuple[str, str]]:
    return [(token.type, token.tag) for token in tokens]


def inline_leaves(markdown: str) -> Iterator[Token]:
    for token in READER.parse(markdown):
        yield from token.children or ()


def shown(markdown: str) -> str:
    """What a reader sees of the only paragraph."""
    return "".join(token.content for token in inline_leaves(markdown)).replace(JOINER, "")


@given(texts)
@example("\ufffe")
def test_escaped_text_shows_itself_and_nothing_else(text: str) -> None:
    markdown = f"x {escaped(text)} x"
    assert shape(READER.parse(markdown)) == shape(READER.parse("x"))
    assert {token.type for token in inline_leaves(markdown)} <= {"text", "text_special"}
    assert shown(markdown) == f"x {one_line(text)} x"


@given(texts)
def test_escaped_text_is_harmless_at_the_start_of_a_line(text: str) -> None:
    markdown = f"{escaped(text)} x"
    assert shape(READER.parse(markdown)) == shape(READER.parse("x"))


@given(texts)
@example("a | b | c")
def test_escaped_text_stays_in_its_table_cell(text: str) -> None:
    table = f"| a | b | c |\n|---|---|---|\n| {escaped(text)} | {code(text)} | end |\n"
    assert shape(READER.parse(table)) == shape(READER.parse("| a | b | c |\n|---|---|---|\n| x | y | end |\n"))
    last_cell = [token for token in READER.parse(table) if token.type == "inline"][-1]
    assert last_cell.content == "end"


@given(texts)
def test_code_shows_the_text(text: str) -> None:
    leaves = [token for token in inline_leaves(f"x {code(text)} x") if token.type != "html_inline"]
    assert {token.type for token in leaves} <= {"text", "text_special", "code_inline"}
    assert "".join(token.content for token in leaves).replace(JOINER, "") == f"x {one_line(text)} x"


@pytest.mark.parametrize(
    "text", ["@octocat", "#12", "owner/repo#12", "gh-12", "https://a.b", "www.a.b", "me@a.b", ":tada:", "HTTP://A.B"]
)
def test_a_forge_finds_nothing_to_link(text: str) -> None:
    pointers = r"[@#]\w|gh-\d|://|www\.|:\w+:"
    assert re.search(pointers, text, re.IGNORECASE)
    displayed = "".join(token.content for token in inline_leaves(escaped(text)))
    assert displayed.replace(JOINER, "") == text
    assert not re.search(pointers, displayed, re.IGNORECASE)


@settings(max_examples=10, deadline=None)
@given(text=texts.filter(bool))
def test_hostile_commits_and_models_cannot_change_the_shape_of_the_notes(text: str) -> None:
    assert shape(READER.parse(hostile_notes(text))) == shape(READER.parse(hostile_notes("words")))


def hostile_notes(text: str) -> str:
    name = text + "s"
    return render_notes(
        releases.manifest(
            [
                releases.suite("parity", [releases.gate(name, "FAIL", text, key=text)]),
                releases.throughput("UNPROVEN", text, [releases.scenario(text)]),
            ],
            compiler=name,
            recipe=name,
            patches=[releases.patch("one", name, switch=name, numerics=name, feature=name)],
            models=[{"id": name, "sha256": "f" * 64}],
        )
    )


def test_the_same_manifest_gives_the_same_notes() -> None:
    assert render_notes(releases.manifest()) == render_notes(releases.manifest())


def test_notes_tell_what_a_reader_needs() -> None:
    notes = render_notes(releases.manifest())
    for part in (
        "# llama.cpp speed build b11434-speed.3",
        "**PASS.** Safe and faster",
        "| real-plain | CPU time | +8.4 % | +7.2 to +9.7 (at 99.2 %) | 8 |",
        "| 61.2 tok/CPU s | 66.3 tok/CPU s |",
        "| 62.0 % | 2.41 |",
        "server: take the argmax without sorting the vocabulary.",
        "Switch it off with `LLAMA_ARG_HOST_GREEDY_ARGMAX=off`.",
        "It cannot be switched off.",
        "**hybrid-exact** can change the text on purpose (repairs what upstream computes otherwise: rollback)",
        "`invoke measure-switch --patch hybrid-exact`",
        "a real model gains less",
        "need Linux on x86-64 with AVX2, FMA, F16C and BMI2",
        "(glibc 2.36; libstdc++ of c++ (Debian 12.2.0-14) 12.2.0)",
        "n\\_compared 768",
        "23.5 MB",
        "sha256sum -c --ignore-missing SHA256SUMS",
        "tar -xzf llama-b11434-speed.3-bin-linux-cpu-x64.tar.gz\ncd llama-b11434-speed.3\n",
    ):
        assert part in notes
    assert "## Not proven" not in notes
    assert "## Failed" not in notes


def test_what_is_unproven_is_said_plainly() -> None:
    notes = render_notes(releases.manifest([releases.parity("UNPROVEN", "the server never answered")]))
    assert "**UNPROVEN.** Not proven safe: the server never answered." in notes
    assert "- **parity, real-greedy:** the server never answered." in notes
    assert "- **throughput, evidence:** the throughput suite left no evidence." in notes
    assert "No throughput was measured for this release" in notes


def test_an_absorbed_commit_is_marked() -> None:
    patches = [releases.patch("one", "subject", state="absorbed")]
    assert "**one** (left out: upstream contains it): subject." in render_notes(releases.manifest(patches=patches))


def test_the_build_that_absorbed_a_commit_is_named() -> None:
    assert "**gone** (left out: `b11420` contains it): is upstream's." in render_notes(releases.settled_manifest())


def test_a_commit_that_met_a_conflict_says_how_it_was_settled() -> None:
    lines = [line for line in render_notes(releases.settled_manifest()).split("\n") if "conflict" in line]
    places = [f"`patches/resolutions/{digit * 40}`" for digit in "56"]
    assert lines == [f"  - It met a conflict, settled as a person recorded: {', '.join(places)}."]


def test_a_release_without_commits_or_archives_says_so() -> None:
    notes = render_notes(releases.manifest(patches=[], archives=[]))
    assert "None: this release is unpatched upstream." in notes
    assert "tar -xzf" not in notes


def test_what_drifted_under_a_commit_stands_with_it() -> None:
    entries = (releases.drift_entry(), releases.drift_entry("host-greedy-argmax", acknowledged=True, why="moved"))
    notes = render_notes(releases.drifted_manifest(*entries))
    lines = [line.strip() for line in notes.split("\n") if "under it" in line]
    said = "- Upstream changed struct `mmq_args` under it (b11401 to b11434, `ggml/src/ggml-cuda/mmq.cuh`):"
    assert lines == [
        f"{said} moved. Looked at and accepted.",
        f"{said} field ncols\\_opt added. Nobody has looked at it: it rests on parity.",
    ]
    depths = [token.level for token in READER.parse(notes) if token.type == "list_item_open"]
    assert sum(depth > 1 for depth in depths) == 2


@pytest.mark.parametrize("text", [text for text in HOSTILE if text.strip()])
def test_hostile_drift_cannot_change_the_shape_of_the_notes(text: str) -> None:
    def notes(words: str) -> str:
        return render_notes(releases.drifted_manifest(releases.drift_entry(declaration=words, path=words, why=words)))

    assert shape(READER.parse(notes(text))) == shape(READER.parse(notes("words")))
