from ci.parity.policy import PROFILES
from ci.parity.prompts import all_prompts

KINDS = {"prose", "code", "maths", "dialogue", "languages", "repetition", "long"}


def test_ids_are_unique_and_texts_too() -> None:
    prompts = all_prompts()
    assert len({prompt.id for prompt in prompts}) == len({prompt.text for prompt in prompts}) == len(prompts)


def test_the_quick_profile_holds_every_kind() -> None:
    quick = all_prompts()[: PROFILES["quick"].prompts]
    assert len(quick) == 12
    assert {prompt.kind for prompt in quick} == KINDS


def test_the_full_profile_has_its_32_prompts() -> None:
    assert len(all_prompts()) == PROFILES["full"].prompts == 32
    assert PROFILES["full"].n_predict == 128


def test_one_prompt_is_long_and_one_is_not_latin() -> None:
    prompts = all_prompts()
    assert max(len(prompt.text) for prompt in prompts) > 1000
    assert any(not prompt.text.isascii() for prompt in prompts if prompt.kind == "languages")
