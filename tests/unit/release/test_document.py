import json
from pathlib import Path

import pytest

from ci.errors import ConfigProblem
from ci.outcome import GateResult, Verdict
from ci.release.document import load_evidence, read_manifest, write_manifest
from tests.helpers import releases


def test_a_manifest_survives_the_file(tmp_path: Path) -> None:
    manifest = releases.manifest()
    write_manifest(tmp_path / "manifest.json", manifest)
    assert read_manifest(tmp_path / "manifest.json") == manifest


def test_equal_manifests_are_equal_files(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        write_manifest(tmp_path / name, releases.manifest())
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_a_contradictory_manifest_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    write_manifest(path, releases.manifest())
    before = path.read_bytes()
    with pytest.raises(ConfigProblem):
        write_manifest(path, releases.manifest(release="b1-speed.1"))
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b"{}", b'{"format": 2}'])
def test_a_file_that_is_no_manifest_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(content)
    with pytest.raises(ConfigProblem, match=r"manifest\.json"):
        read_manifest(path)


def test_a_missing_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblem, match=r"manifest\.json: no such file"):
        read_manifest(tmp_path / "manifest.json")


def test_evidence_is_read_as_a_suite_left_it(tmp_path: Path) -> None:
    path = tmp_path / "parity.json"
    path.write_text(json.dumps(releases.parity()), encoding="utf-8")
    evidence = load_evidence(path)
    assert evidence.speed is not None
    assert evidence.speed.label == releases.RELEASE
    assert evidence.gates[0].result() == GateResult(
        gate="real-greedy",
        verdict=Verdict.PASS,
        reason="768 of 768 token ids equal",
        evidence={"n_prompts": 12, "n_compared": 768, "n_expected": 768, "forks": []},
    )


def test_evidence_of_a_suite_that_broke_off_is_evidence(tmp_path: Path) -> None:
    path = tmp_path / "parity.json"
    path.write_text(json.dumps(releases.suite("", [], stock=None, speed=None)), encoding="utf-8")
    assert load_evidence(path).stock is None


def test_evidence_with_an_unknown_verdict_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "parity.json"
    path.write_text(json.dumps(releases.parity("PASSED")), encoding="utf-8")
    with pytest.raises(ConfigProblem, match=r"parity\.json.*\n.*gates\.0\.verdict"):
        load_evidence(path)
