"""What sampled texts of an exact pair say, beside what closed forms say: the figures of one row."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ci.law import Array, Counters, PairLaw, g_test, rounds_of, tempered
from ci.law_forms import (
    Contexts,
    Step,
    Worth,
    contexts_of,
    dspark_step,
    request_worth,
    simple_greedy_step,
    simple_sampled_step,
    states_said,
)
from ci.outcome import JsonValue
from ci.parity.policy import PAIR_N_MAX, PAIR_P_MIN
from ci.parity.sampled import LawFigures, Sampled, figures_of


@dataclass(frozen=True, kw_only=True)
class Mode:
    """One way to draft.

    Attributes:
        name: of rows.
        spec_type: value of `--spec-type`; None drafts nothing.
        flags: further flags of the server.
        p_min: confidence threshold.
        chance: whether drafts are sampled, so that texts and counters differ from those of plain sampling.
        control: whether verification is broken on purpose.
    """

    name: str
    spec_type: str | None = None
    flags: tuple[str, ...] = ()
    p_min: float = 0.0
    chance: bool = False
    control: bool = False


def _sampling(kind: str) -> tuple[str, ...]:
    return ("--spec-draft-sampling", kind)


PLAIN = Mode(name="plain")
DSPARK = Mode(name="dspark", spec_type="draft-dspark")
DSPARK_P_MIN = Mode(name="dspark-p-min", spec_type="draft-dspark", p_min=PAIR_P_MIN)
SIMPLE = Mode(name="simple", spec_type="draft-simple", flags=_sampling("greedy"))
SIMPLE_SAMPLED = Mode(name="simple-sampled", spec_type="draft-simple", flags=_sampling("probabilistic"), chance=True)
CONTROL = Mode(name="control", spec_type="draft-dspark", flags=("--spec-synth-len", "3"), chance=True, control=True)
MODES = {mode.name: mode for mode in (PLAIN, DSPARK, DSPARK_P_MIN, SIMPLE, SIMPLE_SAMPLED, CONTROL)}


@dataclass(frozen=True, kw_only=True, eq=False)
class PairFigures:
    """What the texts of one row say, beside what closed forms say.

    Attributes:
        law: transitions against the law; the G-test by context.
        last_p: p-value of the states that end the texts, each drawn independently; NaN without a closed form.
        same: texts that are those of plain sampling with the same seeds; None where they may differ.
        exact: texts whose draft counters follow from them; None where drafts are sampled.
        compared: texts that plain sampling drew too.
        texts: how many there are.
        tokens: after the first ones, which are not drafted.
        by_position: [n_max] accepted share at each position of a draft, by replay; None where drafts are sampled.
        expected: the worth of drafts summed over the same requests; None without a closed form.
        z_acceptance: excess of accepted tokens over the expected share of drafted ones.
        z_accepted: excess of accepted tokens over the expected number, which decides the mean accepted length.
    """

    law: LawFigures
    last_p: float
    same: int | None
    exact: int | None
    compared: int
    texts: int
    tokens: int
    by_position: Array | None
    expected: Worth | None
    z_acceptance: float = math.nan
    z_accepted: float = math.nan

    @property
    def mean_length(self) -> float:
        """Tokens of a verify round, the target's own among them; NaN without a round."""
        rounds = self.tokens - self.law.counters.accepted
        return self.tokens / rounds if rounds else math.nan

    @property
    def p_values(self) -> dict[str, float]:
        """Every test of chance that exists here, by name."""
        found = {
            "G": self.law.test.p_value,
            "z_direction": _p_of(self.law.z_direction),
            "z_argmax": _p_of(self.law.z_argmax),
            "last": self.last_p,
            "acceptance": _p_of(self.z_acceptance),
            "accepted": _p_of(self.z_accepted),
        }
        return {name: p for name, p in found.items() if not math.isnan(p)}

    def to_json(self) -> dict[str, JsonValue]:
        """As evidence; figures that do not exist are null."""
        worth = self.expected
        return {
            **self.law.to_json(),
            "last_p": _number(self.last_p),
            "texts": self.texts,
            "texts_as_plain": self.same,
            "texts_compared": self.compared,
            "counters_exact": self.exact,
            "mean_length": _number(self.mean_length),
            "by_position": None if self.by_position is None else _numbers(self.by_position),
            "expected_acceptance": None if worth is None else _number(worth.acceptance),
            "expected_mean_length": None if worth is None else worth.mean_length,
            "expected_by_position": None if worth is None else _numbers(worth.by_position),
            "z_acceptance": _number(self.z_acceptance),
            "z_accepted": _number(self.z_accepted),
        }


