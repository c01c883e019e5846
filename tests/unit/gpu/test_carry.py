import json
import os
import platform
import sys
from pathlib import Path

import pytest

from ci.errors import CarryProblem
from ci.files import read_json, sha256_file, write_json
from ci.gpu import carry
from ci.gpu.bootstrap import borrowed, unpack
from ci.gpu.carry import checkout_files, prepare, read_answer, read_prepared
from ci.gpu.manifest import CHECK_FILE, RESULT_FILE, SCRIPT, Prepared
from ci.outcome import JsonValue
from ci.process import run, scrubbed_env
from tests.helpers.prepared import CHECK, STOCK, suite_evidence, write_answer, write_prepared

FACTS = {name: value for name, value in CHECK.items() if name not in ("format", "nonce", "parts", "files")}
PYTHON = ".".join(platform.python_version_tuple()[:2])


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Three files, two of the same bytes, one of them a program."""
    contents = {"stock/a": b"same" * 900, "speed/a": b"same" * 900, "speed/b": os.urandom(3000)}
    for name, content in contents.items():
        path = tmp_path / "origin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "origin" / "speed" / "b").chmod(0o755)
    return {name: tmp_path / "origin" / name for name in contents}


@pytest.fixture
def folder(tmp_path: Path, files: dict[str, Path]) -> Path:
    prepare(files, tmp_path / "out", {**FACTS, "python": PYTHON}, part_bytes=1000)
    return tmp_path / "out"


def unpacked(folder: Path, work: Path) -> Path:
    work.mkdir()
    unpack(folder, json.loads((folder / CHECK_FILE).read_text()), work)
    return work


# ---- there and back ----------------------------------------------------------------------------------------------


def test_what_is_packed_is_unpacked_with_its_modes(tmp_path: Path, folder: Path, files: dict[str, Path]) -> None:
    work = unpacked(folder, tmp_path / "work")
    assert {name: (work / name).read_bytes() for name in files} == {n: p.read_bytes() for n, p in files.items()}
    assert (work / "speed/b").stat().st_mode & 0o111
    assert not (work / "speed/a").stat().st_mode & 0o111


def test_parts_are_of_the_size_that_was_asked_for_and_equal_bytes_travel_once(folder: Path) -> None:
    parts = read_prepared(folder).parts
    assert [part.size for part in parts[:-1]] == [1000] * (len(parts) - 1)
    assert 3 <= len(parts) <= 5
    assert {path.name for path in folder.iterdir()} == {CHECK_FILE, SCRIPT, *(part.name for part in parts)}


def test_each_preparation_is_one_of_its_own(tmp_path: Path, folder: Path, files: dict[str, Path]) -> None:
    first = read_prepared(folder)
    again = prepare(files, folder, {**FACTS, "python": PYTHON}, part_bytes=1000)
    assert (again.parts, again.files) == (first.parts, first.files)
    assert again.nonce != first.nonce


def test_a_file_that_changes_while_it_is_packed_is_refused(
    tmp_path: Path, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carry, "sha256_file", lambda path: "0" * 64)
    with pytest.raises(CarryProblem, match="changed while it was packed"):
        prepare(files, tmp_path / "out", FACTS)
    assert not (tmp_path / "out").exists()


def test_our_code_travels_with_its_suites_and_nothing_else(tmp_path: Path) -> None:
    for name in ("ci/a.py", "ci/config/x.toml", "tests/suites/t.py", "tests/unit/u.py", "pyproject.toml", "out/o.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert set(checkout_files(tmp_path)) == {
        f"checkout/{name}" for name in ("ci/a.py", "ci/config/x.toml", "tests/suites/t.py", "pyproject.toml")
    }


# ---- the carried script refuses ----------------------------------------------------------------------------------


def script(folder: Path, *options: str) -> tuple[int, str]:
    argv: tuple[str | Path, ...] = (sys.executable, folder / SCRIPT, "--work", folder / "work", *options)
    done = run(argv, env=scrubbed_env(), ok_codes=tuple(range(256)))
    return done.code, done.text.splitlines()[-1]


def rewrite(folder: Path, **changes: JsonValue) -> None:
    write_json(folder / CHECK_FILE, {**read_json(folder / CHECK_FILE), **changes})


def test_a_missing_part(folder: Path) -> None:
    (folder / "part-02").unlink()
    code, last = script(folder)
    assert code == 5
    assert last.startswith("gpu_check=UNPROVEN unpack: ")
    assert "part-02: missing" in last


def test_a_changed_part(folder: Path) -> None:
    data = bytearray((folder / "part-01").read_bytes())
    data[500] ^= 1
    (folder / "part-01").write_bytes(data)
    assert script(folder) == (5, f"gpu_check=UNPROVEN unpack: {folder}/part-01: not the file that was prepared")


def test_another_python(folder: Path) -> None:
    rewrite(folder, python="2.7")
    assert script(folder) == (5, f"gpu_check=UNPROVEN unpack: this is Python {PYTHON}, packages were carried for 2.7")


def test_a_list_that_names_a_file_which_was_not_packed(folder: Path) -> None:
    rewrite(folder, files={"stock/a": {"sha256": "0" * 64, "executable": False}})
    assert script(folder)[1] == "gpu_check=UNPROVEN unpack: stock/a: not among what was packed"


def test_a_list_that_leads_out_of_the_folder(folder: Path) -> None:
    listed = read_json(folder / CHECK_FILE)["files"]
    rewrite(folder, files={"../../escaped": listed["stock/a"]})
    assert script(folder)[1] == "gpu_check=UNPROVEN unpack: ../../escaped: not among what was packed"
    assert not (folder.parent / "escaped").exists()


def test_a_folder_of_an_earlier_run_is_not_used_again(folder: Path) -> None:
    (folder / "work").mkdir()
    assert script(folder)[0] == 5


def test_no_list(folder: Path) -> None:
    (folder / CHECK_FILE).unlink()
    assert script(folder)[0] == 5


def test_the_packages_that_are_borrowed_come_with_their_libraries() -> None:
    assert {"numpy", "numpy.libs"} <= {path.name for path in borrowed("numpy")}


# ---- what comes home ---------------------------------------------------------------------------------------------


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    return write_prepared(tmp_path / "prepared")


def test_an_answer_is_read_with_every_gate(tmp_path: Path, prepared: Path) -> None:
    answer, gates = read_answer(write_answer(tmp_path / "results", prepared), prepared)
    assert answer.machine.card == "NVIDIA H200"
    assert {one.verdict.value for one in gates} == {"PASS"}
    assert len(gates) == 5 + 2 + 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"prepared": "1" * 64}, "it answers check.json"),
        ({"speed": STOCK}, "speed: it ran b7"),
        ({"verdict": "PASS"}, "verdict"),
        ({"evidence": {"parity-quick.json": "1" * 64}}, "parity-quick.json: sha256"),
        ({"evidence": {"parity-full.json": "1" * 64}}, "parity-full.json: sha256 missing"),
        ({"evidence": {"../parity-quick.json": "1" * 64}}, "1 fault"),
        ({"gates": [{"gate": "card", "verdict": "GOOD", "reason": "", "evidence": {}}]}, "GOOD"),
        ({"machine": {"fingerprint": {}, "capability": "nine"}}, "nine"),
    ],
)
def test_forged_and_foreign_answers_are_refused(
    tmp_path: Path, prepared: Path, changes: dict[str, JsonValue], words: str
) -> None:
    results = write_answer(tmp_path / "results", prepared, **changes)
    with pytest.raises(CarryProblem, match=words):
        read_answer(results, prepared)


def test_an_answer_to_an_earlier_preparation_is_refused(tmp_path: Path, prepared: Path) -> None:
    results = write_answer(tmp_path / "results", prepared)
    rewrite(prepared, nonce="1" * 32)
    with pytest.raises(CarryProblem, match=r"it answers check\.json"):
        read_answer(results, prepared)


def test_evidence_of_other_builds_is_refused_though_its_digest_is_right(tmp_path: Path, prepared: Path) -> None:
    results = write_answer(tmp_path / "results", prepared)
    name = "parity-quick.json"
    write_json(results / name, {**suite_evidence("parity"), "stock": None})
    document = read_json(results / RESULT_FILE)
    digests = {**document["evidence"], name: sha256_file(results / name)}
    write_json(results / RESULT_FILE, {**document, "evidence": digests})
    with pytest.raises(CarryProblem, match="stock: it ran nothing"):
        read_answer(results, prepared)


def test_no_answer(tmp_path: Path, prepared: Path) -> None:
    with pytest.raises(CarryProblem, match=RESULT_FILE):
        read_answer(tmp_path, prepared)


def test_a_prepared_folder_is_read_strictly(prepared: Path) -> None:
    assert read_prepared(prepared) == Prepared.model_validate(CHECK)
    rewrite(prepared, sass="sm_90")
    with pytest.raises(CarryProblem, match="sass"):
        read_prepared(prepared)
