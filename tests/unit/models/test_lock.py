from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import ConfigProblem, UsageProblem
from ci.models.exact_pair import PAIRS
from ci.models.lock import Role, load_models, model_named
from ci.models.shard_names import shards_fault, split_names

GENERATED = f'[model.generated]\npair = "SMALL"\nsha256 = {{ "target.gguf" = "{"0" * 64}" }}\n'
ENTRY = '[[model]]\nid = "{id}"\nabout = "a"\nrole = "{role}"\nlicence = "MIT"\n'


def entry(name: str, role: str = "small", pair: str = "") -> str:
    return ENTRY.format(id=name, role=role) + (f'pair = "{pair}"\n' if pair else "")


def shard(file: str = "a.gguf", table: str = "hub") -> str:
    return f'[[model.{table}.shard]]\nfile = "{file}"\nsize = 5\nsha256 = "{"a" * 64}"\n'


def hub(revision: str = "") -> str:
    return '[model.hub]\nrepo = "owner/model"\n' + (f'revision = "{revision}"\n' if revision else "")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "models.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_real_lock_names_the_model_of_the_suites() -> None:
    entry = model_named(load_models(), "smollm2-135m-q4_1")
    assert [shard.name for shard in entry.shards] == ["SmolLM2-135M-Instruct.Q4_1.gguf"]
    assert entry.licence == "Apache-2.0"
    assert entry.pinned
    assert entry.suites


def test_every_named_pair_is_pinned() -> None:
    pinned = {entry.generated.pair for entry in load_models().values() if entry.generated}
    assert pinned == set(PAIRS)


def test_an_unknown_id_suggests_the_closest() -> None:
    with pytest.raises(
        UsageProblem, match=r"'smollm2-135m-q4-1' is not in models.toml, did you mean 'smollm2-135m-q4_1'"
    ):
        model_named(load_models(), "smollm2-135m-q4-1")


def test_what_the_suites_use_is_pinned_and_no_published_model_is_among_it() -> None:
    used = [entry for entry in load_models().values() if entry.suites]
    assert all(entry.pinned for entry in used)
    assert {entry.role for entry in used} == {Role.SMALL, Role.PAIR}
    assert sum(shard.size for entry in used for shard in entry.shards) < 100_000_000


def test_the_published_pairs_are_known_and_nothing_is_made_up_about_their_bytes() -> None:
    models = load_models()
    pairs = {entry.pair for entry in models.values() if entry.pair}
    assert pairs == {"qwen3.6-35b-a3b", "qwen3-8b", "gemma4-12b", "qwen3-4b", "qwen3-14b"}
    assert all(not entry.shards and not entry.pinned for entry in models.values() if entry.pair)


def test_every_fault_of_the_entries_is_reported_together(tmp_path: Path) -> None:
    text = 2 * (entry("a") + GENERATED) + entry("b") + entry("c") + GENERATED + hub()
    with pytest.raises(ConfigProblem) as caught:
        load_models(written(tmp_path, text))
    assert "id 'a' stands 2 times" in caught.value.message
    assert "b: give exactly one of hub, url, index, local, generated (found 0)" in caught.value.message
    assert "c: give exactly one of hub, url, index, local, generated (found 2)" in caught.value.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (hub(), False),
        (hub("a" * 40) + shard(), True),
        ('[model.url]\naddress = "https://example.org/a.gguf"\n', False),
        ('[model.url]\naddress = "https://example.org/a.gguf"\n' + shard(table="url"), True),
        ("[model.local]\n", False),
        ('[model.local]\npath = "/a.gguf"\n', False),
        ('[model.local]\npath = "/a.gguf"\n' + shard(table="local"), True),
        (GENERATED, True),
    ],
)
def test_an_entry_is_pinned_when_every_byte_is_said(tmp_path: Path, text: str, words: bool) -> None:
    assert load_models(written(tmp_path, entry("a") + text))["a"].pinned is words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (hub("a" * 40), "a: revision and shards are pinned together"),
        (hub() + shard(), "a: revision and shards are pinned together"),
        ("[model.local]\n" + shard(table="local"), "a: shards are pinned, but no path"),
        ('[model.url]\naddress = "ftp://example.org/a.gguf"\n', r"a: the address is not http\(s\)"),
        ('[model.url]\naddress = "https://example.org/"\n', r"a: the address is not http\(s\)"),
        ('[model.url]\naddress = "https://me:word@example.org/a.gguf"\n', "a: the address holds a password"),
        (hub("a" * 40) + shard("a-00001-of-00002.gguf"), r"files of that model are .*a-00002-of-00002.gguf \(2 in"),
        (hub("a" * 40) + shard("a-00002-of-00002.gguf") + shard("a-00001-of-00002.gguf"), "the shards are a-00002"),
        (hub("a" * 40) + shard("a.gguf") + shard("b.gguf"), "the shards are a.gguf, b.gguf"),
    ],
)
def test_half_a_pin_is_no_pin(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigProblem, match=words):
        load_models(written(tmp_path, entry("a") + text))


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        (("target",), "found 1 and 0"),
        (("draft",), "found 0 and 1"),
        (("target", "target", "simple"), "found 2 and 1"),
    ],
)
def test_a_pair_is_one_target_and_its_drafts(tmp_path: Path, roles: tuple[str, ...], words: str) -> None:
    text = "".join(entry(f"m{at}", role, pair="p") + hub() for at, role in enumerate(roles))
    with pytest.raises(ConfigProblem, match=rf"pair 'p' needs one target and a draft \({words}\)"):
        load_models(written(tmp_path, text))


