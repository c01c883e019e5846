"""The gate over an archive's start on a bare system: a server that fails is FAIL, one that nobody saw is UNPROVEN."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from ci.builds.bare import Used
from ci.builds.engine import Image
from ci.builds.store import Build
from ci.console import Console
from ci.errors import ArchiveProblem, BuildLate, EngineProblem, SpeedforkError
from ci.home import Home
from ci.outcome import GateResult, Verdict
from ci.stage import Context, Options
from ci.stages import audit
from tests.helpers.fake_engine import FakeEngine, image_id
from tests.helpers.made_build import made_build

PAIR = SimpleNamespace(target=Path("model.gguf"), law=SimpleNamespace(first=3))
ENGINE = FakeEngine(
    {audit.BARE: Image(id=image_id(1), labels={}, size=1)}, answer=lambda _: pytest.fail("nothing runs here")
)


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    monkeypatch.setattr(audit, "ensure_pair", lambda *_: PAIR)
    return made_build(tmp_path)


def judged(build: Build, monkeypatch: pytest.MonkeyPatch, ended: Used | SpeedforkError) -> GateResult:
    def use(*_: object, **__: object) -> Used:
        if isinstance(ended, SpeedforkError):
            raise ended
        return ended

    monkeypatch.setattr(audit, "use_archive", use)
    home = Home(root=build.path.parents[1], checkout=build.path.parents[1])
    context = Context(home=home, console=Console(), options=Options(target="sm75"))
    return audit.bare_start(context, ENGINE, Path("a.tar.gz"), build)


def test_a_server_that_answers_passes(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = judged(build, monkeypatch, Used(version="version: 7 (b7-speed.1)", tokens=tuple(range(audit.TOKENS))))
    assert (gate.gate, gate.verdict) == ("bare-speed", Verdict.PASS)
    assert gate.evidence["n_compared"] == gate.evidence["n_expected"] == audit.TOKENS


@pytest.mark.parametrize("count", [0, audit.TOKENS - 1, audit.TOKENS + 1])
def test_another_number_of_tokens_fails(build: Build, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    gate = judged(build, monkeypatch, Used(version="version: 7 (b7-speed.1)", tokens=(1,) * count))
    assert (gate.verdict, gate.evidence["n_compared"]) == (Verdict.FAIL, count)


@pytest.mark.parametrize(
    ("problem", "verdict"),
    [
        (ArchiveProblem("on a bare system the server completes nothing"), Verdict.FAIL),
        (EngineProblem("making a container failed"), Verdict.UNPROVEN),
        (BuildLate("not over after 180 s"), Verdict.UNPROVEN),
    ],
)
def test_the_archives_fault_fails_and_the_engines_proves_nothing(
    build: Build, monkeypatch: pytest.MonkeyPatch, problem: SpeedforkError, verdict: Verdict
) -> None:
    gate = judged(build, monkeypatch, problem)
    assert (gate.verdict, gate.reason) == (verdict, problem.message)
