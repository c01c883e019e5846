"""Command lines: placement, the model card's rules, and no more drafted tokens than the draft has."""

from pathlib import Path

import pytest

from ci.models.compat.memory import Placement
from ci.models.compat.serving import drafted, k_answer, rules_of, server_words
from ci.models.compat.use import Use

WHOLE = Placement(gpu_layers=41, cpu_moe=0, card=1, host=1, layers=41)
MODEL, DRAFT = Path("/m/target.gguf"), Path("/m/draft.gguf")


def line(use: Use, placement: Placement = WHOLE, spec_type: str = "draft-dspark", draft: Path | None = DRAFT) -> str:
    return " ".join(server_words(MODEL, draft, use, placement, spec_type=spec_type, k=7))


def test_one_user() -> None:
    assert line(Use(ctx=4096)) == (
        "llama-server --model /m/target.gguf --gpu-layers 41 --fit off --flash-attn on --parallel 1 --ctx-size 4096 "
        "--no-kv-unified --cache-type-k f16 --cache-type-v f16 --spec-type draft-dspark "
        "--spec-draft-model /m/draft.gguf --spec-draft-ngl 999 --spec-draft-n-max 7"
    )


def test_many_users_keep_no_prompts_in_host_memory_and_draft_blocks_whole() -> None:
    assert "--parallel 32 --ctx-size 131072" in line(Use(ctx=4096, slots=32))
    assert "--cache-ram 0 --spec-type" in line(Use(slots=32))
    assert "--ubatch-size 1024 --spec-type" in line(Use(slots=128))
    assert "--ubatch-size 2048 --spec-type" in line(Use(slots=256))


def test_experts_on_the_host_are_said() -> None:
    placed = Placement(gpu_layers=41, cpu_moe=24, card=1, host=1, layers=41)
    assert "--gpu-layers 41 --n-cpu-moe 24 --fit off" in line(Use(), placed)


def test_a_target_that_drafts_for_itself_needs_no_draft_file() -> None:
    words = line(Use(), spec_type="draft-mtp", draft=None)
    assert words.endswith("--spec-type draft-mtp --spec-draft-n-max 7")


def test_plain_decoding_says_nothing_of_drafts() -> None:
    assert "spec" not in line(Use(), spec_type="", draft=None)


def test_there_is_no_scheduler_to_turn_off() -> None:
    assert "--spec-sched" not in line(Use(slots=64))
    assert any("scheduler stays off" in rule for rule in rules_of(Use(slots=64), "draft-dspark"))


@pytest.mark.parametrize(("slots", "k"), [(1, 8), (2, 6)])
def test_the_model_card_chooses_k(slots: int, k: int) -> None:
    assert Use(slots=slots).wanted_k("draft-dspark") == k


@pytest.mark.parametrize(("asked", "longest", "k"), [(8, 7, 7), (8, 8, 8), (4, 7, 4), (16, None, 16)])
def test_k_is_clamped_to_the_block_and_that_is_said(asked: int, longest: int | None, k: int) -> None:
    use = Use(k=asked)
    assert drafted(use, "draft-dspark", longest) == k
    assert ("clamps it to 7" in k_answer(use, "draft-dspark", longest).reason) is (k < asked)


def test_rules_are_for_block_drafts() -> None:
    assert rules_of(Use(), "draft-mtp") == ()
    assert rules_of(Use(), "draft-dspark") == ("one user: k = 8 with --parallel 1",)


def test_nothing_is_drafted_without_a_draft_and_few_without_a_rule() -> None:
    assert drafted(Use(), "", None) == 0
    assert drafted(Use(slots=9), "draft-mtp", None) == 3
