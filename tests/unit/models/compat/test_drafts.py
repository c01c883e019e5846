"""A draft and its target: every kind of mismatch with both values, and the right form of each accepted."""

import pytest

from ci.models.compat.answers import Answer, Fit, combined
from ci.models.compat.blocks import longest_draft
from ci.models.compat.drafts import draft_answers, speculation_type
from ci.models.header.values import ModelHeader, Tensor, Value
from tests.helpers.model_headers import WORDS, array, draft, draft_tensors, simple, target, tensor

MANY = tuple(f"t{at}" for at in range(151_936))


def failing(model: ModelHeader, its_draft: ModelHeader) -> list[Answer]:
    return [answer for answer in draft_answers(model, its_draft) if answer.fit is not Fit.OK]


def only(model: ModelHeader, its_draft: ModelHeader) -> Answer:
    (answer,) = failing(model, its_draft)
    return answer


def changed(words: tuple[str, ...], at: int) -> Value:
    return array([*words[:at], "other", *words[at + 1 :]], "STRING")


def markov(first: tuple[int, ...], second: tuple[int, ...] | None, rows: int = 0) -> list[Tensor]:
    """The draft's tensors with Markov matrices of other shapes, and a vocabulary of its own where `rows` says so."""
    others = [one for one in draft_tensors() if "markov" not in one.name]
    more = [tensor("markov_w2.weight", *second)] if second is not None else []
    return [*others, tensor("markov_w1.weight", *first), *more, *([tensor("d2t", rows)] if rows else [])]


def test_the_right_pair_is_accepted() -> None:
    assert combined(draft_answers(target(), draft())) is Fit.OK
    assert speculation_type(target(), draft()) == "draft-dspark"


@pytest.mark.parametrize(
    ("key", "value", "rule", "fit", "both"),
    [
        (
            "ggml__tokens",
            array([f"x{at}" for at in range(32)], "STRING"),
            "token texts",
            Fit.REFUSED,
            ("'x5'", "'word5'"),
        ),
        ("ggml__tokens", changed(WORDS, 7), "token texts", Fit.REFUSED, ("'other'", "'word7'")),
        ("ggml__model", "llama", "tokenizer kind", Fit.REFUSED, ("llama", "gpt2")),
        ("ggml__pre", "llama3", "tokenizer pre", Fit.REFUSED, ("llama3", "qwen2")),
        ("ggml__pre", None, "tokenizer pre", Fit.UNKNOWN, ("none", "qwen2")),
        ("ggml__bos_token_id", 3, "bos token", Fit.REFUSED, ("3", "1")),
        ("ggml__eos_token_id", 3, "eos token", Fit.REFUSED, ("3", "2")),
        ("arch__target_layers", array([2]), "target layers", Fit.REFUSED, ("2", "0 to 1")),
        ("arch__target_layers", array([-1]), "target layers", Fit.REFUSED, ("-1", "0 to 1")),
        ("arch__target_layers", None, "target layers", Fit.REFUSED, ("", "")),
        ("arch__block_size", None, "block size", Fit.REFUSED, ("None", "")),
        ("arch__block_size", 0, "block size", Fit.REFUSED, ("0", "")),
        ("ggml__mask_token_id", None, "mask token", Fit.REFUSED, ("", "")),
        ("ggml__mask_token_id", 32, "mask token", Fit.REFUSED, ("32", "below 32")),
        ("arch__target_layers", array([0, 1]), "feature matrix", Fit.REFUSED, ("64", "128")),
    ],
)
def test_each_mismatch_is_named_with_both_values(
    key: str, value: Value | None, rule: str, fit: Fit, both: tuple[str, str]
) -> None:
    answer = only(target(), draft(**{key: value}))
    assert (answer.rule, answer.fit, (answer.found, answer.expected)) == (rule, fit, both)


def test_a_block_that_proposes_nothing_is_refused() -> None:
    bonus_only = draft(arch__block_size=1, arch__sample_from_anchor=False)
    assert (only(target(), bonus_only).rule, longest_draft(bonus_only)) == ("block size", 0)


def test_another_width_is_refused() -> None:
    answers = failing(target(arch__embedding_length=96), draft())
    assert [(one.rule, one.found, one.expected) for one in answers] == [("embedding width", "64", "96")]


@pytest.mark.parametrize(
    ("extra", "fit"), [(1, Fit.OK), (128, Fit.OK), (129, Fit.REFUSED)], ids=["one", "upstream's limit", "beyond"]
)
def test_padding_is_a_note_and_more_is_a_mismatch(extra: int, fit: Fit) -> None:
    longer = target(ggml__tokens=array([*WORDS, *(f"pad{at}" for at in range(extra))], "STRING"))
    size = next(one for one in draft_answers(longer, draft()) if one.rule == "vocabulary size")
    assert (size.fit, size.found, size.expected) == (fit, "32", str(32 + extra))
    assert combined(draft_answers(longer, draft())) is fit


def test_a_draft_that_borrows_its_targets_head_allows_no_padding() -> None:
    bare = draft([one for one in draft_tensors() if one.name not in ("output.weight", "token_embd.weight")])
    longer = target(ggml__tokens=array([*WORDS, "pad"], "STRING"))
    assert combined(draft_answers(target(), bare)) is Fit.OK
    assert only(longer, bare).rule == "vocabulary size"


def test_special_tokens_may_read_differently_as_upstream_allows() -> None:
    answers = draft_answers(target(), draft(ggml__tokens=changed(WORDS, 4)))
    assert combined(answers) is Fit.OK
    assert any("some of the first 5 differ" in answer.reason for answer in answers)


