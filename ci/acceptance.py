"""How much of a draft a target accepts: closed forms for first-order exact pairs.

A *kernel* M [n, n] holds M[x, y] = Pr(the draft proposes y after x and the target accepts it).
"""

import math
from dataclasses import dataclass

import numpy as np

from ci.law import Array, Ints, PairLaw, draft_from, tempered

DRAFT_TOP_K = 10  # draft-simple proposes from the ten most likely tokens of Q
POWER_STEPS = 5000  # steps towards the stationary law: mixing takes tens of rounds


def top_k(log_law: Array, k: int) -> Array:
    """The law with everything outside each row's k largest entries at -inf; k >= n leaves it as it is."""
    if k >= log_law.shape[-1]:
        return log_law
    cut = np.sort(log_law, axis=-1)[..., -k][..., None]
    return np.where(log_law >= cut, log_law, -np.inf)


def accept_match(law: PairLaw, temperature: float) -> Array:
    """m[x, y] = Pr(draft proposes y after x and it is accepted) for a greedy draft verified by sample-and-match.

    The draft proposes g = argmax Q; the target samples and compares, so m[x, g(x)] = P_T(g(x) | x).
    """
    probs = tempered(law.log_p, temperature)
    rows = np.arange(law.n_state)
    kernel = np.zeros_like(probs)
    kernel[rows, law.successor] = probs[rows, law.successor]
    return kernel


def accept_reject(law: PairLaw, temperature: float) -> Array:
    """m[x, y] for a sampled draft verified by rejection: min(P_T, Q_T) with Q cut to its top ten.

    Source: speculative sampling (Leviathan, Kalman, Matias 2023), with the proposal that the server really makes.
    """
    return np.minimum(tempered(law.log_p, temperature), tempered(top_k(law.log_q, DRAFT_TOP_K), temperature))


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """Stationary figures of one verify round."""

    accepted: float
    drafted: float
    by_position: tuple[float, ...]

    @property
    def rate(self) -> float:
        """Accepted share of drafted tokens; NaN when nothing is drafted."""
        return self.accepted / self.drafted if self.drafted else math.nan

    @property
    def tokens(self) -> float:
        """Tokens emitted per round: the accepted ones and the target's own."""
        return 1.0 + self.accepted


def expectation(law: PairLaw, kernel: Array, temperature: float, *, n_max: int, p_min: float = 0.0) -> Expectation:
    """Expected draft figures per round of an endless text of a first-order target.

    Rounds form a Markov chain over their anchor states. From an anchor the weight w_k[y] of "k drafts accepted, now
    at y" obeys w_(k+1) = w_k M; what is not accepted moves on by the residual law P - M, a full round by P. The
    stationary law of that anchor chain weighs the rounds.

    Args:
        law: the pair.
        kernel: M, from :func:`accept_match` or :func:`accept_reject`.
        temperature: sampling temperature of the target.
        n_max: longest draft.
        p_min: confidence threshold below which a greedy draft stops before its next token (0: never).
    """
    probs = tempered(law.log_p, temperature)
    depths = _draft_lengths(law, n_max, p_min)
    weight, moves = np.eye(law.n_state), np.zeros_like(probs)
    accepted = []
    for depth in range(n_max):
        drafting = (depths > depth)[:, None]
        moves += np.where(drafting, weight @ (probs - kernel), weight @ probs)
        weight = np.where(drafting, weight @ kernel, 0.0)
        accepted.append(weight.sum(axis=1))
    anchors = _stationary(moves + weight @ probs)
    by_position = tuple(float(row @ anchors) for row in accepted)
    return Expectation(accepted=sum(by_position), drafted=float(depths @ anchors), by_position=by_position)


def _draft_lengths(law: PairLaw, n_max: int, p_min: float) -> Ints:
    """[n]: how many tokens a greedy draft proposes from each anchor."""
    return np.array([len(draft_from(law, state, n_max, p_min)) for state in range(law.n_state)], dtype=np.int64)


def _stationary(moves: Array) -> Array:
    """[n]: the law that one step of the chain leaves as it is."""
    share: Array = np.full(len(moves), 1.0 / len(moves))
    for _ in range(POWER_STEPS):
        share = share @ moves
    normal: Array = share / share.sum()
    return normal