def pair_figures(
    law: PairLaw,
    mode: Mode,
    texts: Sequence[Sampled],
    *,
    temperature: float,
    n_max: int = PAIR_N_MAX,
    hybrid: bool = False,
    plain: Sequence[Sampled] = (),
) -> PairFigures:
    """What texts say about a pair and its draft.

    Args:
        law: of the pair.
        mode: how they were drafted.
        texts: all of one length.
        temperature: at which they were sampled, above 0.
        n_max: longest draft.
        hybrid: whether the target cannot drop tokens: no closed form, and checkpoints with draft-simple.
        plain: the texts of the same requests, or of the first of them, without drafts.
    """
    figures = figures_of(law, texts, temperature=temperature)
    whole = not figures.foreign
    replayed = None
    if mode.spec_type and not mode.chance and whole:
        checkpoint = hybrid and mode.spec_type == "draft-simple"
        replayed = [_rounds(law, mode, text, n_max, checkpoint=checkpoint) for text in texts]
    seen = PairFigures(
        law=figures,
        last_p=math.nan,
        same=None if mode.chance else sum(a.tokens == b.tokens for a, b in zip(texts, plain, strict=False)),
        compared=min(len(texts), len(plain)),
        exact=None
        if replayed is None
        else sum(_sum(r) == text.counters for r, text in zip(replayed, texts, strict=True)),
        texts=len(texts),
        tokens=sum(len(text.tokens) - 1 for text in texts),
        by_position=None if replayed is None else _by_position([one for rounds in replayed for one in rounds], n_max),
        expected=None,
    )
    if hybrid or not whole or not texts:
        return seen
    seen = _beside_law(seen, law, texts, temperature)
    drafts = mode.spec_type and not mode.control
    return _beside_worth(seen, law, mode, texts, temperature, n_max) if drafts else seen


def _beside_law(seen: PairFigures, law: PairLaw, texts: Sequence[Sampled], temperature: float) -> PairFigures:
    contexts, said = contexts_of(law), [np.array(law.states_of(text.tokens), dtype=np.int64) for text in texts]
    where = np.concatenate([contexts.path(text.start, states) for text, states in zip(texts, said, strict=True)])
    laws = tempered(contexts.log_law, temperature)
    test = g_test(where.tolist(), np.concatenate(said).tolist(), laws)
    last, length = [int(states[-1]) for states in said], len(said[0])
    last_p = _last_p(contexts, _starts(law, texts), length, last, temperature)
    return replace(seen, law=replace(seen.law, test=test), last_p=last_p)


def step_of(law: PairLaw, mode: Mode, temperature: float) -> Step:
    """The closed form of a mode's drafts."""
    if mode.spec_type == "draft-dspark":
        return dspark_step(law, temperature, mode.p_min)
    return (simple_sampled_step if mode.chance else simple_greedy_step)(law, temperature, mode.p_min)


def _beside_worth(
    seen: PairFigures, law: PairLaw, mode: Mode, texts: Sequence[Sampled], temperature: float, n_max: int
) -> PairFigures:
    worth = request_worth(step_of(law, mode, temperature), _starts(law, texts), len(texts[0].tokens), n_max)
    accepted = np.array([text.counters.accepted for text in texts], dtype=np.float64)
    drafted = np.array([text.counters.drafted for text in texts], dtype=np.float64)
    return replace(
        seen,
        expected=worth,
        z_acceptance=_z(accepted - worth.acceptance * drafted),
        z_accepted=_z(accepted - worth.accepted.sum() / len(texts)),
    )


def _last_p(contexts: Contexts, starts: Array, length: int, last: Sequence[int], temperature: float) -> float:
    """The last states of independent texts against their law at that place, the mean over their starts."""
    law = states_said(contexts, temperature, starts / starts.sum(), length)[-1]
    return g_test([0] * len(last), last, law[None, :]).p_value


def _starts(law: PairLaw, texts: Sequence[Sampled]) -> Array:
    """[n]: how many texts begin at each state."""
    return np.bincount([text.start for text in texts], minlength=law.n_state).astype(np.float64)


def _rounds(law: PairLaw, mode: Mode, text: Sampled, n_max: int, *, checkpoint: bool) -> list[Counters]:
    states = law.states_of(text.tokens)
    return list(rounds_of(law, states, n_max=n_max, p_min=mode.p_min, checkpoint=checkpoint))


def _by_position(rounds: Sequence[Counters], n_max: int) -> Array:
    drafted, accepted = (
        (np.array(counts)[:, None] > np.arange(n_max)).sum(axis=0)
        for counts in ([one.drafted for one in rounds], [one.accepted for one in rounds])
    )
    with np.errstate(invalid="ignore"):
        return np.asarray(accepted / drafted, dtype=np.float64)


def _sum(rounds: Sequence[Counters]) -> Counters:
    return Counters(drafted=sum(one.drafted for one in rounds), accepted=sum(one.accepted for one in rounds))


def _z(excess: Array) -> float:
    """Sum of independent excesses of mean 0 over the root of the sum of their squares; about standard normal."""
    spread = math.sqrt(float((excess * excess).sum()))
    return float(excess.sum()) / spread if spread else math.nan


def _p_of(z: float) -> float:
    """Two-sided p-value of a standard normal figure; NaN stays NaN."""
    return math.erfc(abs(z) / math.sqrt(2))


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _numbers(values: Array) -> list[float | None]:
    return [_number(float(value)) for value in values]