@pytest.mark.parametrize("tokens", [None, array([], "STRING")])
def test_no_tokenizer_is_cannot_tell_and_never_ok(tokens: Value | None) -> None:
    answer = only(target(), draft(ggml__tokens=tokens))
    assert (answer.fit, answer.found, answer.expected) == (Fit.UNKNOWN, "none", "32 tokens")


def test_swapped_arguments_are_detected_and_nothing_else_is_said() -> None:
    (answer,) = draft_answers(draft(), target())
    assert answer.fit is Fit.REFUSED
    assert "swapped" in answer.reason
    assert (answer.found, answer.expected) == ("qwen3", "dflash")


def test_a_simple_draft_larger_than_its_target_is_swapped() -> None:
    small = simple(arch__embedding_length=32)
    assert combined(draft_answers(target(), small)) is Fit.OK
    assert "swapped" in only(small, target()).reason


def test_a_model_that_is_its_own_draft_is_refused() -> None:
    own = only(target(), target())
    assert (own.rule, own.fit) == ("roles", Fit.REFUSED)
    assert "the model is its own draft" in own.reason
    assert combined(draft_answers(target(), simple())) is Fit.OK


def test_two_drafts_are_no_pair() -> None:
    assert "both files are drafts" in only(draft(), draft()).reason


def test_a_simple_draft_may_have_any_width_but_must_add_the_same_tokens() -> None:
    small = simple(arch__embedding_length=32)
    assert speculation_type(target(), small) == "draft-simple"
    assert only(target(ggml__add_bos_token=True), simple(ggml__add_bos_token=False)).rule == "bos added"


def test_layers_for_further_tokens_are_no_depth() -> None:
    assert only(target(arch__nextn_predict_layers=1), draft()).rule == "target layers"


def test_the_end_of_the_last_layer_is_handed_out_by_some_architectures() -> None:
    past = draft(arch__target_layers=array([2]))
    assert combined(draft_answers(target("mimo2"), past)) is Fit.OK


def test_an_architecture_that_nobody_saw_hand_out_its_layers_is_cannot_tell() -> None:
    answer = only(target("stablelm"), draft())
    assert (answer.rule, answer.fit) == ("target layers", Fit.UNKNOWN)


def test_a_draft_without_a_markov_head_is_dflash_and_has_a_default_block() -> None:
    plain = draft([one for one in draft_tensors() if "markov" not in one.name], arch__block_size=None)
    assert speculation_type(target(), plain) == "draft-dflash"
    assert combined(draft_answers(target(), plain)) is Fit.OK
    assert longest_draft(plain) == 15


@pytest.mark.parametrize(("anchor", "longest"), [(None, 8), (True, 8), (False, 7)])
def test_a_bonus_anchor_costs_one_drafted_token(anchor: bool | None, longest: int) -> None:
    assert longest_draft(draft(arch__sample_from_anchor=anchor)) == longest


def test_layers_of_its_own_make_a_target_its_own_draft() -> None:
    grafted = target("qwen3", [tensor("blk.1.nextn.eh_proj.weight", 128, 64)])
    assert speculation_type(grafted, None) == "draft-mtp"
    assert speculation_type(target(), None) == ""


def test_eagle_drafts_are_not_judged() -> None:
    eagle = simple("eagle3")
    assert combined(draft_answers(target(), eagle)) is Fit.UNKNOWN


def test_one_token_of_a_real_vocabulary_is_found() -> None:
    made = draft(markov((32, len(MANY)), (32, len(MANY))), ggml__tokens=changed(MANY, 151_000))
    answer = only(target(ggml__tokens=array(MANY, "STRING")), made)
    assert answer.reason == "token 151000 reads differently"


def test_a_feature_matrix_without_dimensions_is_refused() -> None:
    tensors = [tensor("fc.weight") if one.name == "fc.weight" else one for one in draft_tensors()]
    refused = only(target(), draft(tensors))
    assert (refused.rule, refused.found, refused.expected) == ("feature matrix", "1", "64")


def test_more_target_layers_than_any_model_has_are_refused() -> None:
    refused = failing(target(), draft(arch__target_layers=array([0] * 513)))[0]
    assert (refused.rule, refused.found, refused.expected) == ("target layers", "513", "0 to 1")


@pytest.mark.parametrize(
    ("first", "second", "rows", "found", "expected"),
    [
        ((32, 31), (32, 32), 0, "32 x 31 and 32 x 32", "32 x 32 and 32 x 32"),
        ((32, 32), (32, 31), 0, "32 x 32 and 32 x 31", "32 x 32 and 32 x 32"),
        ((32, 32), (16, 32), 0, "32 x 32 and 16 x 32", "32 x 32 and 32 x 32"),
        ((32, 32), (32, 32, 2), 0, "32 x 32 and 32 x 32 x 2", "32 x 32 and 32 x 32"),
        ((), (32, 32), 0, "1 x 1 and 32 x 32", "1 x 32 and 1 x 32"),
        ((32, 32), None, 0, "32 x 32 and none", "32 x 32 and 32 x 32"),
        ((32, 32), (32, 32), 16, "32 x 32 and 32 x 32", "32 x 32 and 32 x 16"),
    ],
)
def test_markov_matrices_of_other_shapes_are_refused(
    first: tuple[int, ...], second: tuple[int, ...] | None, rows: int, found: str, expected: str
) -> None:
    refused = only(target(), draft(markov(first, second, rows)))
    assert (refused.rule, refused.fit) == ("Markov head", Fit.REFUSED)
    assert (refused.found, refused.expected) == (found, expected)


def test_a_draft_with_a_vocabulary_of_its_own_has_other_rows() -> None:
    assert combined(draft_answers(target(), draft(markov((32, 32), (32, 16), rows=16)))) is Fit.OK
