"""Closed forms of exact pairs: what a target says, what its draft proposes, how much of it is accepted.

Words as in `ci.law`; a *context* is all that the next state depends on: the current state of a first-order target,
(state before, state) of a second-order one. Functions are over contexts [S], S = n or n^2. A hybrid remembers its
whole text, so it has no such form: ValueError.

Verification, by Leviathan, Kalman, Matias (2023), "Fast inference from transformers via speculative decoding": in a
context with target law p and draft law q the draft proposes y, which is accepted with min(1, p(y)/q(y)); otherwise
the state is drawn from the positive part of p - q, normalised. So y is proposed and accepted with probability
m(y) = min(p(y), q(y)), comes as a replacement with p(y) - m(y), and is said with p(y) in all: the output law is the
target's. A draft without chance, which proposes g, is verified by drawing from p and comparing: m(y) = p(y) [y = g],
and again p(y) - m(y) is left for replacements. Everything below follows from p and m by adding up rounds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ci.law import Array, Ints, PairLaw, log_softmax, tempered

Bools = npt.NDArray[np.bool_]

SIMPLE_TOP_K = 10
"""draft-simple proposes its ten best tokens only; a sampled draft has the temperature of the target."""

CONVERGED, MOST_STEPS = 1e-13, 5_000


# ---- what the next state depends on ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Contexts:
    """What the next state depends on, numbered.

    Attributes:
        log_law: [S, n] log-law of the next state by context.
        current: [S] current state of each context.
        onward: [S, n] context after a next state.
    """

    log_law: Array
    current: Ints
    onward: Ints

    def at(self, start: int) -> int:
        """The context after the one-token prompt `start`: a second-order target takes it for its own predecessor."""
        return int(self.onward[np.argmax(self.current == start), start])

    def begun(self, starts: Array) -> Array:
        """[S]: weights of the contexts after one-token prompts, from those of the prompts' states [n]."""
        weights = np.zeros(len(self.current))
        weights[[self.at(start) for start in range(len(starts))]] = starts
        return weights

    def path(self, start: int, states: Ints) -> Ints:
        """[len(states)]: the contexts in which the states of a text were drawn."""
        contexts, at = np.empty(len(states), dtype=np.int64), self.at(start)
        for index, state in enumerate(states):
            contexts[index] = at
            at = int(self.onward[at, state])
        return contexts

    def push(self, weights: Array, laws: Array) -> Array:
        """[S]: the contexts after one more state, drawn by `laws` [S, n] in contexts weighted by `weights` [S]."""
        moved = (weights[:, None] * laws).ravel()
        return _added(self.onward.ravel(), moved, len(weights))


def contexts_of(law: PairLaw) -> Contexts:
    """The contexts of a pair's target.

    Raises:
        ValueError: the target remembers its whole text.
    """
    n = law.n_state
    states = np.arange(n)
    if law.history is None:
        return Contexts(log_law=law.log_p, current=states, onward=np.tile(states, (n, 1)))
    if law.decay:
        raise ValueError("the law depends on the whole text: there is no closed form over finitely many contexts")
    log_law = log_softmax(law.log_p[None, :, :] + law.history[:, None, :]).reshape(n * n, n)
    current = np.tile(states, n)
    return Contexts(log_law=log_law, current=current, onward=current[:, None] * n + states)


# ---- the output law ----------------------------------------------------------------------------------------------


def states_said(contexts: Contexts, temperature: float, starts: Array, length: int) -> Array:
    """[length, n]: the law of each state of a text: the law `starts` [n] of one-token prompts, times P once a token.

    Speculation does not change it, see above.
    """
    laws, weights = tempered(contexts.log_law, temperature), contexts.begun(starts)
    said = np.empty((length, laws.shape[1]))
    for t in range(length):
        said[t] = weights @ laws
        weights = contexts.push(weights, laws)
    return said


