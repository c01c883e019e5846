"""Speculation on tiny laws by following every way that it can go: slow, plain, and independent of closed forms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ci.law import Array, PairLaw, Walk, tempered

Text = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How a server speculates.

    draft: [n, n] law of proposals after each state; confident: whether a draft goes on after each state.
    """

    law: PairLaw
    temperature: float
    n_max: int
    draft: Array
    confident: Sequence[bool]


@dataclass(frozen=True, kw_only=True)
class Told:
    """What came of all ways: the chance of each text, and the expected tokens drafted and accepted by position."""

    texts: dict[Text, float]
    drafted: Array
    accepted: Array
    rounds: float


def every_way(rules: Rules, start: int, length: int) -> Told:
    """Follow every draw of drafts, verifications and replacements of one request."""
    texts: dict[Text, float] = {}
    drafted, accepted, rounds = np.zeros(rules.n_max), np.zeros(rules.n_max), 0.0
    first = enumerate(after(rules, start, ()))
    pending: list[tuple[float, Text]] = [(chance, (state,)) for state, chance in first if chance]
    while pending:
        chance, text = pending.pop()
        if len(text) == length:
            texts[text] = texts.get(text, 0.0) + chance
            continue
        rounds += chance
        room = min(rules.n_max, length - len(text) - 1)
        for likely, draft in drafts(rules, text[-1], room):
            drafted[: len(draft)] += chance * likely
            for way, said in verified(rules, start, text, draft):
                accepted[: len(said) - 1] += chance * likely * way
                pending.append((chance * likely * way, (*text, *said)))
    return Told(texts=texts, drafted=drafted, accepted=accepted, rounds=rounds)


def after(rules: Rules, start: int, text: Text) -> Sequence[float]:
    walk = Walk(rules.law, start)
    for state in text:
        walk.step(state)
    probs: list[float] = tempered(walk.log_law(), rules.temperature).tolist()
    return probs


def drafts(rules: Rules, state: int, room: int) -> Iterator[tuple[float, Text]]:
    if room == 0 or not rules.confident[state]:
        yield 1.0, ()
        return
    for proposed, chance in enumerate(rules.draft[state].tolist()):
        if chance:
            for rest, draft in drafts(rules, proposed, room - 1):
                yield chance * rest, (proposed, *draft)


def verified(rules: Rules, start: int, text: Text, draft: Text) -> Iterator[tuple[float, Text]]:
    """The ways that a draft is verified: accepted up to somewhere, and one token of the target."""
    chance = 1.0
    for at, proposed in enumerate(draft):
        p = np.array(after(rules, start, (*text, *draft[:at])))
        q = rules.draft[draft[at - 1] if at else text[-1]]
        kept = min(1.0, p[proposed] / q[proposed])
        rest = np.maximum(p - q, 0.0)
        for state, weight in enumerate(rest.tolist()):
            if weight and kept < 1:
                yield chance * (1 - kept) * weight / rest.sum(), (*draft[:at], state)
        chance *= kept
        if not chance:
            return
    for state, last in enumerate(after(rules, start, (*text, *draft))):
        if last:
            yield chance * last, (*draft, state)
