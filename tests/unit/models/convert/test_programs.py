"""Converter and llama-quantize as stand-ins: what they are given, how their words are understood."""

import json
import sys
import threading
from pathlib import Path

import pytest

from ci.console import Task
from ci.errors import ConversionFailed, DiskFull, UsageProblem
from ci.models.convert import programs

WARNINGS = """\
warning: fc.weight                            - ncols    128 not divisible by 256 (required for type    q4_K) -> falling back to    q5_0
warning: markov_w1.weight                     - ncols     32 not divisible by 256 (required for type    q4_K) -> falling back to    q5_0
warning: blk.0.attn_v.weight                  - ncols    100 not divisible by 256 (required for type    q6_K) (WARNING: must use F16 due to unusual shape) -> falling back to     f16
[   1/  19] conf_proj.bias                       - [     1,      1,      1,      1], type =    f32, size =    0.000 MiB
"""  # noqa: E501 - as the program says it
WHY = "their rows are no whole blocks of 256 values"
HELP = """\
  40  or  Q1_0    :  1.125 bpw quantization
   2  or  Q4_0    :  4.34G, +0.4685 ppl @ Llama-3-8B
  38  or  MXFP4_MOE :  MXFP4 MoE
          COPY    : only copy tensors, no quantizing
"""


class Listener(Task):
    """A task that keeps what it hears."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, float | None, str]] = []
        self.heard = threading.Event()

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        self.seen.append((done, total, note))
        self.heard.set()


def program(path: Path, body: str) -> Path:
    path.write_text(f"#!{sys.executable}\nimport json, os, sys\n{body}\n")
    path.chmod(0o755)
    return path


def converted(tmp_path: Path, body: str) -> Path:
    script = program(tmp_path / "convert_hf_to_gguf.py", body)
    into = tmp_path / "draft.gguf"
    programs.convert(Path(sys.executable), script, tmp_path / "d", tmp_path / "t", into, home=tmp_path)
    return into


def test_the_converter_runs_offline_without_settings_of_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    into = converted(tmp_path, "open(sys.argv[5], 'w').write(json.dumps([sys.argv[1:], dict(os.environ)]))")
    argv, environ = json.loads(into.read_text())
    assert argv[:4] == [str(tmp_path / "d"), "--target-model-dir", str(tmp_path / "t"), "--outfile"]
    assert argv[5:] == ["--outtype", "auto"]
    assert (environ["HF_HUB_OFFLINE"], environ["HOME"]) == ("1", str(tmp_path))
    assert "HF_TOKEN" not in environ


def test_the_converters_own_words_are_quoted(tmp_path: Path) -> None:
    with pytest.raises(ConversionFailed) as refused:
        converted(tmp_path, "raise ValueError(\"unsupported markov_head_type 'gated'\")")
    assert "convert_hf_to_gguf.py, run on d, ends with code 1:" in refused.value.message
    assert "    ValueError: unsupported markov_head_type 'gated'" in refused.value.message


def test_a_killed_converter_and_a_full_disk_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ConversionFailed, match="was killed by signal 9"):
        converted(tmp_path, "os.kill(os.getpid(), 9)")
    with pytest.raises(DiskFull):
        converted(tmp_path, "raise OSError(28, 'No space left on device')")


def test_tensors_that_do_not_fit_are_said_by_kind_of_change(tmp_path: Path) -> None:
    quantizer = program(tmp_path / "llama-quantize", f"print({WARNINGS!r}, file=sys.stderr)")
    listener = Listener()
    assert programs.quantise(quantizer, tmp_path / "a", tmp_path / "b", "Q4_K_M", listener) == (
        f"2 tensor(s) became Q5_0, not Q4_K: {WHY} (fc.weight, markov_w1.weight)",
        f"1 tensor(s) became F16, not Q6_K: {WHY} (blk.0.attn_v.weight)",
    )
    assert listener.seen == [(1, 19, "conf_proj.bias")]


def test_a_refusal_to_quantise_is_quoted(tmp_path: Path) -> None:
    quantizer = program(tmp_path / "llama-quantize", "print('Missing importance matrix'); sys.exit(1)")
    with pytest.raises(ConversionFailed, match=r"llama-quantize to IQ1_S ends with code 1:\n    Missing importance"):
        programs.quantise(quantizer, tmp_path / "a", tmp_path / "b", "IQ1_S", Listener())


def test_types_are_asked_for_beforehand(tmp_path: Path) -> None:
    quantizer = program(tmp_path / "llama-quantize", f"print({HELP!r}); sys.exit(1)")
    programs.check_types(quantizer, ["Q4_0", "MXFP4_MOE"])
    with pytest.raises(UsageProblem, match="knows no type 'Q4_00', did you mean 'Q4_0'") as refused:
        programs.check_types(quantizer, ["Q4_00"])
    assert refused.value.hint == "one of Q1_0, Q4_0, MXFP4_MOE"
    silent = program(tmp_path / "silent", "")
    with pytest.raises(ConversionFailed, match="lists no types"):
        programs.check_types(silent, ["Q4_0"])


def test_growth_is_shown_up_to_what_was_expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "LOOK_S", 0.001)
    file, listener = tmp_path / "growing", Listener()
    with programs.shown_growing(file, 10, listener):
        file.write_bytes(b"x" * 25)
        assert listener.heard.wait(60)
    assert set(listener.seen) <= {(0, 10, ""), (10, 10, "")}
