import hashlib
import json
from typing import Any

import pytest

from ci.errors import ConfigProblem
from ci.release.manifest import consistency_faults, fixed_digest, manifest_json, parse_manifest
from tests.helpers import releases


def test_the_digest_ignores_what_was_measured() -> None:
    proven, unproven = releases.manifest(), releases.manifest([])
    assert proven.measured != unproven.measured
    assert fixed_digest(proven.fixed) == fixed_digest(unproven.fixed)


@pytest.mark.parametrize("change", [{"recipe": "cpu-2"}, {"compiler": "c++ 13"}, {"patches": []}, {"base_tag": "b2"}])
def test_the_digest_follows_every_fixed_part(change: dict[str, Any]) -> None:
    assert fixed_digest(releases.manifest(**change).fixed) != fixed_digest(releases.manifest().fixed)


def test_the_digest_is_that_of_the_stored_fixed_part() -> None:
    document = json.loads(json.dumps(manifest_json(releases.manifest())))
    text = json.dumps(document["fixed"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hashlib.sha256(text.encode()).hexdigest() == document["fixed_digest"]


def test_a_changed_fixed_part_does_not_fit_the_stored_digest() -> None:
    document = manifest_json(releases.manifest())
    document["fixed"]["archives"][0]["sha256"] = "0" * 64
    with pytest.raises(ConfigProblem, match="fixed_digest: the deterministic part has digest"):
        parse_manifest(document, source="manifest.json")


def test_all_faults_of_shape_are_listed_together() -> None:
    document = manifest_json(releases.manifest())
    document["fixed"]["archives"][0]["size"] = 0
    document["fixed"]["archives"][1]["name"] = "../../etc/passwd"
    document["fixed"]["upstream"]["tree"] = "HEAD"
    document["measured"]["stages"][0]["verdict"] = "MAYBE"
    document["measured"]["profil"] = document["measured"].pop("profile")
    with pytest.raises(ConfigProblem) as caught:
        parse_manifest(document, source="manifest.json")
    for part in (
        "6 fault(s)",
        "archives.0.size",
        "archives.1.name",
        "upstream.tree",
        "stages.0.verdict",
        "'profile'",
    ):
        assert part in caught.value.message
    assert caught.value.hint


def test_all_contradictions_are_listed_together() -> None:
    parts = releases.document_parts([releases.parity(), releases.parity()])
    archive, patch = parts["fixed"]["archives"][0], parts["fixed"]["patches"][0]
    bent = releases.manifest(
        [releases.parity(), releases.parity()],
        release="b11401-speed.1",
        archives=[archive, archive],
        patches=[patch, patch],
    )
    with pytest.raises(ConfigProblem) as caught:
        parse_manifest(manifest_json(bent), source="manifest.json")
    for part in ("b11401-speed.1 stands on b11401", "fixed.archives", "fixed.patches", "measured.suites", "2 times"):
        assert part in caught.value.message


def test_a_release_id_of_another_shape_is_a_fault() -> None:
    with pytest.raises(ConfigProblem, match=r"fixed\.release: release id 'latest'"):
        parse_manifest(manifest_json(releases.manifest(release="latest")), source="manifest.json")


def test_drift_is_told_by_commit_and_leaves_the_digest_alone() -> None:
    drifted = releases.drifted_manifest(releases.drift_entry())
    assert [entry.declaration for entry in drifted.measured.drift_of("host-reuse-candidates")] == ["mmq_args"]
    assert drifted.measured.drift_of("host-greedy-argmax") == ()
    assert fixed_digest(drifted.fixed) == fixed_digest(releases.manifest().fixed)


def test_drift_under_a_commit_of_another_release_is_a_fault() -> None:
    drifted = releases.drifted_manifest(releases.drift_entry("gone"))
    assert list(consistency_faults(drifted)) == ["measured.drift: 'gone' is no commit of this release"]


def test_only_an_absorbed_commit_can_be_in_a_build() -> None:
    settled = releases.manifest(measured={"absorbed_in": {"hybrid-exact": "b11420"}})
    assert list(consistency_faults(settled)) == [
        "measured.absorbed_in: 'hybrid-exact' is no absorbed commit of this release"
    ]
    assert list(consistency_faults(releases.settled_manifest())) == []
