"""`notes.md`: the release in Markdown. Whatever comes from commits, models or machines is shown, never obeyed.

Every value is escaped on its way into the template: HTML, links, mentions, issue references, table pipes and
line breaks lose their meaning. What the template itself says is Markdown.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from ci.outcome import JsonMap, JsonValue
from ci.release.manifest import SOURCE_TARGET, Manifest, fixed_digest
from ci.report import explain, words
from ci.report.summary import summarise
from ci.report.words import one_line
from ci.template import render_template

TEMPLATES = Path(__file__).parent
JOINER = "\u2060"
"""WORD JOINER: has no width; between a sign and the word after it, it takes away the sign's meaning."""

CELL_LIMIT = 80
"""Longer evidence values stay out of the notes' table; the report shows them."""

_SIGNS = re.compile(r"[\\`*_~\[\]|]")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"})
_LEADING = re.compile(r"^([-+=#]|\d{1,9}(?=[.)](?:\s|$)))")
_POINTERS = re.compile(
    r"[@#](?=\S)"  # mentions, mail addresses, issue references
    r"|\bgh-(?=\d)"  # the other spelling of an issue reference
    r"|:(?=//)|\bwww(?=\.)"  # bare links
    r"|:(?=[\w+-]+:)",  # emoji names
    re.IGNORECASE,
)
_PLAIN_CODE = re.compile(r"[A-Za-z0-9._+/= -]+")


class Trusted(str):
    """Markdown of our own making, written as it is."""

    __slots__ = ()


def render_notes(manifest: Manifest) -> str:
    """The release notes: same manifest, same bytes.

    Raises:
        ConfigProblem: the throughput figures are not of the agreed form.
    """
    binaries = [archive for archive in manifest.fixed.archives if archive.target != SOURCE_TARGET]
    speed = [archive for archive in binaries if archive.label == manifest.fixed.release]
    return render_template(
        TEMPLATES,
        "notes.md.jinja",
        {
            "summary": summarise(manifest),
            "fixed": manifest.fixed,
            "measured": manifest.measured,
            "fixed_digest": fixed_digest(manifest.fixed),
            "about_scenarios": explain.SCENARIOS,
            "cpu_needs": explain.cpu_needs(manifest.fixed, manifest.measured.machine),
            "deliberate": explain.deliberate(manifest.fixed),
            "first_binary": speed[0] if speed else None,
        },
        filters={**words.SPELLING, "code": code, "scalars": scalars, "file": Trusted, "spelled": Trusted, **NUMBERS},
        finalize=lambda value: value if isinstance(value, Trusted) else escaped(str(value)),
        autoescape=False,
    )


def escaped(text: str) -> str:
    """Text as Markdown that shows exactly this text: one line, no markup, no links, nobody mentioned.

    A WORD JOINER stands wherever a forge would turn words into a mention, reference, link or emoji.
    """
    line = _POINTERS.sub(lambda found: found[0] + JOINER, one_line(text))
    line = _SIGNS.sub(lambda found: f"\\{found[0]}", line.translate(_ENTITIES))
    return _LEADING.sub(_harmless_start, line)


def code(text: str) -> Trusted:
    """Text in code type: as a code span where it is plain, otherwise as an escaped `<code>` element."""
    line = one_line(text)
    plain = _PLAIN_CODE.fullmatch(line) is not None and line.strip() == line
    return Trusted(f"`{line}`" if plain else f"<code>{escaped(line)}</code>")


def scalars(evidence: JsonMap) -> tuple[tuple[str, JsonValue], ...]:
    """The evidence that fits a table cell: short single values, by name."""
    return tuple((key, value) for key, value in sorted(evidence.items()) if _is_short(value))


def _is_short(value: JsonValue) -> bool:
    return not isinstance(value, list | dict) and len(str(value)) <= CELL_LIMIT


def _harmless_start(found: re.Match[str]) -> str:
    """A list number or heading sign at the start of a line, so that it stays text."""
    return f"&#{ord(found[0][0])};{found[0][1:]}"


def _trusted(spell: Callable[[float], str]) -> Callable[[float], Trusted]:
    return lambda value: Trusted(spell(value))


NUMBERS: Mapping[str, Callable[[float], Trusted]] = {
    "percent": _trusted(words.percent),
    "signed": _trusted(words.signed),
    "duration": _trusted(words.duration),
    "size": _trusted(lambda count: words.size(int(count))),
}
"""Spelled numbers are ours: a leading plus sign needs no escape."""
