"""Do both builds read a prompt as the same token ids?"""

from collections import Counter
from collections.abc import Mapping, Sequence

from ci.outcome import GateResult, Verdict
from ci.parity.prompts import Prompt

TokenIds = Mapping[str, Sequence[int]]
"""Token ids by prompt id."""


def judge_tokenizer(gate: str, asked: Sequence[Prompt], stock: TokenIds, speed: TokenIds) -> GateResult:
    """FAIL on other ids; UNPROVEN when a prompt that was asked came back from neither or one side, or empty.

    Args:
        gate: its name.
        asked: the prompts of the profile.
        stock: what stock made of them.
        speed: what the speed build made of them.
    """
    both = [prompt.id for prompt in asked if prompt.id in stock and prompt.id in speed]
    differing = [name for name in both if tuple(stock[name]) != tuple(speed[name])]
    lost = [prompt.id for prompt in asked if not (stock.get(prompt.id) and speed.get(prompt.id))]
    verdict, reason = Verdict.PASS, f"{len(both)} prompts have the same token ids"
    if differing:
        verdict, reason = (
            Verdict.FAIL,
            f"{len(differing)} of {len(asked)} prompts have other token ids: {differing[0]}",
        )
    elif lost or not asked:
        verdict, reason = Verdict.UNPROVEN, f"no token ids for {', '.join(lost) or 'anything: no prompts'}"
    return GateResult(
        gate=gate,
        verdict=verdict,
        reason=reason,
        evidence={
            "n_compared": len(both),
            "n_expected": len(asked),
            "tokens": sum(len(stock[name]) for name in both),
            "kinds": dict(Counter(prompt.kind for prompt in asked)),
            "differing": differing,
        },
    )
