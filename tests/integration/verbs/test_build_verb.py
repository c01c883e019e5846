"""`invoke build` for targets of a lane: what is wrong is said before anything long begins."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ci.process import Completed, run, scrubbed_env

ROOT = Path(__file__).parents[3]


def invoke(state: Path, environ: Mapping[str, str], *words: str) -> Completed:
    nowhere = {"SPEEDFORK_HOME": str(state), "DOCKER_HOST": f"unix://{state}/no.sock"}
    env = scrubbed_env(extra={**nowhere, **environ})
    return run((sys.executable, "-m", "invoke", *words), cwd=ROOT, env=env, ok_codes=range(256))


@pytest.mark.parametrize(
    ("words", "environ", "code", "expected"),
    [
        (("build", "--target", "sm57"), {}, 2, "unknown target 'sm57', did you mean 'sm75'?"),
        (("build", "--target", "sm75", "--lane", "cu99"), {}, 2, "no lane 'cu99'; its lanes: cu13, cu12"),
        (("build", "--target", "cpu", "--lane", "cu13"), {}, 2, "it needs no toolkit"),
        (("build", "--target", "sm75"), {"SPEEDFORK_DEADLINE_S": "soon"}, 2, "SPEEDFORK_DEADLINE_S='soon'"),
        (("build", "--target", "sm75"), {}, 6, "no Docker Engine answers at unix://"),
        (("build", "--target", "sm75"), {"DOCKER_HOST": "carrier-pigeon://x"}, 6, "answers at carrier-pigeon://x"),
    ],
)
def test_a_build_that_cannot_begin_says_why(
    tmp_path: Path, words: tuple[str, ...], environ: Mapping[str, str], code: int, expected: str
) -> None:
    done = invoke(tmp_path / "state", environ, *words)
    assert (done.code, expected in done.stderr.decode()) == (code, True), done
    assert "next:" in done.stderr.decode()
    assert not (tmp_path / "state" / "downloads").exists()
