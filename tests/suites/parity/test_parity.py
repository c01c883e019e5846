"""The parity gates: the speed build says what stock says, speculation changes nothing, exact pairs keep their law."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ci.builds.store import Build
from ci.law import Walk, argmax_chain, replay
from ci.models.exact_pair import Pair
from ci.outcome import GateResult, JsonValue
from ci.parity.counters import Counted, judge_counters
from ci.parity.greedy import Candidates, Comparison, Drafted, Fork, Text, forks_of, judge
from ci.parity.identity import Side, judge_two_builds
from ci.parity.policy import BITWISE, LAW, PAIR_N_MAX, WIDTH, Profile, Tolerance
from ci.parity.prompts import all_prompts
from ci.parity.tokenizer import judge_tokenizer
from tests.suites.evidence import Builds
from tests.suites.parity.arms import Arm, scored_forks
from tests.suites.parity.scenes import SAMPLED_SUFFIX, Pairs, RealModel, p_min_of

pytestmark = pytest.mark.timeout(3600)  # servers have deadlines of their own; a loaded machine is slow, not wrong

Record = Callable[[GateResult], None]
Figures = dict[str, JsonValue]
PAIR_NAMES = ("SMALL", "LARGE", "HYBRID")
SAMPLED_MODES = (f"plain{SAMPLED_SUFFIX}", f"draft-dspark{SAMPLED_SUFFIX}")
SPECULATIVE = (
    ("SMALL", "draft-dspark"),
    ("LARGE", "draft-dspark"),
    ("HYBRID", "draft-dspark"),
    ("SMALL", "draft-dspark-p-min"),
    ("HYBRID", "draft-dspark-p-min"),
    ("HYBRID", "draft-simple"),  # the checkpoint replay: a hybrid context cannot drop the rejected tokens
)


def test_two_builds(builds: Builds, pairs: Pairs, record: Record) -> None:
    stock, speed = pairs.arm("stock", "SMALL", "plain"), pairs.arm("speed", "SMALL", "plain")
    record(judge_two_builds(side(builds.stock, stock), side(builds.speed, speed)))


def side(build: Build, arm: Arm) -> Side:
    return Side(
        variant=build.variant,
        label=build.label,
        making=build.making,
        files=dict(build.files),
        build_info=arm.build_info,
    )


# ---- the real model ----------------------------------------------------------------------------------------------


def test_real_tokenizer(real_model: RealModel, amounts: Profile, record: Record) -> None:
    stock, speed = real_model.stock.result().prompts, real_model.speed.result().prompts
    record(judge_tokenizer("real-tokenizer", all_prompts()[: amounts.prompts], stock, speed))


def test_real_greedy(
    builds: Builds, real_model: RealModel, amounts: Profile, log_dir: Path, record: Record, figures: Figures
) -> None:
    stock, speed = real_model.stock.result(), real_model.speed.result()
    sides = ((builds.stock, real_model.plain), (builds.speed, real_model.plain))
    forks = scored_forks(stock, speed, sides, log_dir)
    figures["real_greedy_tokens"] = sum(len(text.tokens) for text in speed.texts)
    record(compare("real-greedy", stock.texts, speed.texts, amounts.prompts, BITWISE, forks=forks))


def test_real_self_identity(real_model: RealModel, amounts: Profile, record: Record) -> None:
    first, again = real_model.speed.result().texts[: amounts.again], real_model.again.result().texts
    record(compare("real-self-identity", first, again, amounts.again, BITWISE, forks=forks_of(first, again)))


def test_real_ngram_mod(
    builds: Builds, real_model: RealModel, amounts: Profile, log_dir: Path, record: Record, figures: Figures
) -> None:
    plain, drafted = real_model.speed.result(), real_model.drafted.result()
    sides = ((builds.speed, real_model.plain), (builds.speed, real_model.ngram))
    forks = scored_forks(plain, drafted, sides, log_dir)
    counts = drafted.drafted
    figures["real_ngram_mod"] = {"draft_n": counts.drafted, "draft_n_accepted": counts.accepted}
    record(compare("real-ngram-mod", plain.texts, drafted.texts, amounts.prompts, WIDTH, forks=forks, drafted=counts))


def compare(
    gate: str,
    left: tuple[Text, ...],
    right: tuple[Text, ...],
    n_prompts: int,
    tolerance: Tolerance,
    *,
    forks: tuple[Fork, ...],
    drafted: Drafted | None = None,
) -> GateResult:
    """Judge two sets of texts of one length; every prompt should have been answered in full."""
    comparison = Comparison(
        gate=gate,
        left=left,
        right=right,
        n_prompts=n_prompts,
        n_expected=n_prompts * max(text.asked for text in (*left, *right)),
        tolerance=tolerance,
        forks=forks,
        drafted=drafted,
    )
    return judge(comparison)


# ---- exact pairs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAIR_NAMES)
def test_pair_keeps_its_law(name: str, pairs: Pairs, record: Record) -> None:
    said, law = pairs.arm("speed", name, "plain").texts, chains(pairs, name)
    record(compare_with_law(f"pair-law-{name.lower()}", pairs, name, law, said))


@pytest.mark.parametrize("name", PAIR_NAMES)
def test_pair_says_what_stock_says(name: str, pairs: Pairs, record: Record) -> None:
    stock, speed = pairs.arm("stock", name, "plain").texts, pairs.arm("speed", name, "plain").texts
    gate, forks = f"pair-stock-{name.lower()}", forks_of(stock, speed)
    record(compare(gate, stock, speed, len(pairs.starts(name)), BITWISE, forks=forks))


@pytest.mark.parametrize("mode", SAMPLED_MODES)
def test_pair_samples_what_stock_samples(mode: str, pairs: Pairs, record: Record) -> None:
    """Bitwise builds draw the same tokens with the same seeds; no tie excuses a fork of drawn tokens."""
    stock, speed = pairs.arm("stock", "LARGE", mode), pairs.arm("speed", "LARGE", mode)
    gate, forks = f"pair-sampled-large-{mode.removesuffix(SAMPLED_SUFFIX)}", forks_of(stock.texts, speed.texts)
    drafted = None if mode.startswith("plain") else speed.drafted
    starts = len(pairs.starts("LARGE"))
    record(compare(gate, stock.texts, speed.texts, starts, BITWISE, forks=forks, drafted=drafted))


@pytest.mark.parametrize(("name", "mode"), SPECULATIVE)
def test_pair_speculates_exactly(name: str, mode: str, pairs: Pairs, record: Record) -> None:
    plain, drafted = pairs.arm("speed", name, "plain").texts, pairs.arm("speed", name, mode)
    gate = f"pair-tokens-{name.lower()}-{mode}"
    record(compare_with_law(gate, pairs, name, plain, drafted.texts, drafted=drafted.drafted))


@pytest.mark.parametrize(("name", "mode"), SPECULATIVE)
def test_pair_counts_its_drafts(name: str, mode: str, pairs: Pairs, record: Record, figures: Figures) -> None:
    arm, law = pairs.arm("speed", name, mode), pairs.pair(name).law
    checkpoint = (name, mode) == ("HYBRID", "draft-simple")
    rows = [
        Counted(
            prompt=text.prompt,
            reported=arm.counters[text.prompt],
            replayed=replay(
                law, law.states_of(text.tokens), n_max=PAIR_N_MAX, p_min=p_min_of(mode), checkpoint=checkpoint
            ),
        )
        for text in arm.texts
    ]
    figures[f"pair_{name.lower()}_{mode}"] = {
        "draft_n": arm.drafted.drafted,
        "draft_n_accepted": arm.drafted.accepted,
    }
    record(judge_counters(f"pair-counters-{name.lower()}-{mode}", rows, n_expected=len(pairs.starts(name))))


def chains(pairs: Pairs, name: str) -> tuple[Text, ...]:
    """What the law says after each start state at temperature 0."""
    law, asked = pairs.pair(name).law, pairs.n_predict(name)
    return tuple(
        Text(prompt=f"state-{start}", tokens=law.tokens_of(argmax_chain(law, start, asked).states), asked=asked)
        for start in pairs.starts(name)
    )


def compare_with_law(
    gate: str,
    pairs: Pairs,
    name: str,
    left: tuple[Text, ...],
    right: tuple[Text, ...],
    *,
    drafted: Drafted | None = None,
) -> GateResult:
    """Judge texts of an exact pair; a fork is explained only by a tie of the law itself."""
    pair, said = pairs.pair(name), {text.prompt: text.tokens for text in left}
    forks = tuple(fork.scored(law_candidates(pair, fork, said[fork.prompt])) for fork in forks_of(left, right))
    tolerance = LAW[pair.spec.arch]
    return compare(gate, left, right, len(pairs.starts(name)), tolerance, forks=forks, drafted=drafted)


def law_candidates(pair: Pair, fork: Fork, tokens: tuple[int, ...]) -> Candidates:
    start = int(fork.prompt.removeprefix("state-"))
    common = pair.law.states_of(tokens[: fork.index])
    walk = Walk(pair.law, start)
    for state in common:
        walk.step(state)
    row = walk.log_law()
    return tuple((pair.law.first + int(state), float(row[state])) for state in row.argsort()[::-1])
