"""The known laws of exact pairs, in numpy: chains, draft acceptance, counters, and the test against a law.

Words: a *law* is a matrix of log-probabilities [n, n] over the states of a pair, rows = current state, columns = next
state. State `i` is token `first + i`. P is the target's law, Q the draft's. `T` is the sampling temperature.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MIN_EXPECTED = 5.0  # smallest expected count of a cell of the G-test (Cochran's rule)


@dataclass(frozen=True, kw_only=True, eq=False)
class PairLaw:
    """What an exact pair does, in closed form.

    Attributes:
        first: token id of state 0; states are consecutive ids.
        log_p: target law [n, n]; of a target that remembers only the part that depends on the current state.
        log_q: draft law [n, n].
        confidence: [n], what the draft's confidence head says after each state.
        history: [n, n] logits added per remembered state (rows), None for first-order targets.
        decay: factor by which a hybrid's memory fades at each token; 0 for a second-order target, which remembers
            the state before the current one and nothing else.
        amplitude: size of the memory term in the residual stream, relative to the unit that `log_p` was scaled for.
        recalls_itself: whether the first token of a text remembers itself: attention that looks for the token before
            finds nothing there but the token that asks.
    """

    first: int
    log_p: Array
    log_q: Array
    confidence: Array
    history: Array | None = None
    decay: float = 0.0
    amplitude: float = 0.0
    recalls_itself: bool = False

    @property
    def n_state(self) -> int:
        """Number of states."""
        return len(self.log_p)

    @property
    def successor(self) -> Ints:
        """[n]: the state that a greedy draft proposes after each state, argmax Q."""
        return np.asarray(self.log_q.argmax(axis=1), dtype=np.int64)

    def states_of(self, tokens: Sequence[int]) -> tuple[int, ...]:
        """States of token ids.

        Raises:
            ValueError: a token is outside the state set: the model cannot say it under this law.
        """
        states = tuple(int(token) - self.first for token in tokens)
        for position, state in enumerate(states):
            if not 0 <= state < self.n_state:
                raise ValueError(f"token {tokens[position]} at {position} is not one of the pair's states")
        return states

    def tokens_of(self, states: Sequence[int]) -> tuple[int, ...]:
        """Token ids of states."""
        return tuple(int(state) + self.first for state in states)


def log_softmax(logits: Array) -> Array:
    """Normalise logits along the last axis: z - log sum exp z, stable for any offset."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    normal: Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return normal


def tempered(log_law: Array, temperature: float) -> Array:
    """Probabilities at a temperature [..., n]: softmax(log law / T); at T = 0 all mass on the argmax."""
    if temperature > 0:
        return np.exp(log_softmax(log_law / temperature))
    probs = np.zeros_like(log_law)
    np.put_along_axis(probs, log_law.argmax(axis=-1, keepdims=True), 1.0, axis=-1)
    return probs


# ---- what a target says ------------------------------------------------------------------------------------------


class Walk:
    """A target's next-state law along one text, state by state; carries what the target remembers.

    The memory after x_0..x_m is o = sum over i < m of decay^(m-1-i) onehot(x_i), without the current state x_m: a
    hybrid's convolution hands its recurrence the token before the current one, and the attention of a second-order
    target (decay 0, so o = onehot(x_(m-1))) looks one token back. The norm of o is divided out, so the logits are
    (log P[x_m] + u . history) / scale with u = o / |o|, a the amplitude, and
    scale = sqrt((1 + a^2 |u|^2) / (1 + a^2)): the residual stream is normalised once more before the output
    matrix, which was scaled for |u| = 1, and |u| is 0 where nothing is remembered.

    Args:
        law: of the pair.
        start: state of the one-token prompt; None for a prompt of other tokens, after which every state is equally
            likely and nothing is remembered.
    """

    def __init__(self, law: PairLaw, start: int | None) -> None:
        self._law = law
        self._memory = np.zeros(law.n_state)
        self.current = start
        if law.recalls_itself and start is not None:
            self._memory[start] = 1.0

    def log_law(self) -> Array:
        """Log-probabilities [n] of the next state."""
        if self.current is None:
            return np.full(self._law.n_state, -math.log(self._law.n_state))
        row: Array = self._law.log_p[self.current]
        if self._law.history is None:
            return row
        norm = float(np.linalg.norm(self._memory))
        unit = self._memory / norm if norm else self._memory
        square = self._law.amplitude**2
        scale = math.sqrt((1 + square * float(unit @ unit)) / (1 + square))
        return log_softmax((row + unit @ self._law.history) / scale)

    def step(self, state: int) -> None:
        """Go on to the next state."""
        self._memory = self._law.decay * self._memory
        if self.current is not None:
            self._memory[self.current] += 1.0
        self.current = state


@dataclass(frozen=True, kw_only=True)
class Chain:
    """The greedy text of a target: states, and the distance in log-probability to the runner-up at each."""

    states: tuple[int, ...]
    margins: tuple[float, ...]


def argmax_chain(law: PairLaw, start: int | None, length: int) -> Chain:
    """What the target says at temperature 0 after a prompt as :class:`Walk` takes it."""
    walk = Walk(law, start)
    states, margins = [], []
    for _ in range(length):
        row = walk.log_law()
        second, best = np.partition(row, -2)[-2:]
        margins.append(float(best - second))
        states.append(int(row.argmax()))
        walk.step(states[-1])
    return Chain(states=tuple(states), margins=tuple(margins))


