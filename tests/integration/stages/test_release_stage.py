"""The release folder as its readers get it: files, sums, manifest, headline."""

import dataclasses
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from ci.builds.package import SUMS_FILE, archive_name, read_sums, verify_sums, write_sums
from ci.builds.store import load_build
from ci.config import Model
from ci.errors import ConfigProblem, DigestMismatch
from ci.files import read_json, sha256_file
from ci.outcome import GateResult, JsonValue, Verdict
from ci.release.document import read_manifest
from ci.release.manifest import Manifest
from ci.report.summary import summarise
from ci.stage import Context
from ci.stages import release, values
from tests.helpers import releases
from tests.helpers.made_release import ONTO, RELEASE, make_release

ARCHIVES = (
    "llama-b7-speed.1-bin-linux-cpu-x64.tar.gz",
    "llama-b7-stock-bin-linux-cpu-x64.tar.gz",
    "llama-b7-speed.1-source.tar.gz",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """A release that went through the package and the release stage."""
    return make_release(tmp_path_factory.mktemp("made"))


def manifest_of(context: Context) -> Manifest:
    return read_manifest(context.value(values.Released).folder / "manifest.json")


def again(context: Context, *, gates: Sequence[GateResult] | None = None, **replaced: Model) -> Manifest:
    """The release stage once more in the folder of `made`, with other values or other gates of `package`."""
    kept = tuple(value for value in context.values if not isinstance(value, values.Released))
    changed = tuple(replaced.get(type(value).__name__, value) for value in kept)
    outcomes = tuple(
        outcome if gates is None else dataclasses.replace(outcome, gates=tuple(gates))
        for outcome in context.outcomes
        if outcome.stage != "release"
    )
    release.run(dataclasses.replace(context, values=changed, outcomes=outcomes))
    return manifest_of(context)


def test_the_folder_holds_what_its_sums_name(made: Context) -> None:
    folder = made.value(values.Released).folder
    names = {*ARCHIVES, "manifest.json", "notes.md", "report.html"}
    assert {path.name for path in folder.iterdir()} == {*names, SUMS_FILE}
    assert set(verify_sums(folder)) == names


def test_what_was_made_is_what_was_written(made: Context) -> None:
    folder, released = made.value(values.Released).folder, made.value(values.Released)
    manifest = manifest_of(made)
    assert read_json(folder / "manifest.json")["fixed_digest"] == released.fixed_digest
    assert released.headline == summarise(manifest).headline
    assert released.headline.startswith("Safe and faster")
    for name in ("notes.md", "report.html"):
        assert RELEASE in (folder / name).read_text(encoding="utf-8")


def test_the_manifest_says_how_a_conflict_was_settled_and_which_build_absorbed_a_commit(made: Context) -> None:
    rebased = made.value(values.Rebased)
    (one,) = rebased.patches
    settled = one.model_copy(update={"resolutions": ("5" * 40,)})
    changed = again(made, Rebased=rebased.model_copy(update={"patches": (settled,)}))
    assert changed.fixed.patches[0].resolutions == ("5" * 40,)
    gone = one.model_copy(update={"state": "absorbed", "build": "b6"})
    changed = again(made, Rebased=rebased.model_copy(update={"patches": (gone,)}))
    assert (changed.fixed.patches[0].state, changed.measured.absorbed_in) == ("absorbed", {"one": "b6"})
    again(made)


def test_each_archive_entry_names_its_own_file(made: Context) -> None:
    folder, built = made.value(values.Released).folder, made.value(values.Built)
    sums = read_sums(folder / SUMS_FILE)
    entries = {entry.label + entry.target: entry for entry in manifest_of(made).fixed.archives}
    expected = {
        f"{RELEASE}cpu": (ARCHIVES[0], built.speed_digest),
        f"{ONTO}cpu": (ARCHIVES[1], built.stock_digest),
        f"{RELEASE}source": (ARCHIVES[2], made.value(values.Rebased).tree),
    }
    assert {key: (entry.name, entry.content_digest) for key, entry in entries.items()} == expected
    for entry in entries.values():
        path = folder / entry.name
        assert (
            (entry.size, entry.sha256) == (path.stat().st_size, sha256_file(path)) == (entry.size, sums[entry.name])
        )


def test_the_archives_hold_the_builds_they_are_named_after(made: Context) -> None:
    folder, built = made.value(values.Released).folder, made.value(values.Built)
    for build in (load_build(built.stock), load_build(built.speed)):
        with tarfile.open(folder / archive_name(build)) as archive:
            inside = next(member for member in archive.getmembers() if member.name.endswith("/build.json"))
            stream = archive.extractfile(inside)
            assert stream is not None
            assert json.load(stream)["digest"] == build.digest


def test_the_order_of_the_archives_does_not_decide_what_they_are_called(made: Context) -> None:
    before = {entry.name: entry for entry in manifest_of(made).fixed.archives}
    packed = made.value(values.Packed)
    turned = packed.model_copy(update={"archives": packed.archives[::-1]})
    assert {entry.name: entry for entry in again(made, Packed=turned).fixed.archives} == before
    again(made)


def test_the_fixed_part_is_the_same_twice(made: Context, tmp_path: Path) -> None:
    other = make_release(tmp_path / "elsewhere", {"throughput": None})
    assert manifest_of(other).fixed == manifest_of(made).fixed
    assert other.value(values.Released).fixed_digest == made.value(values.Released).fixed_digest
    assert manifest_of(other).measured != manifest_of(made).measured
    folders = [context.value(values.Released).folder for context in (made, other)]
    assert len({(folder / name).read_bytes() for folder in folders for name in ARCHIVES}) == len(ARCHIVES)


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        ({"parity": None}, "Not proven safe"),
        ({"throughput": None}, "Safe, but a gain in speed is not proven"),
        ({"parity": None, "throughput": None}, "Not proven safe"),
        ({"parity": releases.parity()}, "Not proven safe"),  # of other builds
        ({"parity": releases.suite("parity", [], stock=None, speed=None)}, "Not proven safe"),
    ],
)
def test_missing_or_foreign_evidence_is_never_a_pass(
    tmp_path: Path, evidence: dict[str, JsonValue], words: str
) -> None:
    context = make_release(tmp_path, evidence)
    assert context.value(values.Released).headline.startswith(words)
    assert summarise(manifest_of(context)).verdict is Verdict.UNPROVEN


