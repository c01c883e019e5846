"""Greedy identity: two sets of texts compared token by token, every fork explained by its margin or failed.

A fork is the first position where two texts differ. It is explained when both sides, asked again for the next token
after the common part, name the same two best tokens, those are the two that the texts went on with, and the distance
between them is within the margin of the comparison. Everything after a fork is another text and is not compared.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ci.outcome import GateResult, JsonMap, JsonValue, Verdict
from ci.parity.policy import MIN_COVERAGE, Tolerance

Tokens = tuple[int, ...]
Candidates = tuple[tuple[int, float], ...]
"""(token id, log-probability), best first."""

END = -1  # stands for "the text ended here"


@dataclass(frozen=True, kw_only=True)
class Text:
    """One generated text.

    Attributes:
        prompt: id of its prompt.
        tokens: generated ids.
        asked: tokens asked for.
    """

    prompt: str
    tokens: Tokens
    asked: int


@dataclass(frozen=True, kw_only=True)
class Fork:
    """Where two texts part.

    Attributes:
        prompt: id of the prompt.
        index: position of the first difference.
        left: token of the left text there, `END` when it ended.
        right: the same of the right text.
        scores: per side, the candidates for that position; empty until it was scored again.
    """

    prompt: str
    index: int
    left: int
    right: int
    scores: tuple[Candidates, ...] = ()

    def scored(self, *scores: Candidates) -> "Fork":
        """A copy with the candidates of both sides."""
        return dataclasses.replace(self, scores=scores)

    @property
    def margin(self) -> float | None:
        """Largest distance between the two best candidates over the sides, nats; None when it is not known."""
        if not self.scores or any(len(side) < 2 for side in self.scores):
            return None
        return max(side[0][1] - side[1][1] for side in self.scores)

    def explained(self, margin: float) -> bool:
        """Whether this is a tie: the same two best tokens on both sides, no further apart than `margin` nats."""
        known = self.margin
        if known is None:
            return False
        return known <= margin and all({t for t, _ in side[:2]} == {self.left, self.right} for side in self.scores)

    def to_json(self, margin: float) -> dict[str, JsonValue]:
        """As evidence: a person must be able to judge the fork from it."""
        return {
            "prompt": self.prompt,
            "index": self.index,
            "tokens": [self.left, self.right],
            "margin": self.margin,
            "explained": self.explained(margin),
            "candidates": [[list(pair) for pair in side[:3]] for side in self.scores],
        }


def fork_of(left: Text, right: Text) -> Fork | None:
    """The fork of two texts of one prompt; None when they are equal."""
    if left.tokens == right.tokens:
        return None
    pairs = zip((*left.tokens, END), (*right.tokens, END), strict=False)
    index, (a, b) = next((i, pair) for i, pair in enumerate(pairs) if pair[0] != pair[1])
    return Fork(prompt=left.prompt, index=index, left=a, right=b)


def forks_of(left: Sequence[Text], right: Sequence[Text]) -> tuple[Fork, ...]:
    """The forks of all prompts that both sides have."""
    other = {text.prompt: text for text in right}
    found = (fork_of(text, other[text.prompt]) for text in left if text.prompt in other)
    return tuple(fork for fork in found if fork)


@dataclass(frozen=True, kw_only=True)
class Drafted:
    """Draft counters summed over a run."""

    drafted: int
    accepted: int


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two sets of texts and what a gate needs to judge them.

    Attributes:
        gate: its name.
        left, right: the texts, matched by prompt id.
        n_prompts: prompts that should be there on both sides.
        n_expected: tokens that should be there on each side.
        tolerance: what it may explain away.
        forks: scored forks, of all pairs that differ.
        drafted: draft counters of the speculative side, None when no speculation is involved.
    """

    gate: str
    left: tuple[Text, ...]
    right: tuple[Text, ...]
    n_prompts: int
    n_expected: int
    tolerance: Tolerance
    forks: tuple[Fork, ...]
    drafted: Drafted | None = None

    @property
    def n_compared(self) -> int:
        """Token positions at which both sides said something, up to and with the fork."""
        other = {text.prompt: text for text in self.right}
        return sum(_compared(text, other[text.prompt]) for text in self.left if text.prompt in other)


def _compared(left: Text, right: Text) -> int:
    fork = fork_of(left, right)
    return len(left.tokens) if fork is None else min(fork.index + 1, len(left.tokens), len(right.tokens))


def judge(comparison: Comparison, *, evidence: JsonMap | None = None) -> GateResult:
    """The verdict of a comparison. Unexplained forks fail; too little to compare, or no drafts, proves nothing."""
    verdict, reason = _verdict(comparison)
    return GateResult(
        gate=comparison.gate,
        verdict=verdict,
        reason=reason,
        evidence={**_evidence(comparison), **(evidence or {})},
    )


def _verdict(c: Comparison) -> tuple[Verdict, str]:
    unscored = set(forks_of(c.left, c.right)) - {dataclasses.replace(fork, scores=()) for fork in c.forks}
    bad = [fork for fork in c.forks if not fork.explained(c.tolerance.margin)]
    if bad or unscored:
        first = (bad or sorted(unscored, key=lambda fork: fork.prompt))[0]
        return Verdict.FAIL, f"{len(bad) + len(unscored)} unexplained fork(s), first: {_in_words(first)}"
    missing = _missing(c)
    if missing:
        return Verdict.UNPROVEN, missing
    if len(c.forks) > c.tolerance.max_forked * c.n_prompts:
        return (
            Verdict.FAIL,
            f"{len(c.forks)} of {c.n_prompts} texts fork, at most {c.tolerance.max_forked:.0%} may, even at ties",
        )
    forks = f"{len(c.forks)} fork(s), all at ties" if c.forks else "no forks"
    return Verdict.PASS, f"{c.n_compared} of {c.n_expected} tokens compared, {forks}"


def _in_words(fork: Fork) -> str:
    margin = "not scored" if fork.margin is None else f"margin {fork.margin:.3g} nats"
    return f"prompt {fork.prompt} at token {fork.index}: {fork.left} against {fork.right}, {margin}"


def _missing(c: Comparison) -> str | None:
    """Why the texts prove nothing, however equal they are."""
    prompts = {text.prompt for text in c.left} & {text.prompt for text in c.right}
    if len(prompts) < c.n_prompts or c.n_prompts == 0:
        return f"{len(prompts)} of {c.n_prompts} prompts were answered on both sides"
    empty = sorted({text.prompt for text in (*c.left, *c.right) if not text.tokens})
    if empty:
        return f"empty replies: {', '.join(empty)}"
    if c.n_compared < MIN_COVERAGE * c.n_expected or c.n_expected == 0:
        return f"only {c.n_compared} of {c.n_expected} tokens could be compared, {MIN_COVERAGE:.0%} are needed"
    if c.drafted is not None and c.drafted.drafted == 0:
        return "draft_n is 0: nothing was speculated, so plain decoding was compared with itself"
    return None


def _evidence(c: Comparison) -> dict[str, JsonValue]:
    drafts: Mapping[str, JsonValue] = dataclasses.asdict(c.drafted) if c.drafted else {}
    return {
        "n_prompts": c.n_prompts,
        "n_compared": c.n_compared,
        "n_expected": c.n_expected,
        "margin": c.tolerance.margin,
        "forks": [fork.to_json(c.tolerance.margin) for fork in c.forks],
        "tokens_left": sum(len(text.tokens) for text in c.left),
        "tokens_right": sum(len(text.tokens) for text in c.right),
        **({"draft_n": drafts["drafted"], "draft_n_accepted": drafts["accepted"]} if drafts else {}),
    }