def path_laws(law: PairLaw, start: int | None, states: Sequence[int]) -> Array:
    """Log-law before each emitted state [len(states), n]: row t is the law that `states[t]` was drawn from."""
    walk = Walk(law, start)
    rows = np.empty((len(states), law.n_state))
    for t, state in enumerate(states):
        rows[t] = walk.log_law()
        walk.step(state)
    return rows


# ---- what a greedy draft proposes and gets accepted ----------------------------------------------------------------


def draft_from(law: PairLaw, anchor: int, n_max: int, p_min: float = 0.0) -> tuple[int, ...]:
    """The greedy draft after a state: the argmax chain of Q, stopped before a step whose confidence is below `p_min`.

    The comparison is made in float32 because the server makes it there.
    """
    successor = law.successor
    draft: list[int] = []
    while len(draft) < n_max and (p_min <= 0 or np.float32(law.confidence[anchor]) >= np.float32(p_min)):
        anchor = int(successor[anchor])
        draft.append(anchor)
    return tuple(draft)


@dataclass(frozen=True, kw_only=True)
class Counters:
    """A server's draft counters of one request."""

    drafted: int = 0
    accepted: int = 0

    def plus(self, *, drafted: int, accepted: int) -> "Counters":
        """A copy with one round added."""
        return dataclasses.replace(self, drafted=self.drafted + drafted, accepted=self.accepted + accepted)


def replay(
    law: PairLaw, states: Sequence[int], *, n_max: int, p_min: float = 0.0, checkpoint: bool = False
) -> Counters:
    """Draft counters as a function of the output: a deterministic draft leaves nothing to chance.

    Arguments as those of :func:`rounds_of`.
    """
    counters = Counters()
    for one in rounds_of(law, states, n_max=n_max, p_min=p_min, checkpoint=checkpoint):
        counters = counters.plus(drafted=one.drafted, accepted=one.accepted)
    return counters


def rounds_of(
    law: PairLaw, states: Sequence[int], *, n_max: int, p_min: float = 0.0, checkpoint: bool = False
) -> Iterator[Counters]:
    """The verify rounds in which a text came, of a draft that leaves nothing to chance.

    The first token comes from the prompt's logits, undrafted. Each round drafts after the last known token, cut so
    that draft and the target's own token fit into what remains of the request.

    Args:
        law: the pair; its draft must be greedy (dspark, or draft-simple with greedy sampling).
        states: the emitted states, without the prompt.
        n_max: longest draft.
        p_min: confidence threshold.
        checkpoint: the target cannot drop tokens (hybrid with draft-simple): after a partial acceptance the server
            restores a checkpoint and replays the accepted part, which appends one more token of the target.
    """
    at = 1
    while at < len(states):
        room = len(states) - at - 1
        draft = draft_from(law, states[at - 1], n_max, p_min)[:room]
        accepted = _common_length(draft, states[at:])
        yield Counters(drafted=len(draft), accepted=accepted)
        at += accepted + 1 + (1 if checkpoint and accepted < len(draft) else 0)


def _common_length(draft: Sequence[int], states: Sequence[int]) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(draft, states, strict=False)) if a != b), min(len(draft), len(states))
    )


# ---- a sample against a law --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class GTest:
    """Result of a G-test: statistic, degrees of freedom, p-value (NaN without a testable row)."""

    statistic: float
    df: int
    p_value: float


def g_test(current: Sequence[int], following: Sequence[int], probs: Array) -> GTest:
    """Row-conditional likelihood-ratio test of transitions against a known law.

    G = 2 sum O ln(O / E) over the cells of all rows; inside a row, cells with an expectation below five are pooled,
    and a remainder that is still too small joins the row's smallest kept cell. df = sum over rows of (cells - 1).

    Args:
        current: states before each transition.
        following: states after it, same length.
        probs: law [n, n], rows sum to 1.
    """
    from scipy.stats import chi2  # slow to load, and few who import this module test anything

    counts = np.zeros(probs.shape)
    np.add.at(counts, (np.array(current, dtype=np.int64), np.array(following, dtype=np.int64)), 1)
    statistic, df = 0.0, 0
    for row, law in zip(counts, probs, strict=True):
        observed, expected = _pooled(row, row.sum() * law)
        if len(expected) >= 2:
            seen = observed > 0
            statistic += 2.0 * float((observed[seen] * np.log(observed[seen] / expected[seen])).sum())
            df += len(expected) - 1
    p_value = float(chi2.sf(statistic, df)) if df else math.nan
    return GTest(statistic=statistic, df=df, p_value=p_value)


def _pooled(observed: Array, expected: Array) -> tuple[Array, Array]:
    kept = expected >= MIN_EXPECTED
    rest_seen, rest = float(observed[~kept].sum()), float(expected[~kept].sum())
    cells, means = observed[kept], expected[kept]
    if rest >= MIN_EXPECTED:
        return np.append(cells, rest_seen), np.append(means, rest)
    if len(means):
        smallest = int(means.argmin())
        cells[smallest] += rest_seen
        means[smallest] += rest
    return cells, means