def test_the_archives_are_judged_without_the_parity_suite(made: Context, tmp_path: Path) -> None:
    context = make_release(tmp_path, {"parity": None, "throughput": None})
    built, suite = context.value(values.Built), manifest_of(context).measured.suite("package")
    assert suite is not None
    assert suite.stock is not None
    assert suite.speed is not None
    assert (suite.stock.label, suite.stock.digest) == (ONTO, built.stock_digest)
    assert (suite.speed.label, suite.speed.digest) == (RELEASE, built.speed_digest)
    summary = next(found for found in summarise(manifest_of(context)).suites if found.suite == "package")
    assert summary.verdict is Verdict.PASS


def test_lost_evidence_is_told_once_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_release(tmp_path, {"parity": None})
    assert "".join(capsys.readouterr().err.split()).count("nosuchfile") == 1


def test_folders_of_the_machine_do_not_reach_the_release(made: Context) -> None:
    log = made.home.work / "logs" / "server.log"
    bad = GateResult(
        gate="archive-speed",
        verdict=Verdict.UNPROVEN,
        reason=f"{made.home.out}/x.tar.gz: died; see {log}",
        evidence={"log": [str(log)], str(made.home.checkout): Path.home().as_posix()},
    )
    manifest = again(made, gates=[bad])
    folder = made.value(values.Released).folder
    suite = manifest.measured.suite("package")
    assert suite is not None
    assert suite.gates[0].reason == "<checkout>/out/x.tar.gz: died; see <home>/scratch/logs/server.log"
    for name in ("manifest.json", "notes.md", "report.html"):
        text = (folder / name).read_text(encoding="utf-8")
        assert str(made.home.root) not in text
        assert str(made.home.checkout) not in text
        assert str(Path.home()) not in text
    again(made)


def test_a_manifest_that_does_not_read_back_stops_the_stage(made: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def torn(path: Path, _: Manifest) -> None:
        path.write_text("{")

    with monkeypatch.context() as patched:
        patched.setattr(release, "write_manifest", torn)
        with pytest.raises(ConfigProblem, match=r"manifest\.json"):
            again(made)
    assert not (made.value(values.Released).folder / SUMS_FILE).exists()  # the old sums are not those of this folder
    again(made)


def test_a_file_that_changes_meanwhile_stops_the_stage(made: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def disturbed(folder: Path, names: Sequence[str]) -> Path:
        sums = write_sums(folder, names)
        (folder / "notes.md").write_text("other")
        return sums

    with monkeypatch.context() as patched:
        patched.setattr(release, "write_sums", disturbed)
        with pytest.raises(DigestMismatch, match=r"notes\.md"):
            again(made)
    again(made)
