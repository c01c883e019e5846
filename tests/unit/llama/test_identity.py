from pathlib import Path

import pytest

from ci.config import parse
from ci.errors import ForeignServer, ServerUnlike
from ci.llama.client import Props
from ci.llama.server import degraded_lines, names_build, require_ours
from ci.llama.spec import Scenario

SCENARIO = Scenario(name="a", model=Path("/m/target.gguf"), ctx=512)
OURS = {
    "total_slots": 1,
    "model_path": "/m/target.gguf",
    "model_alias": "speedfork-1",
    "build_info": "b11434-b11434",
    "default_generation_settings": {"n_ctx": 512, "params": {}},
    "chat_template": "x",
}


def props(**changes: object) -> Props:
    return parse(Props, {**OURS, **changes}, source="test")


def test_our_server_is_accepted() -> None:
    require_ours(props(), SCENARIO, alias="speedfork-1", expect_build="b11434")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_alias": "speedfork-2"}, "model_alias is 'speedfork-2'"),
        ({"model_path": "/m/other.gguf"}, "model_path is '/m/other.gguf'"),
        ({"build_info": "b11401-b11401"}, "build_info is 'b11401-b11401', expected 'b11434'"),
    ],
)
def test_another_server_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ForeignServer, match=words):
        require_ours(props(**changes), SCENARIO, alias="speedfork-1", expect_build="b11434")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"total_slots": 4}, "total_slots is 4, asked for 1"),
        ({"default_generation_settings": {"n_ctx": 256}}, "n_ctx is 256, asked for 512"),
    ],
)
def test_another_size_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ServerUnlike, match=words):
        require_ours(props(**changes), SCENARIO, alias="speedfork-1", expect_build=None)


@pytest.mark.parametrize(
    ("info", "label", "same"),
    [
        ("b11434-b11434", "b11434", True),
        ("b11434-0a1b2c3", "b11434", False),
        ("b11434-x", "b11434", False),
        ("b11434-unknown", "b11434", False),
        ("b11434", "b11434", False),
        ("b11401-b11434", "b11434", False),
        ("b11401-b11434-speed.1", "b11434-speed.1", False),
        ("b11434-b11434-speed.1", "b11434-speed.1", True),
        ("b11434-speed.1", "b11434-speed.1", False),
        ("b11434-b11434-speed.1", "b11434", False),
        ("b11434-speed.1", "b11434", False),
        ("b11434-b11434", "b11434-speed.1", False),
        ("b11434-b11434-speed.11", "b11434-speed.1", False),
        ("b11434-b11434-speed.1", "b11434-speed.11", False),
        ("b114345-b114345", "b11434", False),
        ("", "b11434", False),
    ],
)
def test_build_labels(info: str, label: str, *, same: bool) -> None:
    assert names_build(info, label) is same


LESS = [
    "W fit: context size reduced from 4096 to 512 -> need 1 MiB less memory in total",
    "W srv  load_model: the slot context (4096) exceeds the training context of the model (2048) - capping",
    "W srv  load_model: speculative decoding not supported by this context",
    "E srv  load_model: failed to initialize speculative decoding context: DSpark draft has no confidence head",
    "E srv  load_model: failed to load draft model, '/m/d.gguf'",
    "W impl: requested draft size (n_max=15, n_min=0) exceeds the trained block size 8 -- clamping to 8",
    "ggml_backend: CUDA error: out of memory",
    "I load_tensors: offloaded 20/33 layers to GPU",
    "warning: no usable GPU found, --gpu-layers option will be ignored",
]
AS_ASKED = [
    "I srv  load_model: initializing, n_slots = 1, n_ctx_slot = 2048, kv_unified = 'false'",
    "W srv  init: --cache-idle-slots requires --cache-ram, disabling",
    "I slot print_timing: id  0 | task 0 | draft acceptance = 1.00000 (    6 accepted /     6 generated)",
    "I load_tensors: offloaded 33/33 layers to GPU",
]


@pytest.mark.parametrize("line", LESS)
def test_lines_that_say_less_than_asked(line: str) -> None:
    assert degraded_lines("\n".join([*AS_ASKED, line]), gpu_layers=33) == (line,)


def test_a_log_of_a_server_that_does_as_asked() -> None:
    assert degraded_lines("\n".join(AS_ASKED), gpu_layers=33) == ()


def test_no_layers_asked_for_means_none_missing() -> None:
    assert degraded_lines("load_tensors: offloaded 0/33 layers to GPU", gpu_layers=0) == ()
    assert degraded_lines("warning: no usable GPU found, --gpu-layers option will be ignored", gpu_layers=0) == ()


def test_a_server_that_says_nothing_of_its_layers_is_less_than_asked() -> None:
    assert degraded_lines("I srv  llama_server: model loaded", gpu_layers=999) == (
        "0 of 1 models say how many of their layers are on the device",
    )


def test_a_draft_that_says_nothing_of_its_layers_is_less_than_asked() -> None:
    found = degraded_lines("\n".join(AS_ASKED), gpu_layers=999, models=2)
    assert found == ("1 of 2 models say how many of their layers are on the device",)
    assert degraded_lines("\n".join([*AS_ASKED, AS_ASKED[-1]]), gpu_layers=999, models=2) == ()


def test_layers_left_on_the_processor_are_missing_when_all_are_asked_for() -> None:
    line = "load_tensors: offloaded 0/31 layers to GPU"
    assert degraded_lines(line, gpu_layers=999) == (line,)
