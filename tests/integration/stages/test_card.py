"""The check itself, on builds and a card that a test invents: what each fault leaves, and that none passes."""

import shutil
import time
from pathlib import Path

import pytest

from ci.builds.store import Variant
from ci.console import Console
from ci.files import read_json, write_json
from ci.gpu import probe
from ci.gpu.manifest import RESULT_FILE, Prepared
from ci.gpu.timing import ends_by
from ci.llama.spec import Device
from ci.outcome import GateResult, Verdict, combine
from ci.stages import card
from ci.stages.card import Check
from tests.helpers.fake_card import LISTED, NO_SUCH_DEVICE, card_build
from tests.helpers.fake_smi import H200, fake_smi
from tests.helpers.prepared import CHECK, suite_evidence

LIBRARIES = ["libcudart.so.13", "libcuda.so.1"]
VARIANTS: tuple[Variant, ...] = ("stock", "speed")


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One H200 with its libraries; a model; suites that pass."""
    monkeypatch.setenv("PATH", fake_smi(tmp_path / "bin"))
    monkeypatch.setattr(probe, "SMI_FOLDERS", ())
    monkeypatch.setattr(probe, "PLACES", (str(tmp_path / "system"),))
    (tmp_path / "system").mkdir()
    for name in LIBRARIES:
        (tmp_path / "system" / name).touch()
    (tmp_path / "model.gguf").touch()
    monkeypatch.setattr(card, "ensure_model", lambda home, name: tmp_path / "model.gguf")
    monkeypatch.setattr(card, "run_suite", passing_suite)
    return tmp_path


def passing_suite(suite: object, **given: object) -> None:
    """What a suite leaves."""
    name, evidence = str(getattr(suite, "name", "")), Path(str(given["evidence"]))
    sides = {side: read_json(Path(str(given[side])) / "build.json") for side in ("stock", "speed")}
    refs = {side: {"label": one["label"], "digest": one["digest"]} for side, one in sides.items()}
    write_json(evidence, {**suite_evidence(name), **refs})
    log = Path(str(getattr(given["home"], "work", ""))) / "logs" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("passed")


def check(root: Path, *, spent_s: float = 0.0, archs: str = "sm_90", **build: str) -> Check:
    """A check that is about to begin.

    Args:
        root: for all files.
        spent_s: seconds that have gone already.
        archs: what machine code the builds are said to carry.
        build: how their programs behave.
    """
    work, sides = root / "work", {}
    for variant in VARIANTS:
        made = card_build(root, variant, **build)
        shutil.copytree(made.path, work / variant)
        sides[variant] = {"label": made.label, "digest": made.digest}
    return Check(
        Prepared.model_validate({**CHECK, "libraries": LIBRARIES, "sass": [archs], **sides}),
        "e" * 64,
        work=work,
        results=root / "results",
        site=root / "site",
        started=time.time() - spent_s,
        console=Console(),
    )


def gates_of(run: Check) -> dict[str, GateResult]:
    return {gate.gate: gate for gate in run.run()}


def unproven(gates: dict[str, GateResult]) -> GateResult:
    """The first gate that is no PASS; every one after it is no PASS either, and nothing has failed."""
    assert combine(gate.verdict for gate in gates.values()) is Verdict.UNPROVEN
    return next(gate for gate in gates.values() if gate.verdict is not Verdict.PASS)


def test_everything_passes_on_the_card_that_the_builds_are_for(tmp_path: Path) -> None:
    gates = gates_of(check(tmp_path))
    assert {gate.verdict for gate in gates.values()} == {Verdict.PASS}
    assert len(gates) == 5 + 2 + 2
    assert gates["operator-mul-mat"].evidence["n_ran"] == 7
    answer = read_json(tmp_path / "results" / RESULT_FILE)
    assert answer["machine"]["driver"] == "580.159.03"
    assert set(answer["evidence"]) == {"parity-quick.json", "throughput-quick.json"}
    assert set(answer["seconds"]) == {"unpack", "builds", "card", "operators", "parity", "throughput"}


@pytest.mark.parametrize(
    ("cards", "words"),
    [
        ("NVIDIA GeForce RTX 2080 Ti, 7.5, 580.95.05, 11264 MiB", "no machine code for compute capability 7.5"),
        ("NVIDIA H200, 9.0, 535.183.01, 143771 MiB", "older than 580"),
        (f"{H200}\n{H200}", "2 cards"),
        ("", "no card"),
    ],
)
def test_another_card_or_driver(tmp_path: Path, cards: str, words: str) -> None:
    fake_smi(tmp_path / "bin", cards)
    gate = unproven(gates_of(check(tmp_path)))
    assert gate.gate == "card"
    assert words in gate.reason


def test_a_driver_that_does_not_answer(tmp_path: Path) -> None:
    fake_smi(tmp_path / "bin", "NVIDIA-SMI has failed", code=9)
    assert unproven(gates_of(check(tmp_path))).gate == "card"


def test_a_build_for_another_card(tmp_path: Path) -> None:
    assert unproven(gates_of(check(tmp_path, archs="sm_120a"))).gate == "card"


def test_a_machine_without_the_toolkit_names_what_is_missing_and_where_it_looked(tmp_path: Path) -> None:
    (tmp_path / "system" / "libcudart.so.13").unlink()
    gate = unproven(gates_of(check(tmp_path)))
    assert gate.gate == "libraries"
    assert "libcudart.so.13" in gate.reason
    assert str(tmp_path / "system") in gate.reason


@pytest.mark.parametrize(
    "listed", ["  (none)", "  CUDA0: Another Card (8192 MiB, 8000 MiB free)", f"{LISTED}\n{LISTED[:6]}1{LISTED[7:]}"]
)
def test_programs_that_do_not_see_the_card_that_nvidia_smi_tells_of(tmp_path: Path, listed: str) -> None:
    assert unproven(gates_of(check(tmp_path, listed=listed))).gate == "device"


@pytest.mark.parametrize(
    "told",
    [
        "load_tensors: offloaded 0/31 layers to GPU",
        "load_tensors: offloaded 30/31 layers to GPU",
        "warning: no usable GPU found, --gpu-layers option will be ignored",
        "the server says nothing of layers",
    ],
)
def test_servers_whose_layers_are_not_all_on_the_card(tmp_path: Path, told: str) -> None:
    assert unproven(gates_of(check(tmp_path, told=told))).gate == "layers"


def test_builds_that_were_exchanged_on_the_way(tmp_path: Path) -> None:
    run = check(tmp_path)
    (run.work / "speed").rename(run.work / "other")
    shutil.copytree(run.work / "stock", run.work / "speed")
    gate = unproven(gates_of(run))
    assert gate.gate == "builds"
    assert "is not the build that was prepared" in gate.reason


def test_a_build_that_was_damaged_on_the_way(tmp_path: Path) -> None:
    run = check(tmp_path)
    (run.work / "stock" / "LICENSE").write_text("mine")
    assert unproven(gates_of(run)).gate == "builds"


@pytest.mark.parametrize("operators", [NO_SUCH_DEVICE, "Backend 1/2: CUDA0\n  0/0 tests passed\nOK\n", ""])
def test_operators_of_which_no_case_ran(tmp_path: Path, operators: str) -> None:
    gate = unproven(gates_of(check(tmp_path, operators=operators)))
    assert gate.gate == "operator-get-rows"
    assert gate.reason.startswith("0 of 0 cases")


def test_operators_that_disagree_fail(tmp_path: Path) -> None:
    wrong = "Backend 1/2: CUDA0\n  MUL_MAT(x): FAIL\n  6/7 tests passed\n  Backend CUDA0: FAIL\n"
    gates = gates_of(check(tmp_path, operators=wrong))
    assert combine(gate.verdict for gate in gates.values()) is Verdict.FAIL
    assert gates["parity-gate"].verdict is Verdict.PASS  # what comes later is measured all the same


def test_a_step_whose_time_has_gone_is_unproven_and_the_earlier_ones_stay(tmp_path: Path) -> None:
    gates = gates_of(check(tmp_path, spent_s=ends_by("operators") + 1))
    assert gates["layers"].verdict is Verdict.PASS
    assert unproven(gates).gate == "operator-get-rows"


def test_a_run_that_is_killed_leaves_the_steps_that_had_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(suite: object, **given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(card, "run_suite", killed)
    with pytest.raises(KeyboardInterrupt):
        check(tmp_path).run()
    kept = read_json(tmp_path / "results" / RESULT_FILE)["gates"]
    assert [gate["gate"] for gate in kept][-2:] == ["operator-get-rows", "operator-mul-mat"]


def test_a_suite_that_leaves_nothing_is_unproven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(suite: object, **given: object) -> None:
        passing_suite(suite, **given)
        Path(str(given["evidence"])).unlink()

    monkeypatch.setattr(card, "run_suite", silent)
    assert unproven(gates_of(check(tmp_path))).gate == "parity-evidence"


def test_suites_are_told_of_the_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    devices = []

    def noting(suite: object, **given: object) -> None:
        devices.append(given["device"])
        passing_suite(suite, **given)

    monkeypatch.setattr(card, "run_suite", noting)
    gates_of(check(tmp_path))
    assert devices == [Device(layers=999, libraries=(tmp_path / "system",))] * 2
