"""Reading and writing `manifest.json`, and reading what the suites left."""

from pathlib import Path

from ci.config import parse
from ci.files import read_json, write_json
from ci.release.manifest import Manifest, SuiteEvidence, manifest_json, parse_manifest


def read_manifest(path: Path) -> Manifest:
    """Read `manifest.json`.

    Raises:
        ConfigProblem: missing, not JSON, or faulty; names the file and every fault.
    """
    return parse_manifest(read_json(path), source=str(path))


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write `manifest.json` atomically.

    Raises:
        ConfigProblem: its parts disagree; nothing is written.
        DiskFull: no room; the old file is untouched.
    """
    document = manifest_json(manifest)
    parse_manifest(document, source=str(path))
    write_json(path, document)


def load_evidence(path: Path) -> SuiteEvidence:
    """Read the evidence file that a suite wrote.

    Raises:
        ConfigProblem: missing, not JSON, or not a suite's evidence; names the file and every fault.
    """
    return parse(SuiteEvidence, read_json(path), source=str(path), hint="run the suite again")
