"""What a build in a container says: steps, and what was compiled."""

from ci.builds.said import Counts, last_step, lines_of, parse_counts, step_of

SAID = ("::step configure", "-- ok", "::step compile", "[1/2] a", "[2/2] b", "::step counts", "# x.cu", "::step done")


def test_steps_divide_what_is_said() -> None:
    assert lines_of(SAID, "compile") == ("[1/2] a", "[2/2] b")
    assert lines_of(SAID, "nowhere") == ()
    assert last_step(SAID) == "done"
    assert last_step(("no step",)) == ""
    assert step_of("[1/2] ::step x") is None


def test_objects_are_counted_by_kind_of_source_and_by_where_they_came_from() -> None:
    log = (
        "# /src/ggml/src/ggml-cuda/norm.cu",
        "cache_miss",
        "direct_cache_miss",
        "local_storage_write",
        "# /src/ggml/src/ggml-cuda/scale.cu",
        "direct_cache_hit",
        "local_storage_hit",
        "# /src/src/llama.cpp",
        "preprocessed_cache_hit",
        "# /src/common/arg.cpp",
        "cache_miss",
        "# conftest.c",
        "called_for_link",
    )
    counts = parse_counts(log)
    assert counts == Counts(cuda_compiled=1, cuda_cached=1, host_compiled=1, host_cached=1)
    assert counts.words == "compiled 1 of 2 host and 1 of 2 CUDA objects"


def test_without_device_code_only_host_objects_are_named() -> None:
    assert parse_counts(("# a.c", "cache_miss")).words == "compiled 1 of 1 host objects"
