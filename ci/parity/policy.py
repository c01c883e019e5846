"""Every number of the parity gates that someone may argue about, with its reason."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Profile:
    """How much a run compares.

    Attributes:
        prompts: how many of `prompts.all_prompts()`.
        n_predict: tokens per prompt.
        again: prompts of the self-identity gate: races and uninitialised memory show on any text.
        pair_starts: start states of each exact pair (of 24).
        pair_predict: tokens per start on SMALL and HYBRID, thousands a second.
        large_starts, large_predict: the same for LARGE, which is slower: its head has 151,936 rows.
    """

    prompts: int
    n_predict: int
    again: int
    pair_starts: int
    pair_predict: int
    large_starts: int
    large_predict: int


PROFILES = {
    "quick": Profile(
        prompts=12, n_predict=64, again=2, pair_starts=24, pair_predict=128, large_starts=4, large_predict=64
    ),
    "full": Profile(
        prompts=32, n_predict=128, again=8, pair_starts=24, pair_predict=512, large_starts=24, large_predict=128
    ),
}


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """What a comparison may explain away.

    Attributes:
        margin: nats between the two best tokens up to which a fork is a tie.
        max_forked: share of texts that may fork at ties; more would mean that the explanation hides something.
    """

    margin: float
    max_forked: float


BITWISE = Tolerance(margin=1e-5, max_forked=0.1)
"""Stock against speed, and a server against itself.

Our patches are bitwise: same kernels, same batch widths, same order of additions, so logits are equal and only an
exact tie, broken by another order of candidates, may fork. Replies carry log-probabilities rounded to float32.
"""

WIDTH = Tolerance(margin=1e-3, max_forked=0.25)
"""Texts made with verify rounds against texts made token by token.

A verify round multiplies several rows at once, which may take other kernels and round otherwise. On the `cpu` target
it does not: 240 log-probabilities of SmolLM2 Q4_1 were the same to the last bit at width 1 and in a prompt batch. So
this only leaves room for near ties on another CPU; a wrong token of a logic fault has a margin of the order of 1.
"""

LAW = {"qwen3": Tolerance(margin=1e-4, max_forked=0.1), "qwen35moe": Tolerance(margin=5e-3, max_forked=0.1)}
"""An exact pair against its law, by architecture.

Measured largest |logprob - law|: 1e-6 on qwen3, 1e-4 on qwen35moe, whose memory runs through a recurrence in float32.
"""

MIN_COVERAGE = 0.75
"""Share of the asked tokens that must have been compared: ended texts and explained forks leave the rest unseen."""

N_PROBS = 8
"""Candidates asked for when a fork is scored again: the two tokens must be the first two of them."""

PAIR_N_MAX = 7
"""Longest draft of the exact-pair gates: 8 rows a verify round, and below the draft's block of 8."""

SAMPLED_TEMPERATURE = 0.7
SAMPLED_TOP_K = 40
SAMPLED_SEED = 7000
"""How the sampled gates draw: from a window, as a server's user does, which is a host path of its own. Each start
state has a fixed seed, so that bitwise builds draw the same tokens."""

PAIR_P_MIN = 0.6
"""Confidence threshold of the gates that cut drafts: about half of the states lie on either side of it."""

NGRAM_N_MAX = 8
"""Longest ngram-mod draft: verify rounds of up to 9 rows."""

NGRAM_FLAGS = ("--spec-ngram-mod-n-min", "1", "--spec-ngram-mod-n-match", "4")
"""ngram-mod's defaults (24 tokens to match, 48 to draft) never fire in texts of 64 tokens."""

THREADS = 1
"""Threads of each server. Token ids do not depend on it, and on a busy machine a second thread only waits."""

CTX = 2048
"""Context of one slot: the longest prompt and 128 tokens fit."""


LAW_ALPHA = 1e-3
"""Level of the G-test of sampled texts against their law.

The seeds are fixed, so that a build gives the same p-value every time: one in a thousand honest builds fails a seed
set, and goes on failing until its texts change. The one known defect, acceptance draws met again after a checkpoint
restore, gives p = 1e-6 and 3e-6 at 64,000 transitions.
"""


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How much is sampled to test a law.

    Attributes:
        requests: texts per arm and seed set.
        n_predict: tokens per text. Every text starts without memory, so its law is tested near a fresh start too.
        seeds: first seed of each seed set: two, so that a chance agreement would have to happen twice.
        temperature: 1 is the law itself; there is nothing to temper on either side.
        n_max: longest draft.
        defect_must_show: whether the control has to fail for a repair to pass.
    """

    requests: int
    n_predict: int = 64
    seeds: tuple[int, ...] = (20_000, 50_000)
    temperature: float = 1.0
    n_max: int = PAIR_N_MAX
    defect_must_show: bool = True

    @property
    def transitions(self) -> int:
        """Tokens drawn per arm and seed set: fewer prove nothing."""
        return self.requests * self.n_predict


SAMPLING = {
    # a quarter of the transitions: finds gross faults of law; the known defect gives p = 0.07 and 0.5, so it need not
    # show here, and a PASS says less than one of `full`
    "quick": Sampling(requests=250, defect_must_show=False),
    "full": Sampling(requests=1000),
}
