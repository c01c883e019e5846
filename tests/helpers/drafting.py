"""Simulated servers that verify sampled drafts on a first-order law: honest, and with two faults in law only."""

from bisect import bisect
from collections.abc import Sequence

import numpy as np

from ci.law import Array, Counters, PairLaw, tempered
from ci.parity.sampled import Sampled

HONEST, REWOUND, BIASED = "honest", "rewound", "biased"
LENGTH, N_MAX = 64, 7


class _Server:
    """Verifies drafts as a server with checkpoints does; uniforms that decide on drafts come from a stream.

    rewound: after a rejection the stream stands where the round began, so the next round meets the same numbers.
    biased: the rejected token is replaced by one of P, not of the positive part of P - Q.
    """

    def __init__(self, law: PairLaw, fault: str, seed: int) -> None:
        self.rng, self.fault, self.law = np.random.default_rng(seed), fault, law
        p, q = tempered(law.log_p, 1.0), tempered(law.log_q, 1.0)
        rest = p if fault == BIASED else np.maximum(p - q, 0)
        self.ratio = (p / q).tolist()
        self.p, self.q, self.rest = (_cumulative(matrix) for matrix in (p, q, rest))

    def draw(self, rows: list[list[float]], state: int) -> int:
        return bisect(rows[state], float(self.rng.random()))

    def text(self, start: int) -> Sampled:
        states, stream = [self.draw(self.p, start)], self.fresh()
        drafted = accepted = 0
        while len(states) < LENGTH:
            kept, replacement = self.verified(states[-1], stream)
            drafted, accepted = drafted + N_MAX, accepted + len(kept)
            states += [*kept, *replacement]
            states.append(self.draw(self.p, states[-1]))  # after a whole draft, and after the replay of a partial one
            if not replacement or self.fault != REWOUND:
                stream = self.fresh()
        counters = Counters(drafted=drafted, accepted=accepted)
        return Sampled(start=start, tokens=self.law.tokens_of(states[:LENGTH]), counters=counters)

    def fresh(self) -> list[float]:
        return [float(value) for value in self.rng.random(N_MAX)]

    def verified(self, state: int, stream: Sequence[float]) -> tuple[list[int], list[int]]:
        """The accepted part of a draft, and what replaces its first rejected token."""
        kept: list[int] = []
        for uniform in stream:
            token = self.draw(self.q, state)
            if uniform > self.ratio[state][token]:
                return kept, [self.draw(self.rest, state)]
            kept.append(token)
            state = token
        return kept, []


def _cumulative(weights: Array) -> list[list[float]]:
    sums = np.cumsum(weights, axis=1)
    sums /= sums[:, -1:]
    rows: list[list[float]] = sums.tolist()
    return rows


def served(law: PairLaw, fault: str, requests: int, *, seed: int = 1) -> list[Sampled]:
    """Texts of 64 tokens from every start state in turn."""
    server = _Server(law, fault, seed)
    return [server.text(index % law.n_state) for index in range(requests)]
