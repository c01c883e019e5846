"""The manifest in plain words: one verdict, one headline, and every gate behind them.

A suite that left no evidence, or evidence about other builds, counts as UNPROVEN: nothing passes by absence.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ci.outcome import GateResult, JsonMap, Verdict, combine
from ci.release.manifest import Fixed, Manifest, SuiteEvidence
from ci.report.figures import ScenarioFigure, scenario_figures
from ci.report.words import one_line, sentence, shortened

REQUIRED_SUITES = ("parity", "throughput")
REASON_LIMIT = 200
REAL_GATE = "real-greedy"
"""The parity gate that compares stock with speed on the real model."""
STOCK_GATES = (REAL_GATE, "pair-stock-", "pair-sampled-")
"""How the names of the parity gates begin that compare with stock; the others compare with the calculated text, or
the speed build with itself."""

Gates: TypeAlias = tuple[GateResult, ...]


@dataclass(frozen=True, kw_only=True)
class SuiteSummary:
    """One suite's gates with their combined verdict."""

    suite: str
    profile: str
    gates: Gates

    @property
    def verdict(self) -> Verdict:
        """FAIL beats UNPROVEN beats PASS."""
        return combine(gate.verdict for gate in self.gates)

    @property
    def because(self) -> str:
        """The reason of the first gate that decided the verdict."""
        return next(
            (one_line(gate.reason) for gate in self.gates if gate.verdict is self.verdict), "no gate answered"
        )


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a reader should know first."""

    release: str
    verdict: Verdict
    headline: str
    suites: tuple[SuiteSummary, ...]
    scenarios: tuple[ScenarioFigure, ...]

    @property
    def unproven(self) -> tuple[tuple[str, GateResult], ...]:
        """Suite and gate of everything that has no proof."""
        return tuple(self._gates_with(Verdict.UNPROVEN))

    @property
    def failed(self) -> tuple[tuple[str, GateResult], ...]:
        """Suite and gate of everything that was refuted."""
        return tuple(self._gates_with(Verdict.FAIL))

    def _gates_with(self, verdict: Verdict) -> Iterator[tuple[str, GateResult]]:
        for suite in self.suites:
            yield from ((suite.suite, gate) for gate in suite.gates if gate.verdict is verdict)


def summarise(manifest: Manifest) -> Summary:
    """The summary of a release.

    Raises:
        ConfigProblem: the throughput figures are not of the agreed form.
    """
    suites = tuple(_suites(manifest))
    scenarios = scenario_figures(manifest.measured.suite("throughput"))
    return Summary(
        release=manifest.fixed.release,
        verdict=combine(suite.verdict for suite in suites),
        headline=headline(suites, scenarios),
        suites=suites,
        scenarios=scenarios,
    )


def _suites(manifest: Manifest) -> Iterator[SuiteSummary]:
    found = {evidence.suite: evidence for evidence in manifest.measured.suites}
    for name in dict.fromkeys((*REQUIRED_SUITES, *found)):
        evidence = found.get(name)
        profile = evidence.profile if evidence else manifest.measured.profile
        yield SuiteSummary(suite=name, profile=profile, gates=_gates(name, evidence, manifest.fixed))


def _gates(name: str, evidence: SuiteEvidence | None, fixed: Fixed) -> Gates:
    if evidence is None or not evidence.gates:
        return (_unproven(f"the {name} suite left no evidence"),)
    doubts = tuple(_unproven(doubt) for doubt in _doubts(evidence, fixed))
    return (*(gate.result() for gate in evidence.gates), *doubts)


def _unproven(reason: str) -> GateResult:
    return GateResult(gate="evidence", verdict=Verdict.UNPROVEN, reason=reason)


def _doubts(evidence: SuiteEvidence, fixed: Fixed) -> Iterator[str]:
    """Why evidence may be about something else than this release."""
    stock, speed = evidence.stock, evidence.speed
    if stock is None or speed is None:
        yield "the suite did not get as far as loading both builds"
        return
    if stock.digest == speed.digest:
        yield "the same build ran on both sides"
    if speed.label != fixed.release:
        yield f"the evidence is about build {speed.label!r}, not {fixed.release}"
    if stock.label != fixed.upstream.tag:
        yield f"the control was build {stock.label!r}, not unpatched {fixed.upstream.tag}"
    if speed.digest not in {archive.content_digest for archive in fixed.archives}:
        yield f"the build that ran ({speed.digest:.12}) is in none of the archives"
    if evidence.suite == "throughput" and not scenario_figures(evidence):
        yield "no scenario was measured against stock"


def headline(suites: Sequence[SuiteSummary], scenarios: Sequence[ScenarioFigure]) -> str:
    """One or two sentences for someone who reads nothing else."""
    by_name = {suite.suite: suite for suite in suites}
    parity, throughput = by_name["parity"], by_name["throughput"]
    if parity.verdict is Verdict.FAIL:
        return f"Do not use: parity with stock failed: {_brief(parity)}"
    gain = gain_words(scenarios)
    if parity.verdict is Verdict.UNPROVEN:
        return f"Not proven safe: {_brief(parity)}" + (f" Speed: {gain}." if gain else "")
    compared = "; ".join(filter(None, (parity_words(parity), gain)))
    open_points = [suite for suite in suites if suite.verdict is not Verdict.PASS]
    blame = (f" {suite.suite.capitalize()} {suite.verdict}: {_brief(suite)}" for suite in open_points)
    return f"{_claim(throughput, scenarios)}: {compared}.{''.join(blame)}"


def _brief(suite: SuiteSummary) -> str:
    return sentence(shortened(suite.because, REASON_LIMIT))


def _claim(throughput: SuiteSummary, scenarios: Sequence[ScenarioFigure]) -> str:
    match throughput.verdict:
        case Verdict.PASS:
            claimed = [figure for figure in scenarios if figure.claims]
            faster = bool(claimed) and all(figure.is_faster for figure in claimed)
            return "Safe and faster" if faster else "Safe and no slower"
        case Verdict.FAIL:
            slower = any(figure.is_slower for figure in scenarios)
            return "Safe but slower" if slower else "Safe but not fast enough"
        case Verdict.UNPROVEN:
            return "Safe, but a gain in speed is not proven"


def parity_words(parity: SuiteSummary) -> str:
    """What the passed parity gates compared with stock, what with anything else, and where a tie counts as equal."""
    texts = {gate.gate: gate.evidence for gate in parity.gates if {"forks", "n_compared"} <= set(gate.evidence)}
    if not texts:
        return f"{len(parity.gates)} parity gate(s) passed"
    stock = {name: text for name, text in texts.items() if name.startswith(STOCK_GATES)}
    others = [text for name, text in texts.items() if name not in stock]
    parts = (_against_stock(stock), _against_itself(others, "more" if stock else "tokens"))
    return "; ".join(filter(None, parts))


def _against_stock(texts: Mapping[str, JsonMap]) -> str:
    """How the speed build stands to stock; only comparisons without forks are called identical."""
    if not texts:
        return "no text was compared with stock"
    tokens, forks = _amounts(texts.values())
    sameness = f"equal but for {forks} fork(s) at ties" if forks else "token-identical"
    where = [_real_prompts(texts[REAL_GATE])] if REAL_GATE in texts else []
    where += ["generated models"] if len(texts) > len(where) else []
    return f"{sameness} to stock on {tokens:,} tokens ({', and '.join(where)})"


def _real_prompts(real: JsonMap) -> str:
    if not real.get("n_prompts"):
        return "a real model"
    most = "" if real["n_compared"] == real["n_expected"] else "up to "
    return f"{real['n_prompts']} real prompts x {most}{real['n_expected'] // real['n_prompts']}"


def _against_itself(texts: Collection[JsonMap], unit: str) -> str:
    if not texts:
        return ""
    tokens, forks = _amounts(texts)
    ties = f", but for {forks} fork(s) at ties" if forks else ""
    return f"{tokens:,} {unit} agree with the calculated text or with its own plain decoding{ties}"


def _amounts(texts: Iterable[JsonMap]) -> tuple[int, int]:
    """Tokens compared, and forks let through."""
    amounts = [(text["n_compared"], len(text["forks"])) for text in texts]
    return sum(tokens for tokens, _ in amounts), sum(forks for _, forks in amounts)


def gain_words(scenarios: Sequence[ScenarioFigure]) -> str:
    """The gains with their intervals, the real model first; empty when nothing was measured."""
    if not scenarios:
        return ""
    real = [figure for figure in scenarios if figure.is_real]
    generated = [figure for figure in scenarios if not figure.is_real]
    parts = [f"on a real model {_ends(real)}" if real else "not measured on a real model"]
    if generated:
        parts.append(f"{_ends(generated, most='up to ')} on a generated model that exaggerates the gain")
    return "; ".join(parts)


def _ends(scenarios: Sequence[ScenarioFigure], most: str = "") -> str:
    """The one change, or the least and the greatest; `most` stands for the least where nothing got slower."""
    low = min(scenarios, key=lambda figure: figure.log_ratio)
    high = max(scenarios, key=lambda figure: figure.log_ratio)
    if low is high:
        return high.words
    if most and not any(figure.is_slower for figure in scenarios):
        return f"{most}{high.words}"
    return f"from {low.words} to {high.words}"
