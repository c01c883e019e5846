import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ci.config import Model
from ci.console import Console
from ci.errors import UsageProblem
from ci.home import Home
from ci.outcome import GateResult, Verdict
from ci.pipeline import Asked, preview, run_pipeline
from ci.stage import Context, Options, Outcome, Stage, StageResult, Status


class One(Model):
    text: str


class Two(Model):
    length: int


class Bench:
    """Two tiny stages over one file, and a count of how often each ran."""

    def __init__(self, root: Path) -> None:
        self.source = root / "source"
        self.product = root / "product"
        self.source.write_text("abc")
        self.ran: list[str] = []
        self.heard: list[Outcome] = []
        self.verdict = Verdict.PASS
        self.context = Context(home=Home(root=root / "state", checkout=root), console=Console(), options=Options())

    def first(self, context: Context) -> StageResult:
        self.ran.append("first")
        self.product.write_text(self.source.read_text().upper())
        return StageResult(value=One(text=self.product.read_text()), made=(self.product,))

    def second(self, context: Context) -> StageResult:
        self.ran.append("second")
        gate = GateResult(gate="g", verdict=self.verdict, reason="r")
        return StageResult(value=Two(length=len(context.value(One).text)), gates=(gate,))

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (
            Stage(
                name="first",
                about="upper",
                value=One,
                plan=lambda _: {"text": self.source.read_text()},
                run=self.first,
            ),
            Stage(
                name="second",
                about="count",
                value=Two,
                plan=lambda context: {"text": context.value(One).text},
                run=self.second,
            ),
        )

    def go(self, **asked: str) -> Context:
        self.ran.clear()
        self.heard.clear()
        return run_pipeline(self.stages, self.context, Asked(**asked), on_outcome=self.heard.append)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_values_flow_and_a_second_run_does_nothing(bench: Bench) -> None:
    assert bench.go().value(Two).length == 3
    assert bench.ran == ["first", "second"]
    again = bench.go()
    assert bench.ran == []
    assert again.value(Two).length == 3
    assert [outcome.status for outcome in again.outcomes] == [Status.KEPT, Status.KEPT]


def test_changed_inputs_run_again_from_there(bench: Bench) -> None:
    bench.go()
    bench.source.write_text("abcd")
    assert bench.go().value(Two).length == 4
    assert bench.ran == ["first", "second"]


def damage_product(bench: Bench) -> None:
    bench.product.write_text("tampered")


def lose_product(bench: Bench) -> None:
    bench.product.unlink()


def truncate_record(bench: Bench) -> None:
    (path,) = bench.context.home.records.glob("first-*")
    path.write_text(path.read_text()[:40])


def forge_value(bench: Bench) -> None:
    (path,) = bench.context.home.records.glob("first-*")
    path.write_text(path.read_text().replace('"text": "ABC"', '"txet": "ABC"'))


def edit_record(bench: Bench, old: str, new: str) -> None:
    (path,) = bench.context.home.records.glob("first-*")
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def forge_status(bench: Bench) -> None:
    edit_record(bench, '"status": "done"', '"status": "error"')


def forge_verdict(bench: Bench) -> None:
    edit_record(bench, '"verdict": null', '"verdict": "PASS"')


def nest_deeply(bench: Bench) -> None:
    (path,) = bench.context.home.records.glob("first-*")
    path.write_text("[" * 200_000)


@pytest.mark.parametrize(
    "spoil",
    [damage_product, lose_product, truncate_record, forge_value, forge_status, forge_verdict, nest_deeply],
)
def test_a_record_counts_only_while_it_and_its_files_are_whole(bench: Bench, spoil: Callable[[Bench], None]) -> None:
    bench.go()
    spoil(bench)
    bench.go()
    assert bench.ran == ["first"]
    assert bench.product.read_text() == "ABC"


def test_a_failed_stage_keeps_the_records_before_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(context: Context) -> StageResult:
        raise UsageProblem("broken")

    with monkeypatch.context() as patch:
        patch.setattr(bench, "second", explode)
        with pytest.raises(UsageProblem):
            bench.go()
    ended = [(outcome.stage, outcome.status, outcome.reason) for outcome in bench.heard]
    assert ended == [("first", Status.DONE, ""), ("second", Status.ERROR, "broken")]
    bench.go()
    assert bench.ran == ["second"]


@pytest.mark.parametrize(("verdict", "again"), [(Verdict.FAIL, []), (Verdict.UNPROVEN, ["second"])])
def test_a_fail_stands_and_an_unproven_is_tried_again(bench: Bench, verdict: Verdict, again: list[str]) -> None:
    bench.verdict = verdict
    bench.go()
    assert bench.go().outcomes[-1].verdict is verdict
    assert bench.ran == again


def test_from_redoes_a_stage_and_all_after_it(bench: Bench) -> None:
    bench.go()
    bench.go(redo_from="second")
    assert bench.ran == ["second"]
    bench.go(redo_from="first")
    assert bench.ran == ["first", "second"]


def test_only_runs_one_stage_and_needs_the_ones_before(bench: Bench) -> None:
    with pytest.raises(UsageProblem, match="'second' needs 'first'"):
        bench.go(only="second")
    bench.go(only="first")
    assert bench.ran == ["first"]
    bench.go(only="second")
    assert bench.ran == ["second"]


def test_unknown_stages_are_named_with_the_known_ones(bench: Bench) -> None:
    with pytest.raises(UsageProblem, match="stages are: first, second"):
        bench.go(redo_from="third")


def would(bench: Bench, **asked: str) -> list[tuple[str, str, str]]:
    return list(preview(bench.stages, bench.context, Asked(**asked)))


def test_preview_says_what_would_run_and_why_without_running(bench: Bench) -> None:
    fresh = [("first", "run", "no record for these inputs"), ("second", "run", "after first")]
    assert would(bench) == fresh
    bench.go()
    bench.ran.clear()
    assert would(bench) == [("first", "keep", ""), ("second", "keep", "")]
    assert would(bench, redo_from="second") == [("first", "keep", ""), ("second", "run", "asked for")]
    assert would(bench, only="first") == [("first", "run", "asked for")]
    bench.source.write_text("x")
    assert would(bench) == fresh
    assert bench.ran == []


def test_preview_refuses_what_the_run_would_refuse(bench: Bench) -> None:
    with pytest.raises(UsageProblem, match="'second' needs 'first'"):
        would(bench, only="second")
    with pytest.raises(UsageProblem, match="exclude each other"):
        would(bench, only="second", redo_from="first")


def test_a_copied_state_does_not_lead_back_to_where_it_came_from(bench: Bench, tmp_path: Path) -> None:
    bench.go()
    copied = tmp_path / "copy"
    shutil.copytree(bench.context.home.root, copied)
    bench.context = replace(bench.context, home=Home(root=copied, checkout=tmp_path))
    bench.go()
    assert bench.ran == ["first", "second"]
