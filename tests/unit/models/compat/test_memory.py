"""Weights by place, caches per layer, and what goes onto a card."""

import pytest

from ci.models.compat.cache import cache_bytes
from ci.models.compat.memory import Part, compute_bytes, part_of, place, smaller_context
from ci.models.compat.use import Use
from ci.models.compat.weights import Weights, weights_of
from ci.models.header.types import TENSOR_TYPES
from ci.models.header.values import ModelHeader, Value
from tests.helpers.model_headers import array, draft, model, target, target_tensors, tensor

F16, Q8_0 = TENSOR_TYPES[1], TENSOR_TYPES[8]
LAYER = 4 * (64 * 64 + 2 * 64 * 128)
TABLE = 4 * 64 * 32
CTX = Use(ctx=1024)


def cache(made: ModelHeader, use: Use = CTX, **kwargs: int) -> tuple[int, ...]:
    found = cache_bytes(made, use, F16, **kwargs)
    assert not isinstance(found, str)
    return found


def test_embeddings_stay_on_the_host_and_the_output_layer_does_not() -> None:
    weights = weights_of(target())
    assert weights == Weights(
        host=TABLE, layers=(LAYER, LAYER), experts=(0, 0), output=TABLE, file=2 * (TABLE + LAYER)
    )


def test_tied_embeddings_have_a_copy_on_the_card() -> None:
    tied = weights_of(target("qwen3", [one for one in target_tensors() if one.name != "output.weight"]))
    assert tied is not None
    assert (tied.host, tied.output, tied.file) == (TABLE, TABLE, TABLE + 2 * LAYER)


def test_experts_are_told_apart() -> None:
    names = ("blk.0.ffn_up_exps.weight", "blk.0.ffn_gate_up_exps.weight", "blk.0.ffn_up_shexp.weight")
    weights = weights_of(target("qwen3moe", [tensor(name, 64, 64) for name in names]))
    assert weights is not None
    assert (weights.experts, weights.layers) == ((2 * 4 * 64 * 64, 0), (3 * 4 * 64 * 64, 0))
    assert weights.moe


@pytest.mark.parametrize("name", ["blk.100000000000.x.weight", "blk.513.x.weight"])
def test_layers_past_counting_are_not_counted(name: str) -> None:
    assert weights_of(target("qwen3", [tensor(name, 4)])) is None


def test_an_unknown_type_has_no_size() -> None:
    assert weights_of(target("qwen3", [tensor("blk.0.x.weight", 64, number=999)])) is None


def test_keys_and_values_of_a_plain_layer() -> None:
    assert cache(target()) == (2 * 64 * 2 * 1024,) * 2


@pytest.mark.parametrize(("ctx", "cells"), [(1, 256), (256, 256), (257, 512)])
def test_cells_are_padded(ctx: int, cells: int) -> None:
    assert cache(target(), Use(ctx=ctx)) == (2 * 64 * 2 * cells,) * 2


def test_slots_have_caches_of_their_own() -> None:
    assert cache(target(), Use(ctx=1024, slots=3)) == (3 * 2 * 64 * 2 * 1024,) * 2


def test_a_quantised_cache_holds_whole_blocks() -> None:
    assert cache_bytes(target(), CTX, Q8_0) == (2 * 68 * 1024,) * 2


def test_heads_may_differ_by_layer_and_none_keep_nothing() -> None:
    assert cache(target(arch__attention__head_count_kv=array([0, 2]))) == (0, 2 * 128 * 2 * 1024)


def test_heads_of_keys_are_all_heads_where_nobody_says_other() -> None:
    assert cache(target(arch__attention__head_count_kv=None)) == (2 * 128 * 2 * 1024,) * 2


def test_a_window_keeps_what_it_sees_and_one_batch() -> None:
    told: dict[str, Value] = {
        "arch__attention__sliding_window": 256,
        "arch__attention__sliding_window_pattern": array([True, False], "BOOL"),
        "arch__attention__key_length_swa": 16,
        "arch__attention__value_length_swa": 16,
    }
    assert cache(target("gemma4", None, **told)) == (2 * 16 * 2 * 768, 2 * 64 * 2 * 1024)


def test_a_window_without_a_pattern_is_counted_whole() -> None:
    assert cache(target(arch__attention__sliding_window=256)) == cache(target())


def test_a_window_whose_pattern_is_known_by_architecture() -> None:
    made = target("gemma3", None, arch__block_count=6, arch__attention__sliding_window=256)
    assert cache(made) == (*[2 * 64 * 2 * 768] * 5, 2 * 64 * 2 * 1024)


def test_a_pattern_in_one_number() -> None:
    made = target(arch__attention__sliding_window=256, arch__attention__sliding_window_pattern=2)
    assert cache(made) == (2 * 64 * 2 * 768, 2 * 64 * 2 * 1024)


def test_layers_that_read_anothers_cache_have_none() -> None:
    assert cache(target(arch__attention__shared_kv_layers=1)) == (2 * 64 * 2 * 1024, 0)


def hybrid(**changed: Value | None) -> ModelHeader:
    told: dict[str, Value | None] = {
        "arch__full_attention_interval": 2,
        "arch__ssm__conv_kernel": 4,
        "arch__ssm__inner_size": 64,
        "arch__ssm__group_count": 1,
        "arch__ssm__state_size": 32,
        **changed,
    }
    return target("qwen35moe", None, **told)


