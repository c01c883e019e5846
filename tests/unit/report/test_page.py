"""The page is read back with the standard library's HTML parser, as a browser would meet it."""

import itertools
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ci.config import CONFIG_DIR
from ci.outcome import JsonValue
from ci.report import page
from ci.report.page import EVIDENCE_LIMIT, evidence_text, render_page
from ci.report.words import visible
from tests.helpers import releases

VOID = {"meta", "link", "br"}
SCENARIOS = CONFIG_DIR / "scenarios.toml"
LOADS = {"src", "srcset", "action", "poster", "data", "background"}
HOSTILE = (
    "<script>x</script>",
    '"><img src=x onerror=y>',
    "{{ 7*7 }}{% x %}",
    "&lt;",
    "</title>",
    "\u202e\x00",
    "]]>",
)


class Page(HTMLParser):
    """Tags, attributes and text of a page; fails on tags that do not nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, *names: str) -> list[tuple[str, dict[str, str | None]]]:
        return [entry for entry in self.tags if entry[0] in names]


CASES: dict[str, list[JsonValue]] = {
    "proven": [releases.parity(), releases.throughput()],
    "failed": [releases.parity("FAIL", "differs"), releases.throughput("FAIL", "slower")],
    "unproven": [releases.parity("UNPROVEN", "no answer"), releases.throughput("UNPROVEN", "few pairs")],
    "no throughput": [releases.parity()],
    "nothing": [],
}


@pytest.fixture(scope="module", params=CASES)
def read(request: pytest.FixtureRequest) -> Page:
    return Page(render_page(releases.manifest(CASES[request.param])))


def test_the_page_is_self_contained(read: Page) -> None:
    assert not read.all("script", "iframe", "object", "embed", "img", "form")
    assert not [attributes for _, attributes in read.tags if LOADS & set(attributes)]
    links = {attributes.get("href") or attributes.get("xlink:href") for _, attributes in read.tags}
    assert {link for link in links if link and not link.startswith("#")} == {"data:,"}


def test_the_browser_is_told_to_load_nothing(read: Page) -> None:
    policy = next(a["content"] for _, a in read.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_the_page_suits_phones_and_screen_readers(read: Page) -> None:
    assert read.all("html")[0][1]["lang"] == "en"
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in [a for _, a in read.all("meta")]
    levels = [int(tag[1]) for tag, _ in read.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert len(read.all("caption")) == len(read.all("table"))
    assert all(attributes.get("scope") for _, attributes in read.all("th"))


def test_ids_are_unique_and_every_label_exists(read: Page) -> None:
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {a["aria-labelledby"] for _, a in read.tags if "aria-labelledby" in a} <= set(ids)


def test_on_a_phone_every_cell_says_what_it_is(read: Page) -> None:
    assert all("data-label" in attributes or "colspan" in attributes for _, attributes in read.all("td"))


def test_a_proven_release_shows_claim_gain_and_evidence() -> None:
    text = Page(render_page(releases.manifest())).text
    for part in ("Safe and faster: token-identical", "+8.4 %", "n_compared 768", "768 of 768 token ids equal"):
        assert part in text
    assert "What is not proven" not in text
    assert "What failed" not in text


def test_the_first_screen_says_what_the_claim_rests_on_and_how_to_check_a_download() -> None:
    text = Page(render_page(releases.manifest())).text
    first = text[: text.index("Each dot is one pair")]
    for part in (
        "unpatched b11434 built by the same recipe and run on the same machine",
        "no statement about other models",
        "one machine (Example CPU @ 2.40GHz, 2 cores, ",
        "a real model gains less",
        "hybrid-exact can change the text on purpose",
        "invoke measure-switch --patch hybrid-exact",
        "need Linux on x86-64 with AVX2, FMA, F16C and BMI2",
        "sha256sum -c --ignore-missing SHA256SUMS",
    ):
        assert part in first


def test_without_figures_nothing_is_said_about_faster() -> None:
    assert "Scenarios named" not in Page(render_page(releases.manifest([releases.parity()]))).text


def test_scenarios_are_named_as_the_page_says() -> None:
    for name, scenario in tomllib.loads(SCENARIOS.read_text(encoding="utf-8"))["scenario"].items():
        assert name.startswith("real-") == ("model" in scenario)
        assert scenario.get("pair", "LARGE") == "LARGE"  # large vocabulary, next to no layers


def test_links_within_the_page_lead_somewhere(read: Page) -> None:
    ids = {attributes["id"] for _, attributes in read.tags if "id" in attributes}
    links = {str(attributes["href"]) for _, attributes in read.all("a")}
    assert {"#gates", "#archives", "#patches"} <= links
    assert {link.removeprefix("#") for link in links} <= ids


def test_a_commit_says_once_what_it_does_and_how_to_switch_it_off() -> None:
    patches = [releases.patch("one", "make one fast", about="It was slow.", switch="LLAMA_ARG_ONE")]
    text = Page(render_page(releases.manifest(patches=patches))).text
    assert text.count("make one fast") == 1
    assert "It was slow." in text
    assert "none: the same bits as without it LLAMA_ARG_ONE=0" in text


def test_failures_come_first_and_are_named() -> None:
    text = Page(render_page(releases.manifest(CASES["failed"]))).text
    assert text.index("Do not use") < text.index("What failed") < text.index("Speed commits")
    assert "parity, real-greedy: differs." in text


def test_what_is_missing_is_said_to_be_unproven() -> None:
    text = Page(render_page(releases.manifest([releases.parity()]))).text
    assert "No throughput was measured" in text
    assert "the throughput suite left no evidence" in text


def test_patches_archives_machine_and_stages_are_listed() -> None:
    text = Page(render_page(releases.manifest())).text
    for part in (
        "LLAMA_ARG_HOST_GREEDY_ARGMAX=off",
        "cannot be switched off",
        "llama-b11434-speed.3-bin-linux-cpu-x64.tar.gz",
        "23.5 MB",
        "b" * 64,
        "Example CPU @ 2.40GHz",
        "10 min 13 s",
    ):
        assert part in text


def test_what_drifted_under_a_commit_stands_with_it_line_by_line() -> None:
    hostile = releases.drift_entry("host-greedy-argmax", why="<b>moved</b>", acknowledged=True)
    text = Page(render_page(releases.drifted_manifest(releases.drift_entry(), hostile))).text
    assert "Upstream changed mmq_args under it: nobody has looked, it rests on parity" in text
    assert "Upstream changed mmq_args under it: looked at and accepted" in text
    assert "struct mmq_args (ggml/src/ggml-cuda/mmq.cuh), between b11401 and b11434: <b>moved</b>." in text
    assert "+ int64_t ncols_opt;" in text


def test_the_page_says_which_build_absorbed_a_commit_and_how_a_conflict_was_settled() -> None:
    text = Page(render_page(releases.settled_manifest())).text
    assert "left out: b11420 contains it" in text
    assert f"settled as a person recorded: patches/resolutions/{'5' * 40} , patches/resolutions/{'6' * 40}" in text


def test_the_same_manifest_gives_the_same_page() -> None:
    assert render_page(releases.manifest()) == render_page(releases.manifest())


def shows_as_text(text: str) -> None:
    html = hostile_page(text)
    assert visible(html) == html
    plain, hostile = Page(hostile_page("words")), Page(html)
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    assert " ".join(visible(text).split()) in hostile.text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_adds_no_tags_and_is_shown(text: str) -> None:
    shows_as_text(text)


@settings(max_examples=6, deadline=None)
@given(text=st.text(alphabet="<>&\"'{}%/ =!-ab\n", min_size=1, max_size=30))
def test_no_text_adds_tags(text: str) -> None:
    shows_as_text(text)


def hostile_page(text: str) -> str:
    return render_page(
        releases.manifest(
            [releases.suite("parity", [releases.gate(text, "FAIL", text, **{text: text})]), releases.suite("x", [])],
            compiler=text,
            patches=[releases.patch("one", text, switch=text, about=text, numerics=text)],
            models=[{"id": text, "sha256": "f" * 64}],
        )
    )


def test_long_evidence_is_cut_visibly() -> None:
    text = evidence_text({"list": list(range(5000))})
    assert len(text) < EVIDENCE_LIMIT + 100
    assert text.endswith("characters, all of them in manifest.json)")


@pytest.mark.parametrize(
    ("value", "text"), [("words", "words"), (3, "3"), (None, "null"), ({"b": 1, "a": "ü"}, '{"a": "ü", "b": 1}')]
)
def test_evidence_values_are_words_or_json(value: JsonValue, text: str) -> None:
    assert evidence_text(value) == text


CSS = Path(page.__file__).with_name("report.css.jinja").read_text(encoding="utf-8")
PAIRS = [
    ("ink", "paper"),
    ("ink", "card"),
    ("soft", "paper"),
    ("soft", "card"),
    ("pass", "pass-bg"),
    ("fail", "fail-bg"),
    ("unproven", "unproven-bg"),
]


def colours(theme: int) -> dict[str, str]:
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", CSS.split(":root {")[theme + 1].split("}")[0]))


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("front", "back"), PAIRS)
def test_text_has_contrast(theme: int, front: str, back: str) -> None:
    named = colours(theme)
    assert contrast(named[front], named[back]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("mark", ["dot", "mark"])
def test_marks_of_the_plot_have_contrast(theme: int, mark: str) -> None:
    named = colours(theme)
    assert contrast(named[mark], named["card"]) >= 3.0
