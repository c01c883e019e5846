"""Who is asked what, and who goes first: order at random per pair, the same prompt within a pair, none used twice."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ci.errors import UsageProblem

Prompt: TypeAlias = str | tuple[int, ...]
Order: TypeAlias = Literal["ab", "ba"]

BLOCK: tuple[Order, ...] = ("ab", "ab", "ba", "ba")  # every four pairs hold both orders twice: a drift cancels early
IDS_PER_PROMPT = 4  # short: CPU time includes the prompt

SUBJECTS = (
    "a baker",
    "the harbour master",
    "a young engineer",
    "the village choir",
    "an old sailor",
    "the librarian",
    "two sisters",
    "a retired teacher",
    "the night watchman",
    "a travelling doctor",
)
DEEDS = (
    "repaired the clock of the town hall in winter",
    "carried letters across the mountains",
    "learned to build small wooden boats",
    "measured the height of the tides for a year",
    "kept the orchard alive through a dry summer",
    "wrote down the names of all the birds",
    "taught the children of the valley to count",
)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One pair to measure."""

    index: int
    order: Order
    prompt: Prompt
    seed: int


def schedule(prompts: Sequence[Prompt], *, seed: int) -> tuple[Turn, ...]:
    """One turn per prompt: order drawn in balanced blocks of four, a sampler seed of its own.

    Raises:
        UsageProblem: a prompt stands there twice, so a cache or a memory could answer.
    """
    if len(set(prompts)) != len(prompts):
        raise UsageProblem(f"{len(prompts) - len(set(prompts))} prompts are used twice; every pair needs a new one")
    rng = random.Random(seed)  # noqa: S311 - an experiment's order, not a secret
    orders: list[Order] = []
    while len(orders) < len(prompts):
        orders += rng.sample(BLOCK, len(BLOCK))
    return tuple(
        Turn(index=i, order=order, prompt=prompt, seed=1000 + i)
        for i, (order, prompt) in enumerate(zip(orders, prompts, strict=False))
    )


def text_prompts(count: int, *, seed: int) -> tuple[Prompt, ...]:
    """Different openings of numbered lists, for a real model: a list goes on, where a story may end early.

    Raises:
        UsageProblem: more than there are.
    """
    every = [f"How {who} {did}, told in twenty numbered steps:\n\n1." for who in SUBJECTS for did in DEEDS]
    if count > len(every):
        raise UsageProblem(
            f"{count} text prompts wanted, only {len(every)} exist", hint="add subjects to ci/throughput/pairing.py"
        )
    return tuple(random.Random(seed).sample(every, count))  # noqa: S311


def id_prompts(count: int, *, first: int, states: int, seed: int) -> tuple[Prompt, ...]:
    """Different random walks over the states of an exact pair, as token ids `first` to `first + states - 1`."""
    rng = random.Random(seed)  # noqa: S311
    found: dict[tuple[int, ...], None] = {}
    while len(found) < count:
        found[tuple(rng.randrange(first, first + states) for _ in range(IDS_PER_PROMPT))] = None
    return tuple(found)
