"""Exact pairs on disk: three GGUF files and their law, generated once per specification. The one door to gguf."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gguf import GGUFWriter

from ci.console import Console
from ci.digest import digest_json
from ci.errors import ConfigProblem
from ci.files import no_space_as_error, read_json, sha256_file, staged_dir, write_json
from ci.home import Home
from ci.law import PairLaw
from ci.models import exact_pair_blocks as blocks
from ci.models import exact_pair_tensors as tensors
from ci.models.exact_pair_blocks import Named
from ci.models.pair_spec import FIRST_WITH_BYTES, HEAD_DIM, N_EXPERT, SSM_STATE, PairSpec, make_law

__all__ = [
    "HYBRID",
    "LARGE",
    "MOE",
    "PAIRS",
    "SECOND_ORDER",
    "SMALL",
    "Pair",
    "PairSpec",
    "ensure_pair",
    "write_pair",
]

SMALL = PairSpec(name="SMALL")
LARGE = PairSpec(name="LARGE", vocab=151_936, first=FIRST_WITH_BYTES, n_embd=64)
HYBRID = PairSpec(name="HYBRID", arch="qwen35moe", order2=1.5, n_embd=256)
SECOND_ORDER = PairSpec(name="SECOND_ORDER", seed=2, order2=1.0, vocab=320, first=FIRST_WITH_BYTES)
MOE = PairSpec(name="MOE", arch="qwen3moe", seed=3, vocab=320, first=FIRST_WITH_BYTES)
PAIRS = {spec.name: spec for spec in (SMALL, LARGE, HYBRID, SECOND_ORDER, MOE)}

MODEL_FILES = ("target.gguf", "draft.gguf", "simple.gguf")
LAW_FILE, MANIFEST = "truth.npz", "pair.json"
NUMBERS = ("first", "decay", "amplitude", "recalls_itself")  # of a law, beside its matrices
CONTEXT = 131_072
UNKNOWN, BEGIN, END, PAD = range(4)
SPECIAL = {UNKNOWN: (b"<unk>", 2), BEGIN: (b"<s>", 3), END: (b"</s>", 3), PAD: (b"<pad>", 3)}
BYTES_FROM, N_BYTES = 4, 256
NORMAL, CONTROL, BYTE = 1, 3, 6  # token types of the GGUF format
PLAIN_CHAT = "{% for m in messages %}{{ m['content'] }}{% endfor %}"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A generated pair: files and law.

    Attributes:
        spec: what it was made from.
        dir: where its files are.
        digests: SHA-256 by file name.
        law: P, Q, confidence and history.
    """

    spec: PairSpec
    dir: Path
    digests: dict[str, str]
    law: PairLaw

    @property
    def target(self) -> Path:
        """GGUF with law P."""
        return self.dir / "target.gguf"

    @property
    def draft(self) -> Path:
        """GGUF of the DSpark draft: the argmax chain of Q."""
        return self.dir / "draft.gguf"

    @property
    def simple(self) -> Path:
        """GGUF with law Q, for draft-simple."""
        return self.dir / "simple.gguf"


def folder_of(home: Home, spec: PairSpec) -> Path:
    """Where the files of a pair are, or will be."""
    return home.models / "pairs" / digest_json(spec.identity)


def ensure_pair(home: Home, spec: PairSpec, console: Console | None = None) -> Pair:
    """The pair of a specification, generated unless its files are there and have the digests they were written with.

    Raises:
        DiskFull: no room for the files.
    """
    folder = folder_of(home, spec)
    found = _load(folder, spec)
    if found:
        return found
    if console:
        console.say(f"generating exact pair {spec.name!r} ({spec.arch}, {spec.vocab} tokens)")
    with no_space_as_error(str(folder)), staged_dir(folder) as staging:
        write_pair(staging, spec)
    made = _load(folder, spec)
    if made is None:
        raise ConfigProblem(
            f"{folder}: exact pair {spec.name!r} does not read back as written", hint=f"rm -r {folder}"
        )
    return made


def write_pair(folder: Path, spec: PairSpec) -> None:
    """Write the files of a pair; the same specification gives the same bytes."""
    law = make_law(spec)
    _write_model(folder / "target.gguf", spec, spec.arch, tensors.target_tensors(spec, law))
    _write_model(folder / "draft.gguf", spec, "dflash", tensors.dspark_tensors(spec, law))
    _write_model(folder / "simple.gguf", spec, "qwen3", tensors.simple_tensors(spec, law))
    _save_law(folder / LAW_FILE, law)
    digests = {name: sha256_file(folder / name) for name in (*MODEL_FILES, LAW_FILE)}
    write_json(folder / MANIFEST, {"made_from": dict(spec.identity), "files": digests})


def _load(folder: Path, spec: PairSpec) -> Pair | None:
    """The stored pair, or None when it is absent or damaged."""
    digests = _written_digests(folder / MANIFEST)
    intact = all((folder / name).is_file() and sha256_file(folder / name) == digests[name] for name in digests)
    if not intact or set(digests) != {*MODEL_FILES, LAW_FILE}:
        return None
    return Pair(spec=spec, dir=folder, digests=digests, law=_load_law(folder / LAW_FILE))