def checkpoint(name: str, role: str, files: tuple[str, ...] = (), *, pair: str = "", source: str = "") -> str:
    own = entry(name, role, pair) + 'form = "checkpoint"\n'
    return own + (source or hub("a" * 40 if files else "")) + "".join(shard(file) for file in files)


def test_checkpoints_are_a_draft_with_weights_and_a_target_without(tmp_path: Path) -> None:
    draft = checkpoint("d", "draft", ("config.json", "model.safetensors"), pair="p")
    target = checkpoint("t", "target", ("config.json", "vocab.json", "merges.txt"), pair="p")
    models = load_models(written(tmp_path, draft + target))
    assert [(one.pinned, one.is_checkpoint, one.has_weights) for one in models.values()] == [
        (True, True, True),
        (True, True, False),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (checkpoint("a", "draft", ("config.json", "model.safetensors", "modeling.py")), "none but config, tokenizer"),
        (checkpoint("a", "draft", ("config.json", "model.safetensors", "model.bin")), "none but config, tokenizer"),
        (checkpoint("a", "draft", ("config.json", "x/model.safetensors")), "none but config, tokenizer"),
        (checkpoint("a", "draft", ("config.json", "config.json", "model.safetensors")), "each once"),
        (checkpoint("a", "target", ("config.json", "vocab.json", "model.safetensors")), "none but config, tokenizer"),
        (checkpoint("a", "draft", ("config.json",)), r"a: no model\*\.safetensors"),
        (checkpoint("a", "draft", ("config.json", "model-00001-of-00002.safetensors")), "1 files of weights"),
        (checkpoint("a", "target", ("config.json",)), "a: no tokenizer"),
        (checkpoint("a", "target", ("vocab.json",)), "a: no config.json"),
        (checkpoint("a", "small"), "a checkpoint is a target or a draft"),
        (
            checkpoint("a", "draft", source='[model.url]\naddress = "https://example.org/a"\n'),
            "from a hub or a folder",
        ),
        (checkpoint("a", "draft").replace("[model.hub]", "suites = true\n[model.hub]"), "no model of the suites"),
        (checkpoint("a", "draft") + 'file = "config.json"\n', "several files, not config.json alone"),
    ],
)
def test_a_checkpoint_is_data_and_whole(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigProblem, match=words):
        load_models(written(tmp_path, text))


def test_a_pair_may_stand_in_both_forms_and_none_is_of_two(tmp_path: Path) -> None:
    ours = entry("t", "target", "p") + hub() + entry("d", "draft", "p") + hub()
    theirs = checkpoint("ct", "target", pair="p") + checkpoint("cd", "draft", pair="p")
    assert len(load_models(written(tmp_path, ours + theirs))) == 4
    with pytest.raises(ConfigProblem, match=r"found 0 and 1\) in the form checkpoint"):
        load_models(written(tmp_path, ours + checkpoint("cd", "draft", pair="p")))


def test_a_target_may_have_several_drafts(tmp_path: Path) -> None:
    roles = ("target", "draft", "simple")
    text = "".join(entry(f"m{at}", role, pair="p") + hub() for at, role in enumerate(roles))
    assert len(load_models(written(tmp_path, text))) == 3


@pytest.mark.parametrize("file", ["../a.gguf", "/a.gguf", "a/../b.gguf", ".a.gguf", "a//b.gguf", "a\\\\b.gguf"])
def test_a_file_cannot_leave_its_folder(tmp_path: Path, file: str) -> None:
    with pytest.raises(ConfigProblem, match=r"model\.0\.hub\.shard\.0\.file"):
        load_models(written(tmp_path, entry("a") + hub("a" * 40) + shard(file)))


@given(st.integers(1, 40))
def test_the_files_of_a_split_model_are_known_from_its_first(count: int) -> None:
    names = split_names(f"m-00001-of-{count:05}.gguf")
    assert len(names) == len(set(names)) == count
    assert shards_fault(list(names)) is None
    assert shards_fault(list(names[1:]) or ["m-00002-of-00001.gguf"]) is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (entry("Bad Id") + GENERATED, "model.0.id"),
        (entry("a", role="big") + GENERATED, "model.0.role"),
        (entry("a") + GENERATED.replace("0" * 64, "0" * 63), "model.0.generated.sha256"),
        (entry("a") + GENERATED + 'lisence = "MIT"\n', "lisence"),
        (entry("a") + hub("main"), "model.0.hub.revision"),
        ("", "model"),
    ],
)
def test_a_malformed_lock_is_refused_with_its_key_path(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigProblem, match=words):
        load_models(written(tmp_path, text))
