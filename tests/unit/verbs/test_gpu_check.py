import json
from pathlib import Path

import pytest

from ci.builds.arch import plan_archs
from ci.builds.store import Build, Variant
from ci.builds.target import Target, find_target
from ci.console import Console
from ci.errors import CarryProblem, DigestMismatch, UsageProblem
from ci.files import read_json
from ci.home import Home
from ci.verbs.gpu_check import (
    Request,
    Steps,
    carried_libraries,
    chosen,
    collect,
    facts_of,
    gpu_check,
    prepare_folder,
    run_here,
)
from tests.helpers.made_build import FILES, made_build, made_key
from tests.helpers.prepared import write_answer, write_prepared

AIM = Target(name="cpu", platform="x64", programs=("llama-server",), options=(), archs=plan_archs("90-real"))
CHECKOUT = Path(__file__).parents[3]
LABELS: dict[Variant, str] = {"stock": "b7", "speed": "b7-speed.1"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", checkout=tmp_path)


def built(home: Home, variant: Variant, *, tree: str = "ab" * 20, mark: bytes = b"") -> Build:
    key = made_key(variant=variant, label=LABELS[variant], tree=tree)
    return made_build(home.root, key, {**FILES, "llama-server": b"\x7fELF" + variant.encode() + mark})


@pytest.fixture
def both(home: Home) -> tuple[Build, Build]:
    return built(home, "stock"), built(home, "speed")


def test_the_only_builds_of_the_target_are_taken(home: Home, both: tuple[Build, Build]) -> None:
    assert chosen(home, AIM, Request()) == both


def test_named_builds_are_taken(home: Home, both: tuple[Build, Build]) -> None:
    named = Request(stock=str(both[0].path), speed=str(both[1].path))
    assert chosen(Home(root=home.root / "no", checkout=home.checkout), AIM, named) == both


@pytest.mark.parametrize("named", [{"stock": "x"}, {"speed": "x"}])
def test_one_side_alone_is_refused(home: Home, named: dict[str, str]) -> None:
    with pytest.raises(UsageProblem, match="give both"):
        chosen(home, AIM, Request(**named))


def test_builds_of_another_target_are_refused(home: Home, both: tuple[Build, Build]) -> None:
    named = Request(stock=str(both[0].path), speed=str(both[1].path))
    with pytest.raises(UsageProblem, match="stock build of cpu, expected stock of sm90-cu13") as refused:
        chosen(home, find_target("sm90"), named)
    assert refused.value.hint == "invoke build --target sm90 --lane cu13"


def test_swapped_sides_are_refused(home: Home, both: tuple[Build, Build]) -> None:
    named = Request(stock=str(both[1].path), speed=str(both[0].path))
    with pytest.raises(UsageProblem, match="speed build of cpu, expected stock of cpu"):
        chosen(home, AIM, named)


def test_a_target_without_device_code_is_refused(home: Home, both: tuple[Build, Build]) -> None:
    with pytest.raises(UsageProblem, match="target cpu carries no code for a card"):
        chosen(home, find_target("cpu"), Request())


def test_an_empty_store_says_what_to_build(home: Home) -> None:
    with pytest.raises(UsageProblem, match="0 stock builds of sm90-cu13") as refused:
        chosen(home, find_target("sm90"), Request())
    assert refused.value.hint == "invoke build --target sm90 --lane cu13"


def test_several_builds_are_listed(home: Home, both: tuple[Build, Build]) -> None:
    more = built(home, "speed", tree="cd" * 20)
    with pytest.raises(UsageProblem, match="2 speed builds") as refused:
        chosen(home, AIM, Request())
    assert str(more.path) in refused.value.message


def test_a_changed_file_is_refused(home: Home, both: tuple[Build, Build]) -> None:
    (both[0].path / "llama-server").write_bytes(b"other")
    with pytest.raises(DigestMismatch, match="llama-server"):
        chosen(home, AIM, Request())


def test_a_build_without_the_operator_tests_is_refused(home: Home, both: tuple[Build, Build]) -> None:
    aim = Target(name="cpu", platform="x64", programs=("test-backend-ops",), options=(), archs=AIM.archs)
    with pytest.raises(UsageProblem, match="without test-backend-ops"):
        chosen(home, aim, Request())


def test_builds_that_were_not_made_alike_are_refused(home: Home, both: tuple[Build, Build]) -> None:
    document = json.loads((both[0].path / "build.json").read_text())
    (both[0].path / "build.json").write_text(json.dumps({**document, "compiler": "another"}))
    with pytest.raises(UsageProblem, match="were not built alike"):
        chosen(home, AIM, Request())


def test_what_the_other_machine_must_know(both: tuple[Build, Build]) -> None:
    facts = facts_of(Home(root=CHECKOUT, checkout=CHECKOUT), find_target("sm90"), *both, "3.12.3")
    assert (facts["target"], facts["sass"], facts["ptx"]) == ("sm90-cu13", ["sm_90"], [])
    assert (facts["minimum_driver"], facts["python"]) == ("580", "3.12")
    assert {"libcuda.so.1", "libcublas.so.13"} <= set(facts["libraries"])
    assert facts["stock"] == {"label": "b7", "digest": both[0].digest}


def test_small_libraries_are_carried_and_large_ones_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ci.verbs.gpu_check.LARGEST_CARRIED", 10)
    for name, size in (("libcudart.so.13", 10), ("libcublas.so.13", 11), ("libother.so", 1)):
        (tmp_path / name).write_bytes(b"x" * size)
    aim = find_target("sm90")
    assert [path.name for path in carried_libraries(aim, str(tmp_path))] == ["libcudart.so.13"]
    assert carried_libraries(aim, "") == ()
    (tmp_path / "libcudart.so.13").unlink()
    (tmp_path / "libcublas.so.13").unlink()
    with pytest.raises(UsageProblem, match=r"none of libcudart\.so\.13"):
        carried_libraries(aim, str(tmp_path))


def test_nothing_prepared_cannot_be_run(home: Home) -> None:
    with pytest.raises(UsageProblem, match=r"no gpu_check\.py"):
        run_here(home, Console(), "")


def test_refused_builds_leave_no_folder(home: Home, both: tuple[Build, Build]) -> None:
    with pytest.raises(UsageProblem):
        prepare_folder(home, Console(), Request(target="sm90"))
    assert not home.out.exists()


# ---- home again --------------------------------------------------------------------------------------------------


def test_an_answer_is_judged_and_kept(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepared = write_prepared(home.out / "gpu-check")
    results = write_answer(tmp_path / "results", prepared)
    assert collect(home, Console(), str(results), "") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "gpu_check=PASS 9 gates"
    kept = read_json(home.records / "evidence" / f"gpu-check-{'a' * 12}-{'b' * 12}.json")
    assert len(kept["gates"]) == 9
    assert kept["machine"]["card"] == "NVIDIA H200"


def test_an_answer_that_lacks_gates_is_unproven(home: Home, tmp_path: Path) -> None:
    prepared = write_prepared(home.out / "gpu-check")
    assert collect(home, Console(), str(write_answer(tmp_path / "results", prepared, gates=[])), "") == 5


def test_a_forged_answer_is_refused_and_not_kept(home: Home, tmp_path: Path) -> None:
    prepared = write_prepared(home.out / "gpu-check")
    results = write_answer(tmp_path / "results", prepared, prepared="0" * 64)
    with pytest.raises(CarryProblem, match="no answer to"):
        collect(home, Console(), str(results), "")
    assert not home.records.exists()


# ---- parts -------------------------------------------------------------------------------------------------------


def test_several_parts_at_once_are_refused(home: Home) -> None:
    with pytest.raises(UsageProblem, match="give one of"):
        gpu_check(home, Console(), Request(), Steps(prepare=True, run="x"))


def test_each_part_does_its_own(home: Home, tmp_path: Path) -> None:
    prepared = write_prepared(tmp_path / "prepared")
    results = write_answer(tmp_path / "results", prepared)
    assert gpu_check(home, Console(), Request(out=str(prepared)), Steps(collect=str(results))) == 0
    with pytest.raises(UsageProblem, match=r"no gpu_check\.py"):
        gpu_check(home, Console(), Request(), Steps(run=str(prepared)))
    for steps in (Steps(prepare=True), Steps()):
        with pytest.raises(UsageProblem, match="0 stock builds"):
            gpu_check(home, Console(), Request(), steps)


def test_collecting_against_a_folder_that_nobody_prepared_names_the_option(tmp_path: Path) -> None:
    home = Home(root=tmp_path / "home", checkout=tmp_path)
    with pytest.raises(CarryProblem) as caught:
        collect(home, Console(), "results", "")
    assert "invoke gpu-check --collect results --out FOLDER" in caught.value.hint
