"""A companion archive's own description against its files."""

from pathlib import Path

from ci.builds.audit.values import Finding
from ci.builds.target import Lane
from ci.errors import ConfigProblem
from ci.files import read_json, sha256_file
from ci.outcome import JsonMap, Verdict

DESCRIPTION = "companion.json"
LIMIT = 1_000_000
"""Bytes of a description."""
EXPECTED = f"{DESCRIPTION} lists exactly these files"


def described(folder: Path, lane: Lane) -> Finding:
    """Whether `companion.json` is there, is of the lane, and lists the files with the bytes that they have."""
    fault = _fault(folder, lane)
    verdict = Verdict.FAIL if fault else Verdict.PASS
    file, found = (DESCRIPTION, fault) if fault else ("", f"{lane.name}, driver {lane.minimum_driver} or newer")
    return Finding(rule=DESCRIPTION, verdict=verdict, file=file, found=found, expected=EXPECTED)


def _fault(folder: Path, lane: Lane) -> str:
    path = folder / DESCRIPTION
    if not path.is_file() or path.stat().st_size > LIMIT:
        return "not there" if not path.is_file() else f"of more than {LIMIT} bytes"
    try:
        said = read_json(path)
    except (ConfigProblem, RecursionError) as bad:
        return f"no JSON object: {bad}"[:200]
    promised = {"lane": lane.name, "minimum_driver": lane.minimum_driver}
    for name, value in promised.items():
        if said.get(name) != value:
            return f"{name} {said.get(name)!r:.60}, not {value!r}"
    return _wrong_file(folder, said)


def _wrong_file(folder: Path, said: JsonMap) -> str:
    listed = said.get("files")
    if not isinstance(listed, dict):
        return "no list of files"
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {DESCRIPTION}
    for name in sorted(found ^ set(listed)):
        return f"{name:.100} is {'not listed' if name in found else 'missing'}"
    for name, entry in sorted(listed.items()):
        expected = entry.get("sha256") if isinstance(entry, dict) else None
        if sha256_file(folder / name) != expected:
            return f"{name:.100} has other bytes"
    return ""