def _written_digests(path: Path) -> dict[str, str]:
    """SHA-256 by file name as `pair.json` says; nothing where it is absent or damaged."""
    try:
        files = read_json(path).get("files")
    except ConfigProblem:
        return {}
    return files if isinstance(files, dict) else {}


def _save_law(path: Path, law: PairLaw) -> None:
    history = np.zeros((0, 0)) if law.history is None else law.history
    numbers = {name: getattr(law, name) for name in NUMBERS}
    np.savez(
        path,
        log_p=law.log_p,
        log_q=law.log_q,
        confidence=law.confidence,
        history=history,
        numbers=json.dumps(numbers, sort_keys=True),
    )


def _load_law(path: Path) -> PairLaw:
    with np.load(path) as stored:
        history = stored["history"]
        return PairLaw(
            log_p=stored["log_p"],
            log_q=stored["log_q"],
            confidence=stored["confidence"],
            history=history if history.size else None,
            **json.loads(str(stored["numbers"])),
        )


# ---- GGUF --------------------------------------------------------------------------------------------------------


def _write_model(path: Path, spec: PairSpec, arch: str, weights: Iterable[Named]) -> None:
    writer = GGUFWriter(None, arch)
    writer.add_name(f"exact-pair-{spec.arch}-{arch}")
    _add_shape(writer, spec, n_layer=1 if arch == "dflash" else blocks.N_LAYER)
    if arch == "qwen35moe":
        _add_hybrid(writer)
    if arch == "qwen3moe":
        _add_experts(writer)
    if arch == "dflash":
        _add_draft(writer, spec)
    _add_vocabulary(writer, spec)
    for name, values in weights:
        writer.add_tensor(name, values)
    writer.write_header_to_file(path)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_shape(writer: GGUFWriter, spec: PairSpec, *, n_layer: int) -> None:
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(spec.n_embd)
    writer.add_block_count(n_layer)
    writer.add_feed_forward_length(blocks.N_FF)
    writer.add_head_count(blocks.N_HEAD)
    writer.add_head_count_kv(blocks.N_HEAD)
    writer.add_key_length(HEAD_DIM)
    writer.add_value_length(HEAD_DIM)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(blocks.EPS)
    writer.add_file_type(0)  # all float32


def _add_experts(writer: GGUFWriter) -> None:
    writer.add_expert_count(N_EXPERT)
    writer.add_expert_used_count(blocks.N_EXPERT_USED)
    writer.add_expert_feed_forward_length(blocks.N_FF_EXPERT)


def _add_hybrid(writer: GGUFWriter) -> None:
    writer.add_rope_dimension_sections([11, 11, 10, 0])
    writer.add_rope_dimension_count(HEAD_DIM)
    _add_experts(writer)
    writer.add_expert_shared_feed_forward_length(blocks.N_FF_EXPERT)
    writer.add_uint32("qwen35moe.full_attention_interval", 2)  # layer 0 recurrent, layer 1 attention
    writer.add_ssm_conv_kernel(blocks.SSM_CONV)
    writer.add_ssm_state_size(SSM_STATE)
    writer.add_ssm_group_count(1)
    writer.add_ssm_time_step_rank(blocks.SSM_HEADS)
    writer.add_ssm_inner_size(SSM_STATE * blocks.SSM_HEADS)


def _add_draft(writer: GGUFWriter, spec: PairSpec) -> None:
    writer.add_uint32("dflash.block_size", spec.block)
    writer.add_array("dflash.target_layers", [blocks.N_LAYER - 1])
    writer.add_bool("dflash.sample_from_anchor", not spec.bonus_anchor)
    writer.add_bool("dflash.has_confidence_head", spec.confidence_head)
    writer.add_causal_attention(False)
    if spec.hybrid:  # its rotary embedding has several axes; a draft turns on the temporal one only
        writer.add_rope_dimension_sections([HEAD_DIM // 2, 0, 0, 0])


def _add_vocabulary(writer: GGUFWriter, spec: PairSpec) -> None:
    tokens, types = zip(*(_token(spec, token) for token in range(spec.vocab)), strict=True)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(token) for token in range(spec.vocab)])
    writer.add_token_types(types)
    writer.add_bos_token_id(BEGIN)
    writer.add_eos_token_id(END)
    writer.add_unk_token_id(UNKNOWN)
    writer.add_pad_token_id(PAD)
    writer.add_mask_token_id(spec.mask)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(PLAIN_CHAT)


def _token(spec: PairSpec, token: int) -> tuple[bytes, int]:
    """Text and type of a token: specials, byte tokens where there is room (text prompts need them), words."""
    if token in SPECIAL:
        return SPECIAL[token]
    if token == spec.mask:
        return b"<mask>", CONTROL
    byte = token - BYTES_FROM
    if spec.text and byte < N_BYTES:
        return f"<0x{byte:02X}>".encode(), BYTE
    return f"\u2581t{token:03d}".encode(), NORMAL