def stationary_states(contexts: Contexts, temperature: float) -> Array:
    """[n]: the share of each state in an endless text: the fixed point of w = w P over contexts, seen by state.

    Raises:
        ValueError: the law does not forget where it began, as at temperature 0.
    """
    laws = tempered(contexts.log_law, temperature)
    weights = _fixed_point(len(laws), lambda weights: contexts.push(weights, laws))
    return _added(contexts.current, weights, laws.shape[1])


def _added(where: Ints, weights: Array, size: int) -> Array:
    """[size]: sums of weights that go to the same place."""
    return np.asarray(np.bincount(where, weights=weights, minlength=size), dtype=np.float64)


# ---- drafts ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """One step of drafting and verifying, by context.

    Attributes:
        contexts: where it happens.
        target: [S, n] law p of the target at its temperature.
        proposed: [S, n] law q of the draft, where it drafts.
        accepted: [S, n] probability m that a state is proposed and accepted.
        drafts: [S] whether the draft goes on here: its confidence reaches the threshold.
    """

    contexts: Contexts
    target: Array
    proposed: Array
    accepted: Array
    drafts: Bools

    @property
    def acceptance(self) -> Array:
        """[S]: the chance of a proposal made here; 1 - sum |p - q| / 2 where q is sampled."""
        return np.asarray(self.accepted.sum(axis=1), dtype=np.float64)


def dspark_step(law: PairLaw, temperature: float, p_min: float = 0.0) -> Step:
    """DSpark: proposes argmax Q, verified by drawing; stops before a step whose confidence is below `p_min`.

    The comparison is made in float32 because the server makes it there.
    """
    return _greedy_step(law, temperature, law.confidence.astype(np.float32) >= np.float32(p_min))


def simple_greedy_step(law: PairLaw, temperature: float, p_min: float = 0.0) -> Step:
    """draft-simple without chance: proposes argmax Q; its confidence is the largest probability of its top ten."""
    return _greedy_step(law, temperature, _surest(law.log_q, 1.0) >= p_min)


def simple_sampled_step(law: PairLaw, temperature: float, p_min: float = 0.0) -> Step:
    """draft-simple sampled: proposes from the top ten of Q at the target's temperature, verified by ratio."""
    contexts = contexts_of(law)
    target = tempered(contexts.log_law, temperature)
    proposed = tempered(truncated(law.log_q, SIMPLE_TOP_K), temperature)[contexts.current]
    drafts = (_surest(law.log_q, temperature) >= p_min)[contexts.current]
    return Step(
        contexts=contexts, target=target, proposed=proposed, accepted=np.minimum(target, proposed), drafts=drafts
    )


def truncated(log_law: Array, top_k: int) -> Array:
    """Log-weights [..., n] with all but the `top_k` largest of each row forbidden; not normalised."""
    kept = np.argsort(-log_law, axis=-1, kind="stable")[..., :top_k]
    cut = np.full_like(log_law, -np.inf)
    np.put_along_axis(cut, kept, np.take_along_axis(log_law, kept, axis=-1), axis=-1)
    return cut


def _surest(log_q: Array, temperature: float) -> Array:
    largest: Array = tempered(truncated(log_q, SIMPLE_TOP_K), temperature).max(axis=-1)
    return largest


def _greedy_step(law: PairLaw, temperature: float, confident: Bools) -> Step:
    contexts = contexts_of(law)
    target = tempered(contexts.log_law, temperature)
    proposed = tempered(law.log_q, 0.0)[contexts.current]
    drafts = confident[contexts.current]
    return Step(contexts=contexts, target=target, proposed=proposed, accepted=target * proposed, drafts=drafts)


