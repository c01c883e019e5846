"""The trailer vocabulary: every required word, every fault in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.builds.target import load_targets
from ci.series.message import read_trailers
from ci.series.trailers import (
    OPTIONAL,
    REQUIRED,
    TARGETS,
    WANTED,
    Feature,
    Numerics,
    NumericsKind,
    StatusKind,
    Trailers,
    UpstreamStatus,
    parse_trailers,
)
from ci.upstream.tags import BuildTag

GOOD = {
    "Speed-Id": "host-greedy-argmax",
    "Speed-Feature": "host-path",
    "Speed-Numerics": "bitwise",
    "Speed-Targets": "cpu sm75 sm120",
    "Speed-Switch": "LLAMA_ARG_FAST",
    "Requires-Upstream": "b11200",
    "Upstream-Status": "Pending",
    "Retire-When": "upstream has a greedy path",
}


def pairs(**changes: str | None) -> tuple[tuple[str, str], ...]:
    given_values = {**GOOD, **{key.replace("_", "-"): value for key, value in changes.items()}}
    return tuple((key, value) for key, value in given_values.items() if value is not None)


def good(**changes: str | None) -> Trailers:
    parsed = parse_trailers(pairs(**changes))
    assert isinstance(parsed, Trailers), parsed
    return parsed


def faults(**changes: str | None) -> tuple[str, ...]:
    parsed = parse_trailers(pairs(**changes))
    assert isinstance(parsed, tuple)
    return parsed


def test_a_whole_set_becomes_a_value() -> None:
    assert good() == Trailers(
        id="host-greedy-argmax",
        feature=Feature.HOST_PATH,
        numerics=Numerics(kind=NumericsKind.BITWISE),
        targets=("cpu", "sm75", "sm120"),
        switch="LLAMA_ARG_FAST",
        requires_upstream=BuildTag(11200),
        upstream_status=UpstreamStatus(kind=StatusKind.PENDING),
        retire_when="upstream has a greedy path",
    )


def test_the_switch_may_be_absent() -> None:
    assert good(Speed_Switch=None).switch is None


@pytest.mark.parametrize("key", REQUIRED)
def test_each_required_trailer_is_missed_by_name(key: str) -> None:
    assert faults(**{key: None}) == (f"{key}: missing trailer",)


def test_all_faults_come_together() -> None:
    found = faults(Speed_Id=None, Speed_Numerics="exact", Speed_Target="cpu", Requires_Upstream="11200")
    assert len(found) == 4


@pytest.mark.parametrize(
    ("key", "meant"),
    [("Speed-Numeric", "Speed-Numerics"), ("Upstream-State", "Upstream-Status"), ("speed-id", "Speed-Id")],
)
def test_an_unknown_trailer_names_the_one_that_was_meant(key: str, meant: str) -> None:
    assert faults(**{key: "x"}) == (f"{key}: unknown trailer, did you mean {meant!r}?",)


def test_an_unknown_trailer_like_nothing_else_is_refused_without_a_guess() -> None:
    assert faults(Zq="x") == ("Zq: unknown trailer",)


def test_trailers_of_people_are_let_through_in_any_case_and_number() -> None:
    people = (
        ("Signed-off-by", "A <a@example.org>"),
        ("Co-Authored-By", "B <b@example.org>"),
        ("Co-authored-by", "C"),
    )
    assert isinstance(parse_trailers((*pairs(), *people)), Trailers)


def test_a_trailer_that_stands_twice_is_refused_even_with_one_value() -> None:
    found = parse_trailers((*pairs(), ("Speed-Id", GOOD["Speed-Id"])))
    assert found == ("Speed-Id: stands 2 times, may stand once",)


def test_no_trailers_says_how_they_must_stand() -> None:
    parsed = parse_trailers(())
    assert isinstance(parsed, tuple)
    assert "one paragraph" in parsed[0]


@pytest.mark.parametrize(
    "value", ["", "-dash", "Upper", "under_score", "a" * 65, "a/b", "a.b", "é", "a\n", "../x", "a b"]
)
def test_an_id_that_is_no_safe_file_name_is_refused(value: str) -> None:
    assert faults(Speed_Id=value)[0].startswith(f"Speed-Id: {value!r} is not an id")


@pytest.mark.parametrize("value", ["a", "0", "a" * 64, "7b-fast", "a--b"])
def test_an_id_in_the_allowed_alphabet_is_taken(value: str) -> None:
    assert good(Speed_Id=value).id == value


def test_an_unknown_feature_lists_the_known_and_the_close_one() -> None:
    (fault,) = faults(Speed_Feature="host-paths")
    assert "did you mean 'host-path'?" in fault
    assert "moe-fusion" in fault


@pytest.mark.parametrize(
    ("value", "kind", "detail"),
    [
        ("distribution", NumericsKind.DISTRIBUTION, ""),
        ("tolerance logits NMSE 1e-6", NumericsKind.TOLERANCE, "logits NMSE 1e-6"),
        ("repair draft state of hybrid targets", NumericsKind.REPAIR, "draft state of hybrid targets"),
    ],
)
def test_numerics_carry_what_they_promise(value: str, kind: NumericsKind, detail: str) -> None:
    assert good(Speed_Numerics=value).numerics == Numerics(kind=kind, detail=detail)


@pytest.mark.parametrize("value", ["tolerance", "repair", "bitwise mostly", "distribution x", "", "exact"])
def test_numerics_that_promise_too_little_or_too_much_are_refused(value: str) -> None:
    (fault,) = faults(Speed_Numerics=value)
    assert fault.startswith("Speed-Numerics: ")


@pytest.mark.parametrize("value", ["", "sm99", "cpu,sm75", "cpu cpu", "CPU"])
def test_targets_outside_the_table_are_refused(value: str) -> None:
    (fault,) = faults(Speed_Targets=value)
    assert fault.startswith("Speed-Targets: ")


@pytest.mark.parametrize(
    ("value", "kind", "detail"),
    [
        ("Submitted https://example.org/pull/1", StatusKind.SUBMITTED, "https://example.org/pull/1"),
        ("Accepted b11500", StatusKind.ACCEPTED, "b11500"),
        ("Inappropriate only for our cards", StatusKind.INAPPROPRIATE, "only for our cards"),
    ],
)
def test_a_status_carries_its_evidence(value: str, kind: StatusKind, detail: str) -> None:
    assert good(Upstream_Status=value).upstream_status == UpstreamStatus(kind=kind, detail=detail)


@pytest.mark.parametrize(
    "value",
    ["", "Submitted", "Submitted soon", "Accepted", "Accepted soon", "Inappropriate", "Pending review", "Merged b1"],
)
def test_a_status_without_its_evidence_is_refused(value: str) -> None:
    (fault,) = faults(Upstream_Status=value)
    assert fault.startswith("Upstream-Status: ")


@pytest.mark.parametrize(("key", "value"), [("Retire-When", ""), ("Speed-Switch", ""), ("Speed-Switch", "two words")])
def test_words_that_say_nothing_are_refused(key: str, value: str) -> None:
    (fault,) = faults(**{key: value})
    assert fault.startswith(f"{key}: ")


def test_drift_acknowledgements_repeat() -> None:
    acks = (("Drift-Ack", "struct llama_batch b11300"), ("Drift-Ack", "server_slot::n_past b11301"))
    parsed = parse_trailers((*pairs(), *acks))
    assert isinstance(parsed, Trailers)
    assert [(ack.declaration, str(ack.build)) for ack in parsed.drift_ack] == [
        ("struct llama_batch", "b11300"),
        ("server_slot::n_past", "b11301"),
    ]


@pytest.mark.parametrize("value", ["b11300", "struct llama_batch", "struct llama_batch 11300", ""])
def test_a_drift_acknowledgement_without_declaration_or_build_is_refused(value: str) -> None:
    (fault,) = faults(Drift_Ack=value)
    assert fault.startswith("Drift-Ack: ")


def test_folded_values_are_joined() -> None:
    assert read_trailers("Subject\n\nRetire-When: a\n  long\n\treason\n") == (("Retire-When", "a long reason"),)


def test_the_last_paragraph_counts_only_when_all_of_it_is_trailers() -> None:
    assert read_trailers("Subject\n\nSpeed-Id: a\nand prose\n") == ()
    assert read_trailers("Subject\n\nSpeed-Id: a\n\nprose after\n") == ()
    assert read_trailers("Speed-Id: a\n") == ()


def test_a_signature_lets_prose_stand_among_trailers() -> None:
    text = "Subject\n\nprose\nSpeed-Id: a\nSigned-off-by: A <a@example.org>\n"
    assert read_trailers(text) == (("Speed-Id", "a"), ("Signed-off-by", "A <a@example.org>"))


@given(st.dictionaries(st.text("abcXYZ-09", min_size=1), st.text("ab :#,.é", max_size=20), min_size=1))
def test_what_is_written_as_trailers_is_read_back(values: dict[str, str]) -> None:
    text = "Subject\n\n" + "".join(f"{key}: {value}\n" for key, value in values.items())
    assert read_trailers(text) == tuple((key, value.strip(" ")) for key, value in values.items())


@given(st.text())
def test_any_message_is_read_without_a_traceback(text: str) -> None:
    assert isinstance(parse_trailers(read_trailers(text)), (tuple, Trailers))


def test_every_target_that_can_be_built_may_stand_in_a_patch() -> None:
    assert set(load_targets()) <= set(TARGETS)


@pytest.mark.parametrize("key", [*REQUIRED, *OPTIONAL])
@pytest.mark.parametrize("value", ["TODO", "TODO: ask", "TODO TODO", "tolerance TODO"])
def test_a_todo_never_passes_and_says_what_to_write(key: str, value: str) -> None:
    (fault,) = faults(**{key: value})
    assert fault == f"{key}: TODO: write {WANTED[key]}"


def test_a_todo_for_a_word_names_every_word() -> None:
    (fault,) = faults(**{"Speed-Feature": "TODO"})
    assert all(feature.value in fault for feature in Feature)


def test_a_todo_of_upstreams_is_a_reason() -> None:
    assert good(Retire_When="upstream mends the TODO in sampling.cpp").retire_when.startswith("upstream mends")
