"""The verb on archives without programs: exit codes, table, document."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from ci.builds.audit.rules import describe, judge
from ci.builds.audit.values import AuditReport, Bundle
from ci.console import Console
from ci.errors import NotAnArchive, UsageProblem
from ci.home import Home
from ci.outcome import Verdict
from ci.verbs import audit as verb
from tests.helpers.archives import Member, tar_bytes
from tests.helpers.bundles import sound, strange, with_elf
from tests.helpers.made_build import made_build


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", checkout=tmp_path / "checkout")


def archive(folder: Path, name: str = "x.tar.gz") -> str:
    path = folder / name
    path.write_bytes(gzip.compress(tar_bytes([Member(name=b"top/LICENSE", data=b"MIT")])))
    return str(path)


def report(bundle: Bundle) -> AuditReport:
    return AuditReport(
        archive="x.tar.gz", sha256="ab" * 32, size=9, subject="x", findings=judge(bundle), files=describe(bundle)
    )


def test_an_archive_without_programs_fails(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verb.audit(home, Console(json_output=True), [archive(tmp_path)]) == 4
    said = capsys.readouterr()
    (document,) = json.loads(said.out)["audits"]
    assert document["verdict"] == "FAIL"
    assert "no program and no library" in said.err
    assert "audit=FAIL" in said.err
    assert list((tmp_path / "home/scratch").iterdir()) == [tmp_path / "home/scratch/audit.lock"]


def test_the_file_name_tells_a_companion_archive(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verb.audit(home, Console(), [archive(tmp_path, "cudart-cu13-linux-x64.tar.gz")]) == 4
    assert "companion libraries of cu13" in capsys.readouterr().out


def test_a_lane_alone_means_its_companions(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verb.audit(home, Console(), [archive(tmp_path)], lane="cu12") == 4
    assert "companion libraries of cu12" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "target", "lane"),
    [
        ("x.tar.gz", "sm99", ""),
        ("x.tar.gz", "sm75", "cu99"),
        ("x.tar.gz", "", "cu99"),
        ("cudart-cu99-x.tar.gz", "", ""),
    ],
)
def test_what_there_is_not(home: Home, tmp_path: Path, name: str, target: str, lane: str) -> None:
    with pytest.raises(UsageProblem, match=r"unknown|no lane"):
        verb.audit(home, Console(), [archive(tmp_path, name)], target=target, lane=lane)


def test_no_file_and_a_bad_file(home: Home, tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="no archive"):
        verb.audit(home, Console(), [])
    bad = tmp_path / "bad.tar.gz"
    bad.write_bytes(b"junk")
    with pytest.raises(NotAnArchive) as caught:
        verb.audit(home, Console(), [str(bad)])
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("bundle", "verdict"),
    [
        (sound(), Verdict.PASS),
        (strange(sound()), Verdict.UNPROVEN),
        (with_elf("llama-server", relro="none"), Verdict.FAIL),
    ],
)
def test_the_last_line_is_the_verdict(bundle: Bundle, verdict: Verdict, capsys: pytest.CaptureFixture[str]) -> None:
    verb.tell(Console(), report(bundle))
    assert capsys.readouterr().out.splitlines()[-1] == f"audit={verdict}"


def test_faults_alike_stand_together_and_are_whole(capsys: pytest.CaptureFixture[str]) -> None:
    bundle = sound()
    paths = ("/src/" + "x" * 200,)
    elves = {name: replace(elf, paths=paths) for name, elf in bundle.elves.items()}
    verb.tell(Console(), report(replace(bundle, elves=elves)))
    said = capsys.readouterr().out
    assert "FAIL build-paths: libggml-cuda.so, libllama.so.0, llama-server\n" in said
    assert f"    found     {paths[0]}\n" in said


def test_only_what_our_own_store_holds_may_run(tmp_path: Path) -> None:
    build = made_build(tmp_path)
    ours = Home(root=tmp_path, checkout=tmp_path)
    assert verb.is_ours(ours, build)
    assert not verb.is_ours(ours, replace(build, digest="0" * 64))
    assert not verb.is_ours(ours, replace(build, key="0" * 64))
    assert not verb.is_ours(Home(root=tmp_path / "other", checkout=tmp_path), build)
