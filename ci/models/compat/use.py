"""How a model is going to be served: context, cache type, slots, drafted tokens; with the model card's rules.

The rules are those published with the DSpark pair of Qwen3.6-35B-A3B: eight drafted tokens for one user, four to six
for many; `--cache-ram 0` and a physical batch of at least eight tokens a slot at many slots (a draft block is
non-causal and must not be cut); the confidence scheduler off for many.
"""

from dataclasses import dataclass

from ci.models.compat.drafts import BLOCK_TYPES

SINGLE_K = 8
BATCH_K = (4, 6)
SERVER_K = 3  # llama-server's own default: nobody published a rule for other kinds of drafts
BLOCK = 8
UBATCH, BATCH = 512, 2048
"""Defaults of llama-server b11434: `--ubatch-size`, `--batch-size`."""

KV_TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "iq4_nl": 20, "bf16": 30}
"""What `--cache-type-k` takes, and the type's number."""


@dataclass(frozen=True, kw_only=True)
class Use:
    """One way to serve.

    Attributes:
        ctx: context of one slot, tokens.
        kv: type of the target's keys and values, a key of KV_TYPES.
        slots: users at a time.
        k: drafted tokens a round; None for what the model card says.
    """

    ctx: int = 8192
    kv: str = "f16"
    slots: int = 1
    k: int | None = None

    @property
    def many(self) -> bool:
        """More than one user."""
        return self.slots > 1

    def wanted_k(self, spec_type: str) -> int:
        """Drafted tokens a round for a kind of draft, before its block limits them."""
        if self.k or spec_type not in BLOCK_TYPES:
            return self.k or SERVER_K
        return BATCH_K[1] if self.many else SINGLE_K

    @property
    def ubatch(self) -> int:
        """Tokens of a physical batch."""
        return max(UBATCH, self.slots * BLOCK)

    @property
    def batch(self) -> int:
        """Tokens of a logical batch, never smaller than the physical one."""
        return max(BATCH, self.ubatch)