# ---- what drafts are worth ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Worth:
    """Expected figures of speculation: of one request, or of one round in the long run.

    Attributes:
        drafted: [n_max] tokens proposed at each position of a draft.
        accepted: [n_max] tokens accepted at each.
        rounds: verify rounds, those at the end of a request that have no room for a draft among them.
    """

    drafted: Array
    accepted: Array
    rounds: float

    @property
    def by_position(self) -> Array:
        """[n_max]: accepted share of the tokens proposed at each position; NaN where none is."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.accepted / self.drafted, dtype=np.float64)

    @property
    def acceptance(self) -> float:
        """Accepted share of all proposed tokens; NaN where none is."""
        drafted = float(self.drafted.sum())
        return float(self.accepted.sum()) / drafted if drafted else math.nan

    @property
    def mean_length(self) -> float:
        """Tokens of a round: the accepted ones, and the target's own."""
        return 1.0 + float(self.accepted.sum()) / self.rounds

    def plus(self, other: "Worth") -> "Worth":
        """Both together."""
        return Worth(
            drafted=self.drafted + other.drafted,
            accepted=self.accepted + other.accepted,
            rounds=self.rounds + other.rounds,
        )


def request_worth(step: Step, starts: Array, length: int, n_max: int) -> Worth:
    """What drafts are worth in requests of `length` tokens: in one if `starts` is a law, in all if it counts them.

    The first token comes from the prompt's logits, undrafted. A round that begins with r tokens left drafts at most
    min(n_max, r - 1), so that draft and the target's own token fit. Exact: the chance of a round with every number of
    tokens left in every context is added up from the first round to the last.

    Args:
        step: of drafting and verifying.
        starts: [n] weights of the states of one-token prompts.
        length: tokens of a request.
        n_max: longest draft.
    """
    worth = Worth(drafted=np.zeros(n_max), accepted=np.zeros(n_max), rounds=0.0)
    arriving = np.zeros((length + 1, len(step.target)))  # by tokens left
    arriving[length - 1] = step.contexts.push(step.contexts.begun(starts), step.target)
    for left in range(length - 1, 0, -1):
        one, landings = _round(step, arriving[left], min(n_max, left - 1), n_max)
        worth = worth.plus(one)
        for said, weights in enumerate(landings, start=1):
            arriving[left - said] += weights
    return worth


def endless_worth(step: Step, n_max: int) -> Worth:
    """What drafts are worth by round in an endless text: rounds begin by the fixed point of the round's own law.

    Raises:
        ValueError: rounds do not forget where the text began, as at temperature 0.
    """

    def next_round(weights: Array) -> Array:
        total: Array = np.sum(list(_round(step, weights, n_max, n_max)[1]), axis=0)
        return total

    return _round(step, _fixed_point(len(step.target), next_round), n_max, n_max)[0]


def _round(step: Step, weights: Array, room: int, n_max: int) -> tuple[Worth, list[Array]]:
    """One round from contexts with `weights` [S]: its worth, and the contexts after 1, 2, ... `room` + 1 tokens."""
    push, refused = step.contexts.push, step.target - step.accepted
    drafted, accepted = np.zeros(n_max), np.zeros(n_max)
    proposing, right = weights, weights  # contexts along the draft whatever it is worth, and where all was accepted
    landings = []
    for position in range(room):
        proposing, going_on, ending = proposing * step.drafts, right * step.drafts, right * ~step.drafts
        drafted[position] = proposing.sum()
        landings.append(push(ending, step.target) + push(going_on, refused))
        proposing, right = push(proposing, step.proposed), push(going_on, step.accepted)
        accepted[position] = right.sum()
    landings.append(push(right, step.target))
    return Worth(drafted=drafted, accepted=accepted, rounds=float(weights.sum())), landings


def _fixed_point(size: int, onward: Callable[[Array], Array]) -> Array:
    """[size]: the weights that `onward` leaves alone, found by going on from equal ones."""
    weights = np.full(size, 1.0 / size)
    for _ in range(MOST_STEPS):
        following = onward(weights)
        if float(np.abs(following - weights).sum()) < CONVERGED:
            return following
        weights = following
    raise ValueError("the law does not forget where it began: there is no stationary form")
