"""`report.html`: one self-contained file that explains a release to the person who downloads it.

Every text is escaped by the template engine, and the page may load nothing from outside.
"""

import json
from pathlib import Path

from markupsafe import Markup

from ci.outcome import JsonValue, Verdict
from ci.release.manifest import Manifest, fixed_digest
from ci.report import explain, words
from ci.report.plots import description, ratio_plot
from ci.report.summary import summarise
from ci.template import render_template

TEMPLATES = Path(__file__).parent
EVIDENCE_LIMIT = 2000
"""Characters of one evidence value on the page; the manifest holds the whole."""


def render_page(manifest: Manifest) -> str:
    """The report of a release as one HTML file: same manifest, same bytes.

    Raises:
        ConfigProblem: the throughput figures are not of the agreed form.
    """
    summary = summarise(manifest)
    return render_template(
        TEMPLATES,
        "report.html.jinja",
        {
            "summary": summary,
            "fixed": manifest.fixed,
            "measured": manifest.measured,
            "fixed_digest": fixed_digest(manifest.fixed),
            "about_scenarios": explain.SCENARIOS,
            "cpu_needs": explain.cpu_needs(manifest.fixed, manifest.measured.machine),
            "deliberate": explain.deliberate(manifest.fixed),
            # the plot is our own SVG, its labels escaped by matplotlib
            "plot": Markup(ratio_plot(summary.scenarios)),  # noqa: S704
            "plot_words": description(summary.scenarios),
            "mark": verdict_mark,
        },
        filters={**words.SPELLING, "evidence": evidence_text, "stage_word": explain.stage_word},
        finalize=lambda value: words.visible(value) if type(value) is str else value,
        autoescape=True,
    )


def evidence_text(value: JsonValue) -> str:
    """An evidence value as text: words as they are, anything else as JSON; long ones are cut visibly."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    if len(text) <= EVIDENCE_LIMIT:
        return text
    return f"{text[:EVIDENCE_LIMIT]} ... ({len(text)} characters, all of them in manifest.json)"


def verdict_mark(verdict: Verdict | None) -> str:
    """A sign beside the word, so that colour is never the only carrier."""
    return {Verdict.PASS: "\u2713", Verdict.FAIL: "\u2717", Verdict.UNPROVEN: "?"}[verdict] if verdict else ""
