"""Cells: all rules together, memory against the card, and a command line only where everything is OK."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.builds.arch import Capability
from ci.models.compat.answers import Answer, Fit
from ci.models.compat.matrix import Cell, Place, Subject, common_answers, judge
from ci.models.compat.memory import GIB, MIB
from ci.models.compat.use import Use
from tests.helpers.model_headers import draft, grafted_moe, model, target, target_tensors, tensor

TURING, BLACKWELL = Capability(major=7, minor=5), Capability(major=12, minor=0)
B11434 = 11434


def cell(subject: Subject, memory: int = 11 * GIB, capability: Capability = TURING, use: Use | None = None) -> Cell:
    used = use or Use(ctx=1024)
    return judge(
        subject, Place(name="card", capability=capability, memory=memory), used, common_answers(subject, used, B11434)
    )


def reasons(found: Cell) -> list[str]:
    return [str(answer) for answer in found.answers if answer.fit is not Fit.OK]


def test_a_pair_that_fits_has_a_command_line() -> None:
    found = cell(Subject(name="m", target=target(), draft=draft()))
    assert found.fit is Fit.OK
    assert found.placement is not None
    assert found.placement.whole
    assert found.command[:3] == ("llama-server", "--model", "/models/target.gguf")
    assert found.command[-2:] == ("--spec-draft-n-max", "8")


def test_a_refused_pair_has_none() -> None:
    found = cell(Subject(name="m", target=target(), draft=draft(arch__target_layers=None)))
    assert (found.fit, found.command) == (Fit.REFUSED, ())
    assert "target_layers is missing" in reasons(found)[0]


def test_one_nvfp4_tensor_of_the_draft_is_enough_on_turing() -> None:
    odd = draft([*draft().tensors, tensor("blk.0.ffn_up.weight", 64, 128, number=40)])
    subject = Subject(name="m", target=target(), draft=odd)
    assert cell(subject).fit is Fit.REFUSED
    assert cell(subject, capability=BLACKWELL).fit is Fit.OK


def test_an_old_build_is_refused() -> None:
    subject, use = Subject(name="m", target=target(), draft=draft()), Use()
    assert [one.rule for one in common_answers(subject, use, 10159) if one.fit is Fit.REFUSED] == ["speculation type"]


def test_experts_leave_a_small_card() -> None:
    """The published line for this size on 11 GB has `--n-cpu-moe 24`; room for more context asks for no less."""
    found = cell(Subject(name="ornith", target=grafted_moe()), use=Use(ctx=8192))
    assert found.fit is Fit.OK
    assert found.placement is not None
    assert (found.placement.gpu_layers, found.placement.layers) == (42, 42)
    assert 18 <= found.placement.cpu_moe <= 28
    assert found.command[-4:] == ("--spec-type", "draft-mtp", "--spec-draft-n-max", "3")
    assert found.placement.card <= 10 * GIB < found.placement.card + GIB


def test_a_larger_card_takes_it_whole() -> None:
    found = cell(Subject(name="ornith", target=grafted_moe()), memory=24 * GIB, use=Use(ctx=8192))
    assert found.placement is not None
    assert found.placement.whole


def test_a_dense_model_leaves_layers_on_the_host() -> None:
    layers = [tensor(f"blk.{at}.ffn_up.weight", 1024, 262_144) for at in range(10)]  # 1 GiB each
    found = cell(
        Subject(name="m", target=target("qwen3", [*target_tensors()[:2], *layers], arch__block_count=10)),
        memory=6 * GIB,
    )
    assert found.placement is not None
    assert (found.fit, found.placement.gpu_layers, found.placement.layers) == (Fit.OK, 4, 11)


def test_where_nothing_fits_a_smaller_context_is_offered() -> None:
    found = cell(
        Subject(name="m", target=target(arch__context_length=1 << 22), draft=draft()),
        memory=GIB + 150 * MIB,
        use=Use(ctx=1 << 18),
    )
    assert (found.fit, found.placement) == (Fit.REFUSED, None)
    assert "it fits with --ctx 32768" in reasons(found)[0]


def test_where_no_context_helps_that_is_said() -> None:
    found = cell(Subject(name="m", target=target()), memory=GIB)
    assert "no smaller context helps" in reasons(found)[0]


def test_no_context_beyond_what_the_model_was_trained_on() -> None:
    found = cell(Subject(name="m", target=target()), use=Use(ctx=1 << 20))
    assert found.command[found.command.index("--ctx-size") + 1] == "4096"
    assert "4096 tokens a slot, all it was trained for" in found.answers[-1].reason
    assert "trained" not in cell(Subject(name="m", target=target())).answers[-1].reason


@pytest.mark.parametrize("blocks", [1, 3])
def test_layers_without_tensors_or_beyond_the_last_are_never_ok(blocks: int) -> None:
    found = cell(Subject(name="m", target=target(arch__block_count=blocks)))
    assert found.fit is Fit.UNKNOWN
    assert f"it has {blocks} layers" in reasons(found)[0]


@pytest.mark.parametrize(
    ("size", "words"), [(19_600_000_000, "it needs --n-cpu-moe"), (5_000_000_000, "room enough")]
)
def test_a_size_alone_is_never_ok(size: int, words: str) -> None:
    absent = Answer(rule="file", fit=Fit.UNKNOWN, reason="m is not pinned", hint="invoke pin-model --model m")
    found = cell(Subject(name="m", absent=(absent,), size=size))
    assert (found.fit, found.command) == (Fit.UNKNOWN, ())
    assert words in found.answers[-1].reason
    assert [answer.fit for answer in found.answers] == [Fit.UNKNOWN] * 2


def test_a_missing_draft_makes_the_pair_cannot_tell() -> None:
    absent = Answer(rule="file", fit=Fit.UNKNOWN, reason="d is not fetched")
    found = cell(Subject(name="m", target=target(), absent=(absent,)))
    assert (found.fit, found.command) == (Fit.UNKNOWN, ())


def test_nothing_known_is_cannot_tell() -> None:
    assert cell(Subject(name="m")).fit is Fit.UNKNOWN
    assert cell(Subject(name="m", target=model({}, [tensor("x", 4)]))).fit is Fit.UNKNOWN


def test_a_draft_alone_is_refused() -> None:
    assert cell(Subject(name="m", target=draft())).fit is Fit.REFUSED


def test_json_has_every_answer() -> None:
    document = cell(Subject(name="m", target=target(), draft=draft())).to_json()
    assert document["fit"] == "OK"
    assert {answer["rule"] for answer in document["answers"]} >= {"roles", "token texts", "memory", "tensor types"}


NUMBERS = st.one_of(st.integers(-(1 << 63), 1 << 64), st.integers(-2, 600))
KEYS = ("block_count", "embedding_length", "feed_forward_length", "attention__head_count", "attention__head_count_kv")
MORE = (
    "attention__key_length",
    "attention__sliding_window",
    "nextn_predict_layers",
    "context_length",
    "ssm__inner_size",
)


@given(st.dictionaries(st.sampled_from([f"arch__{key}" for key in (*KEYS, *MORE)]), st.one_of(st.none(), NUMBERS)))
def test_whatever_numbers_a_file_tells_there_is_an_answer(told: dict[str, int | None]) -> None:
    found = cell(Subject(name="m", target=target("qwen35moe", None, **told), draft=draft()))
    assert bool(found.command) is (found.fit is Fit.OK)
    assert found.placement is None or 0 < found.placement.card <= 10 * GIB


@pytest.mark.parametrize(("kv", "width"), [("q8_0", 80), ("q4_1", 40), ("q4_0", 112)])
def test_a_cache_type_whose_blocks_a_head_cuts_is_refused(kv: str, width: int) -> None:
    cut = target(arch__attention__key_length=width, arch__attention__value_length=width)
    answers = cell(Subject(name="m", target=cut), use=Use(kv=kv)).answers
    (refused,) = (one for one in answers if one.fit is Fit.REFUSED)
    assert (refused.rule, refused.found, refused.expected) == ("cache type", str(width), "a multiple of 32")
    assert cell(Subject(name="m", target=cut), use=Use(kv="f16")).fit is Fit.OK
    assert cell(Subject(name="m", target=target()), use=Use(kv=kv)).fit is Fit.OK


@pytest.mark.parametrize("key", ["block_count", "embedding_length", "attention__head_count"])
def test_a_file_that_does_not_tell_its_sizes_is_never_ok(key: str) -> None:
    found = cell(Subject(name="m", target=target("qwen3", None, **{f"arch__{key}": None})))
    assert (found.fit, found.placement) == (Fit.UNKNOWN, None)


def test_a_draft_with_odd_heads_is_cannot_tell_and_has_no_line() -> None:
    odd = draft(arch__attention__key_length=32, arch__attention__value_length=32)
    found = cell(Subject(name="m", target=target(), draft=odd))
    assert (found.fit, found.command) == (Fit.UNKNOWN, ())
    assert reasons(found)[0].startswith("attention heads: no flash attention for such heads on a card")


def test_a_cache_type_without_flash_attention_on_cards_is_cannot_tell() -> None:
    found = cell(Subject(name="m", target=target(), draft=draft()), use=Use(kv="iq4_nl"))
    assert (found.fit, found.command) == (Fit.UNKNOWN, ())
    assert [answer.rule for answer in found.answers if answer.fit is not Fit.OK] == ["cache type"]
