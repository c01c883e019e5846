from itertools import pairwise
from pathlib import Path

import pytest

from ci.errors import ConfigProblem, UsageProblem
from ci.llama.spec import (
    ALL_LAYERS,
    PROCESSOR,
    Device,
    Scenario,
    load_plans,
    plans_exercising,
    plans_for,
    server_argv,
)
from ci.outcome import JsonMap

TARGET, DRAFT = Path("/m/target.gguf"), Path("/m/draft.gguf")


def pairs(argv: tuple[str, ...]) -> dict[str, str]:
    return dict(pairwise(argv))


def test_plain_argv_says_everything_that_changes_the_work() -> None:
    argv = server_argv(Scenario(name="a", model=TARGET, threads=2, ctx=512, slots=3), Path("/b"), 4711, alias="me")
    said = pairs(argv)
    assert argv[0] == "/b/llama-server"
    assert said["--host"] == "127.0.0.1"
    assert (said["--port"], said["--alias"], said["--model"]) == ("4711", "me", "/m/target.gguf")
    assert (said["--gpu-layers"], said["--fit"], said["--cache-ram"]) == ("0", "off", "0")
    assert (said["--parallel"], said["--ctx-size"]) == ("3", "1536")
    assert (said["--threads"], said["--threads-batch"]) == ("2", "2")
    assert {"--no-ui", "--offline", "--no-kv-unified", "--no-context-shift"} <= set(argv)
    assert not [word for word in argv if word.startswith("--spec")]


def test_draft_argv() -> None:
    scenario = Scenario(name="a", model=TARGET, draft=DRAFT, spec_type="draft-dspark", n_max=7, p_min=0.25)
    said = pairs(server_argv(scenario, Path("/b"), 1))
    assert (said["--spec-type"], said["--spec-draft-model"]) == ("draft-dspark", "/m/draft.gguf")
    assert (said["--spec-draft-n-max"], said["--spec-draft-p-min"]) == ("7", "0.25")
    assert (said["--spec-draft-threads"], said["--spec-draft-ngl"]) == ("1", "0")


def test_a_card_takes_all_layers_of_both_models_and_the_server_must_say_so() -> None:
    card = Device(layers=ALL_LAYERS, libraries=(Path("/a"), Path("/b")))
    scenario = Scenario(name="a", model=TARGET, draft=DRAFT, spec_type="draft-dspark", device=card)
    said = pairs(server_argv(scenario, Path("/b"), 1))
    assert (said["--gpu-layers"], said["--spec-draft-ngl"], said["--verbosity"]) == ("999", "999", "4")
    assert card.env == {"LD_LIBRARY_PATH": "/a:/b"}


def test_the_processor_alone_needs_no_words_and_no_variables() -> None:
    assert "--verbosity" not in server_argv(Scenario(name="a", model=TARGET), Path("/b"), 1)
    assert PROCESSOR.env == {}


def test_a_plan_on_a_card_is_judged_by_the_clock_of_the_server() -> None:
    plan = load_plans()["large-plain"]
    assert plan.on(Device(layers=ALL_LAYERS)).clock == "server"
    assert plan.on(PROCESSOR) == plan
    assert plan.scenario("x", TARGET, None, Device(layers=3)).device.layers == 3


def test_ngram_mod_has_its_own_n_max_and_further_flags_come_last() -> None:
    flags = ("--spec-ngram-mod-n-match", "8")
    argv = server_argv(Scenario(name="a", model=TARGET, spec_type="ngram-mod", n_max=16, flags=flags), Path("/b"), 1)
    assert pairs(argv)["--spec-ngram-mod-n-max"] == "16"
    assert argv[-2:] == flags


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"spec_type": "draft-dspark"}, "needs a draft model"),
        ({"draft": DRAFT}, "without a speculation type"),
        ({"draft": DRAFT, "spec_type": "ngram-mod"}, "without a speculation type"),
        ({"spec_type": "magic"}, "'magic' is not one of"),
        ({"ctx": 1000}, "multiple of 256"),
        ({"ctx": 0}, "multiple of 256"),
        ({"slots": 0}, "at least 1"),
        ({"threads": 0}, "at least 1"),
    ],
)
def test_impossible_scenarios_are_refused(fields: JsonMap, words: str) -> None:
    with pytest.raises(UsageProblem, match=words):
        Scenario(name="a", model=TARGET, **fields)


def test_shipped_plans_bind_to_files() -> None:
    plans = load_plans()
    bound = {name: plan.scenario(name, TARGET, DRAFT) for name, plan in plans.items()}
    assert bound["large-dspark"].draft == DRAFT
    assert bound["large-plain"].draft is None
    assert bound["real-plain"].speculative is False


def test_shipped_throughput_plans_cover_the_claims_and_a_real_model() -> None:
    plans = plans_for("quick")
    assert {name for name, plan in plans.items() if plan.claims} == {
        name for name in plans if name.startswith("large-")
    }
    assert [name for name, plan in plans.items() if plan.model] == ["real-plain"]
    assert plans_for("full").keys() > plans.keys()


def test_the_scenarios_of_a_patch_are_found_by_its_id() -> None:
    assert set(plans_exercising("host-topk-window")) == {"large-sampled", "large-dspark-sampled"}
    assert plans_exercising("no-such-patch") == {}


ENTRY = 'n_predict = 8\nwhy = "x"\n'


@pytest.mark.parametrize("head", ["", 'model = "a"\npair = "SMALL"\n'])
def test_a_plan_names_exactly_one_source(tmp_path: Path, head: str) -> None:
    path = tmp_path / "scenarios.toml"
    path.write_text(f"[scenario.odd]\n{head}{ENTRY}", encoding="utf-8")
    with pytest.raises(ConfigProblem, match="odd: give exactly one of model and pair"):
        load_plans(path)


def test_an_unknown_key_gets_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "scenarios.toml"
    path.write_text(f'[scenario.a]\npair = "SMALL"\nn_maxx = 3\n{ENTRY}', encoding="utf-8")
    with pytest.raises(ConfigProblem, match="did you mean 'n_max'"):
        load_plans(path)
