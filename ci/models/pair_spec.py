"""What an exact pair depends on, and the laws drawn from it."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ci.law import Array, PairLaw, log_softmax
from ci.outcome import JsonMap

GENERATOR = 1  # raise when the bytes of any pair change
RANK_STEP = 32  # widths are padded to whole blocks of quantised types
SSM_STATE = 32  # size of a hybrid's recurrent state: one slot a remembered state
HEAD_DIM = 64  # of every attention head: one slot a remembered state, for a target that attends to the token before
N_EXPERT = 4  # experts of every layer that has some
MEMORY = 0.5  # amplitude of what is remembered in the residual stream, / sqrt(n_embd)
SPECIAL_TOKENS = 5  # unknown, begin, end, pad, and one to spare: states begin behind them
FIRST_WITH_BYTES = 264  # 4 special tokens, 256 byte tokens, and room
LARGEST_VOCAB = 151_936  # that of Qwen3; a larger one asks for more memory and shows nothing else
LONGEST_BLOCK = 16
VOCABULARY_RULE = f"needed: {SPECIAL_TOKENS} <= first, first + n_state < vocab <= {LARGEST_VOCAB}"
DECAY, BETA = 0.8, 0.5  # delta-net memory: o = DECAY (1 - BETA) o + BETA onehot(previous)


@dataclass(frozen=True, kw_only=True)
class PairSpec:
    """Everything that an exact pair depends on.

    Attributes:
        name: for people; not part of the identity of the bytes.
        arch: `qwen3` (dense), `qwen3moe` (every law comes through the right experts) or `qwen35moe` (hybrid: the law
            depends on the whole history through a convolution and a recurrent state).
        seed: of the laws and of the weights that must not matter.
        vocab: tokens.
        n_state: states; token ids `first` and up.
        first: token id of state 0. Byte tokens stand below it from FIRST_WITH_BYTES on: then prompts may be text.
        n_embd: width of target and draft.
        sharp: standard deviation of the law's logits.
        peak: bonus of one designated successor per state.
        diverge: weight of fresh noise in Q: 0 gives Q = P, 1 a Q independent of P.
        order2: standard deviation of the logits that remembered states add. A `qwen3` target with some has a
            second-order law: it attends to the token before, through the cache of keys and values. A hybrid always
            has some; a `qwen3moe` none.
        block: block size of the DSpark model, its longest draft; one less with a bonus anchor.
        confidence_temperature: temperature at which the confidence head tells the true acceptance.
        confidence_noise: standard deviation of the error of the confidence head, on its logit; 0 is calibrated.
        confidence_head: whether the DSpark draft has one at all.
        bonus_anchor: layout of the block whose first position is the last known token, not the first draft.
        shared_head: the DSpark draft has neither embeddings nor output matrix: it uses the target's.
    """

    name: str
    arch: Literal["qwen3", "qwen3moe", "qwen35moe"] = "qwen3"
    seed: int = 1
    vocab: int = 96
    n_state: int = 24
    first: int = 8
    n_embd: int = 128
    sharp: float = 1.0
    peak: float = 4.0
    diverge: float = 0.25
    order2: float = 0.0
    block: int = 8
    confidence_temperature: float = 1.0
    confidence_noise: float = 0.0
    confidence_head: bool = True
    bonus_anchor: bool = False
    shared_head: bool = False

    def __post_init__(self) -> None:
        fault = next(iter(self._faults()), None)
        if fault:
            raise ValueError(f"exact pair {self.name!r}: {fault}")

    def _faults(self) -> Iterator[str]:
        if not SPECIAL_TOKENS <= self.first < self.first + self.n_state < self.vocab <= LARGEST_VOCAB:
            last = self.first + self.n_state - 1
            yield f"states {self.first}..{last} do not fit a vocabulary of {self.vocab}; {VOCABULARY_RULE}"
        if self.width > self.n_embd:
            yield f"{self.n_state} states need n_embd {self.width}, found {self.n_embd}"
        if self.order2 < 0:
            yield f"order2 {self.order2} is below 0"
        if self.hybrid and self.order2 <= 0:
            yield "a qwen35moe target always remembers: order2 must be above 0"
        if self.arch == "qwen3moe" and self.order2 > 0:
            yield f"a qwen3moe target has a first-order law: order2 must be 0, found {self.order2}"
        if self.order2 > 0 and self.n_state > self.slots:
            yield f"a {self.arch} target remembers at most {self.slots} states, found {self.n_state}"
        yield from self._draft_faults()

    def _draft_faults(self) -> Iterator[str]:
        if not 1 + self.bonus_anchor <= self.block <= LONGEST_BLOCK:
            yield f"block {self.block} is not within {1 + self.bonus_anchor}..{LONGEST_BLOCK}"
        if self.confidence_temperature <= 0 or self.confidence_noise < 0:
            yield "confidence_temperature must be above 0, confidence_noise not below"

    @property
    def hybrid(self) -> bool:
        """True for a target with recurrent state, which cannot drop tokens."""
        return self.arch == "qwen35moe"

    @property
    def remembers(self) -> bool:
        """Whether the target's law depends on more than the current token."""
        return self.order2 > 0

    @property
    def slots(self) -> int:
        """How many states a remembering target can tell apart."""
        return SSM_STATE if self.hybrid else HEAD_DIM

    @property
    def text(self) -> bool:
        """Whether prompts may be text: there are byte tokens."""
        return self.first >= FIRST_WITH_BYTES

    @property
    def width(self) -> int:
        """Residual directions in use: a code a state and one for all other tokens, and what the kind of target needs.

        A target that remembers needs a constant and a direction a state; experts need a ballot each.
        """
        more = N_EXPERT if self.arch == "qwen3moe" else 0
        return self.n_state + 1 + (1 + self.n_state if self.remembers else 0) + more

    @property
    def longest_draft(self) -> int:
        """Most tokens that the DSpark model drafts a round."""
        return self.block - self.bonus_anchor

    @property
    def rank(self) -> int:
        """Rank of the draft's Markov head: one row per code, padded."""
        return -(-(self.n_state + 1) // RANK_STEP) * RANK_STEP

    @property
    def mask(self) -> int:
        """Id of the draft's mask token."""
        return self.vocab - 1

    @property
    def identity(self) -> JsonMap:
        """What the generated bytes depend on: specification and generator version."""
        fields = {key: value for key, value in dataclasses.asdict(self).items() if key != "name"}
        return {"generator": GENERATOR, **fields}


def make_law(spec: PairSpec) -> PairLaw:
    """Draw the laws of a pair from its seed."""
    rng = np.random.default_rng(spec.seed)
    n = spec.n_state
    logits_p = rng.normal(0.0, spec.sharp, (n, n))
    logits_p[np.arange(n), np.roll(rng.permutation(n), 1)] += spec.peak
    logits_q = (1.0 - spec.diverge) * logits_p + spec.diverge * rng.normal(0.0, 1.5 * spec.sharp, (n, n))
    log_p, log_q = log_softmax(logits_p), log_softmax(logits_q)
    history = rng.normal(0.0, spec.order2, (n, n)) if spec.remembers else None
    confidence = _true_acceptance(log_p, log_q, spec.confidence_temperature)
    if spec.confidence_noise:  # drawn last, so that nothing else depends on it
        confidence = _off_by(confidence, rng.normal(0.0, spec.confidence_noise, n))
    return PairLaw(
        first=spec.first,
        log_p=log_p,
        log_q=log_q,
        confidence=confidence,
        history=history,
        decay=DECAY * (1 - BETA) if spec.hybrid else 0.0,
        amplitude=MEMORY if spec.remembers else 0.0,
        recalls_itself=spec.remembers and not spec.hybrid,
    )


def _true_acceptance(log_p: Array, log_q: Array, temperature: float) -> Array:
    """[n]: P_T(argmax Q(. | x) | x), kept off 0 and 1 so that its logit is finite.

    Of a target that remembers, the part of the law that depends on the current state alone.
    """
    probs = np.exp(log_softmax(log_p / temperature))
    accepted: Array = probs[np.arange(len(probs)), log_q.argmax(axis=1)].clip(1e-6, 1 - 1e-6)
    return accepted


def _off_by(confidence: Array, error: Array) -> Array:
    """[n]: what a head says that errs by `error` on its logit."""
    said: Array = 1 / (1 + np.exp(-(np.log(confidence) - np.log1p(-confidence) + error)))
    return said