def test_a_recurrent_layer_keeps_a_state_per_slot_and_drafted_token() -> None:
    state = 4 * (3 * (64 + 2 * 32) + 32 * 64)
    attention = 2 * 64 * 2 * 1024
    assert cache(hybrid()) == (state, attention)
    assert cache(hybrid(), Use(ctx=1024, slots=2), drafted=8) == (18 * state, 2 * attention)


def test_the_usual_interval_stands_where_the_file_says_none() -> None:
    assert cache(hybrid(arch__full_attention_interval=None, arch__block_count=4))[3] == 2 * 64 * 2 * 1024


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("arch__attention__kv_lora_rank", 512),
        ("arch__wkv__head_size", 64),
        ("arch__shortconv__l_cache", 3),
        ("arch__attention__compress_ratios", array([4, 0])),
        ("arch__attention__recurrent_layers", array([True, False], "BOOL")),
        ("arch__full_attention_interval", 4),
        ("arch__ssm__inner_size", 64),
        ("arch__block_count", None),
        ("arch__block_count", 1 << 40),
        ("arch__attention__head_count", None),
    ],
)
def test_what_has_no_formula_is_cannot_tell(key: str, value: Value | None) -> None:
    changed: dict[str, Value | None] = {key: value}
    assert isinstance(cache_bytes(target("falcon-h1", None, **changed), CTX, F16), str)


def test_a_header_that_says_nothing_has_no_size() -> None:
    assert isinstance(cache_bytes(model({}), CTX, F16), str)


def part(*layers: int, experts: tuple[int, ...] = (), output: int = 1, cache: int = 1) -> Part:
    weights = Weights(
        host=7, layers=layers, experts=experts or (0,) * len(layers), output=output, file=sum(layers) + output + 7
    )
    return Part(weights=weights, cache=(cache,) * len(layers), compute=2)


def test_all_layers_go_onto_a_card_with_room() -> None:
    found = place(part(10, 10, 10), beside=5, capacity=41)
    assert found is not None
    assert (found.whole, found.gpu_layers, found.cpu_moe, found.card, found.host) == (True, 4, 0, 41, 7)


def test_one_byte_less_leaves_the_first_layer_on_the_host() -> None:
    """The output layer fills the card first, then layers from the last; host layers need room to pass through."""
    found = place(part(10, 10, 10), beside=0, capacity=35)
    assert found is not None
    assert (found.gpu_layers, found.card, found.host) == (3, 20 + 1 + 2 + 2 + 10, 7 + 10 + 1)


def test_experts_leave_before_layers_do() -> None:
    found = place(part(10, 10, 10, experts=(8, 8, 8)), beside=0, capacity=28)
    assert found is not None
    assert (found.gpu_layers, found.cpu_moe, found.card, found.host) == (4, 2, 30 - 16 + 1 + 3 + 2 + 8, 7 + 16)


def test_layers_leave_when_all_experts_have() -> None:
    found = place(part(10, 10, 10, experts=(8, 8, 8)), beside=0, capacity=18)
    assert found is not None
    assert (found.gpu_layers, found.cpu_moe) == (2, 3)


def test_nothing_fits_where_not_one_layer_does() -> None:
    assert place(part(10, 10), beside=0, capacity=12) is None


def test_layers_without_experts_are_no_step() -> None:
    """`--n-cpu-moe` counts layers from the first, and a dense one in front frees nothing."""
    found = place(part(10, 10, 10, experts=(0, 8, 8)), beside=0, capacity=30)
    assert found is not None
    assert (found.cpu_moe, found.card) == (3, 30 - 16 + 1 + 3 + 2 + 8)


@pytest.mark.parametrize(("limit", "offered"), [(9000, 8192), (8191, 4096), (512, 512), (511, None)])
def test_a_smaller_context_is_offered(limit: int, offered: int | None) -> None:
    assert smaller_context(lambda ctx: ctx <= limit, 16384) == offered


def test_rows_of_logits_are_those_of_the_output_matrix_where_no_vocabulary_says_it() -> None:
    use = Use(ctx=1024)
    rows = [compute_bytes(target(ggml__tokens=None), use, count) for count in (0, 10)]
    assert rows[1] - rows[0] == 10 * 32 * 4


def buffers(made: ModelHeader, use: Use = CTX, kv: str = "f16", *, drafted: int = 0, spec_type: str = "") -> int:
    found = part_of(made, use, kv=kv, drafted=drafted, spec_type=spec_type)
    assert not isinstance(found, str)
    return found.compute


@pytest.mark.parametrize("kv", ["q8_0", "bf16"])
def test_a_cache_of_another_type_is_turned_into_half_precision_a_layer_at_a_time(kv: str) -> None:
    assert buffers(target(), kv=kv) - buffers(target()) == 2 * 64 * 2 * 1024


def test_a_graph_holds_a_recurrent_layers_states_again() -> None:
    use = Use(ctx=1024, slots=64)
    state = 4 * (3 * (64 + 2 * 32) + 32 * 64)
    assert buffers(hybrid(), use, drafted=6) - buffers(hybrid(), use) == 64 * 6 * state


@pytest.mark.parametrize(("slots", "rows"), [(1, 1024), (31, 1024), (33, 4 * 33 * 8 + 33), (64, 4 * 512 + 64)])
def test_rows_of_markov_logits_where_a_batch_holds_blocks_of_all_slots(slots: int, rows: int) -> None:
    use = Use(ctx=1024, slots=slots)
    found = buffers(draft(), use, spec_type="draft-dspark")
    assert found == compute_bytes(draft(), use, rows)
    assert buffers(draft(), use, spec_type="draft-dflash") == compute_bytes(draft(), use, 1024)
