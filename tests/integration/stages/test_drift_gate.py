"""Unacknowledged drift makes parity mandatory: without its PASS nothing is packed."""

from dataclasses import replace
from pathlib import Path

import pytest

from ci.config import Model, parse
from ci.errors import EXIT_FAIL, EXIT_UNPROVEN, SpeedforkError
from ci.outcome import GateResult, Verdict
from ci.pipeline import run_pipeline
from ci.records import find_record
from ci.release.document import read_manifest
from ci.release.manifest import DriftEntry
from ci.series.drift.drifting import find_drift
from ci.series.drift.pending import PENDING, load_pending, merge_pending, pending_toml
from ci.series.order import load_series
from ci.stage import Context, Outcome, Status
from ci.stages import package, release, values
from ci.stages.drift import drift_entries, unacknowledged
from ci.upstream.tags import BuildTag
from tests.helpers import releases
from tests.helpers.histories import Past
from tests.helpers.made_release import made_context

OPEN = parse(DriftEntry, releases.drift_entry("one"), source="test")
CLOSED = OPEN.model_copy(update={"acknowledged": True})
B101 = BuildTag(101)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Context:
    return made_context(tmp_path_factory.mktemp("made"))


def drifting(context: Context, verdict: Verdict | None, *entries: DriftEntry) -> Context:
    """The context with drift under its patch and with parity's verdict (None: the stage said nothing)."""
    rebased = context.value(values.Rebased).model_copy(update={"drift": entries})
    kept: list[Model] = [rebased if isinstance(value, values.Rebased) else value for value in context.values]
    gates = (GateResult(gate="real-greedy", verdict=verdict, reason="made"),) if verdict else ()
    outcome = Outcome(stage="parity", status=Status.KEPT, seconds=1.0, gates=gates)
    return replace(context, values=tuple(kept), outcomes=(outcome,))


@pytest.mark.parametrize(
    ("verdict", "code"), [(Verdict.UNPROVEN, EXIT_UNPROVEN), (None, EXIT_UNPROVEN), (Verdict.FAIL, EXIT_FAIL)]
)
def test_without_the_proof_nothing_is_packed(made: Context, verdict: Verdict | None, code: int) -> None:
    context = drifting(made, verdict, OPEN, CLOSED)
    with pytest.raises(SpeedforkError) as refusal:
        run_pipeline((package.STAGE,), context)
    assert refusal.value.exit_code == code
    assert refusal.value.message.count("mmq_args") == 1
    assert "one: struct mmq_args (ggml/src/ggml-cuda/mmq.cuh), between b11401 and b11434" in refusal.value.message
    assert "invoke pipeline --from parity" in refusal.value.hint
    assert "one: Drift-Ack: mmq_args b11434" in refusal.value.hint
    assert not list(made.home.out.rglob("*.tar.gz"))
    assert find_record(package.STAGE, context) is None


def test_with_the_proof_the_release_names_the_drift(made: Context) -> None:
    proved = drifting(made, Verdict.PASS, OPEN, CLOSED)
    context = run_pipeline((package.STAGE, release.STAGE), proved)
    manifest = read_manifest(context.value(values.Released).folder / "manifest.json")
    assert manifest.measured.drift == (OPEN, CLOSED)
    packed = manifest.measured.suite("package")
    assert packed is not None
    assert [gate.gate for gate in packed.gates] == [
        "drift",
        "archive-speed",
        "audit-speed",
        "archive-stock",
        "audit-stock",
    ]
    assert find_record(package.STAGE, proved) is not None
    assert find_record(package.STAGE, drifting(made, Verdict.UNPROVEN, OPEN, CLOSED)) is None


@pytest.mark.parametrize("entries", [(), (CLOSED,)])
def test_without_open_drift_parity_may_be_unproven(made: Context, entries: tuple[DriftEntry, ...]) -> None:
    context = run_pipeline((package.STAGE,), drifting(made, Verdict.UNPROVEN, *entries))
    assert [gate.gate for gate in context.outcomes[-1].gates] == [
        "archive-speed",
        "audit-speed",
        "archive-stock",
        "audit-stock",
    ]


@pytest.fixture
def past(tmp_path: Path) -> Past:
    """Two patches that both initialise a struct, to which b101 adds a field."""
    past = Past(tmp_path)
    past.build("b100", {"a.h": b"struct args { int a; };\n", "use.c": b"int x;\n"})
    past.patch("one", {"use.c": b"int x;\nstruct args y = {1};\n"})
    past.patch("two", {"other.c": b"struct args z = {2};\n"})
    past.build("b101", {"a.h": b"struct args { int a; int b; };\n", "use.c": b"int x;\n"})
    past.save(tmp_path / "patches")
    return past


def entries_of(past: Past, patches: Path, applied: tuple[str, ...] = ("one", "two")) -> list[tuple[str, bool]]:
    found = drift_entries(past.git, load_series(patches), B101, applied=applied, patches_dir=patches)
    return [(entry.patch, entry.acknowledged) for entry in found]


def test_every_patch_on_the_aim_is_asked(past: Past, tmp_path: Path) -> None:
    assert entries_of(past, tmp_path / "patches") == [("one", False), ("two", False)]
    assert entries_of(past, tmp_path / "patches", ("two",)) == [("two", False)]


def test_an_acknowledged_change_is_named_too(past: Past, tmp_path: Path) -> None:
    path = tmp_path / "patches" / "one.patch"
    path.write_bytes(path.read_bytes().replace(b"Retire-When:", b"Drift-Ack: args b101\nRetire-When:", 1))
    assert entries_of(past, tmp_path / "patches") == [("one", True), ("two", False)]


def test_what_the_queue_carries_counts_on_its_new_base(past: Past, tmp_path: Path) -> None:
    patches = tmp_path / "patches"
    series = load_series(patches)
    carried = merge_pending(load_pending(patches), find_drift(past.git, series, B101), series, B101)
    (patches / PENDING).write_bytes(pending_toml(carried))
    tree = past.git.tree_of("b101")
    (patches / "base.toml").write_text(f'tag = "b101"\ntree = "{tree}"\nrevision = 1\n')
    assert entries_of(past, patches) == [("one", False), ("two", False)]


def test_only_open_drift_is_unacknowledged(made: Context) -> None:
    assert unacknowledged(drifting(made, Verdict.PASS, OPEN, CLOSED)) == (OPEN,)
