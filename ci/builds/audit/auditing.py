"""Audit an archive as uploaded: take it apart, read every binary in it, judge."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ci.builds.audit.companions import described
from ci.builds.audit.opened import Opened, open_archive
from ci.builds.audit.rules import describe, judge
from ci.builds.audit.values import AuditReport, Bundle, Finding, Stated
from ci.builds.elf import is_elf, plain, read_elf
from ci.builds.elf_facts import ElfFacts
from ci.builds.package import archive_name
from ci.builds.store import BUILD_JSON, Build, load_build, verify
from ci.builds.target import Lane, Target, find_lane, find_target
from ci.errors import CommandFailed, ConfigProblem, DigestMismatch, ElfUnreadable, ToolMissing, UsageProblem
from ci.files import remove_tree, sha256_file
from ci.process import run

SERVER = "llama-server"
RUN_LIMIT_S = 60.0
TEXT_LIMIT = 1_000_000
"""Bytes of a licence, or of `build.json`."""
_COMPANION = re.compile(r"cudart-(cu[0-9]{1,3})(?![0-9])")
_LICENCE = re.compile(r"(?i)(.*/)?(licen[cs]e|copying|notice)[^/]*")

Trust = Callable[[Build], bool]
Progress = Callable[[float, float, str], None]


def audit_archive(
    archive: Path,
    target: Target | None = None,
    *,
    companions: Lane | None = None,
    scratch: Path,
    places: Sequence[str] = (),
    trust: Trust = lambda _: False,
    version: str | None = None,
    extra: Sequence[Finding] = (),
    progress: Progress = lambda *_: None,
) -> AuditReport:
    """Judge an archive.

    Args:
        archive: a packed tar archive, anybody's.
        target: what it should be; when omitted, what its own `build.json` says, or nothing that could be promised.
        companions: the lane whose companion archive it should be; when omitted, what the file's name says.
        scratch: a folder for its files; made and removed here.
        places: folders of the build machine to look for in its binaries.
        trust: whether a described build may be run here; nobody else's program is started.
        version: what `llama-server --version` said where somebody has run it already.
        extra: findings of others, e.g. of its start on a bare system.
        progress: called with files read, files in all, and the name of the next.

    Raises:
        NotAnArchive: the file cannot be taken apart.
        UsageProblem: the file's name speaks of a lane that there is not.
        ToolMissing: cuobjdump is not there.
        DeviceCodeUnread: cuobjdump gives no answer.
        DiskFull: no room.
    """
    try:
        opened = open_archive(archive, scratch)
        build, stated = read_stated(opened.folder)
        lane = companions or lane_of_name(archive.name) if target is None else None
        own = (described(opened.folder, lane),) if lane else ()
        elves, unreadable = _read_all(opened, places, device=lane is None, progress=progress)
        said, untold = (version, "") if version else _version(opened.folder, build, trust)
        bundle = Bundle(
            archive=archive.name,
            members=opened.members,
            refused=opened.refused,
            tops=opened.tops,
            elves=elves,
            unreadable=unreadable,
            texts=_texts(opened),
            stated=stated,
            version=said,
            version_untold=untold,
            target=target if target or lane else _target_of(stated),
            companions=lane,
        )
    finally:
        remove_tree(scratch)
    return AuditReport(
        archive=archive.name,
        sha256=sha256_file(archive),
        size=archive.stat().st_size,
        subject=_subject(bundle),
        findings=(*judge(bundle), *own, *extra),
        files=describe(bundle),
    )


def lane_of_name(name: str) -> Lane | None:
    """The lane of a companion archive's file name; None for any other archive.

    Raises:
        UsageProblem: there is no such lane.
    """
    match = _COMPANION.match(name)
    return find_lane(match[1]) if match else None


def read_stated(folder: Path) -> tuple[Build | None, Stated | None]:
    """What an unpacked archive says of itself, and the build that its files are.

    No build when anything is wrong: a description of ours beside a file of somebody else's earns that no trust.
    """
    described = folder / BUILD_JSON
    if not described.is_file():
        return None, None
    if described.stat().st_size > TEXT_LIMIT:
        return None, Stated(label="", target="", lane="", fault=f"of more than {TEXT_LIMIT} bytes")
    try:
        build = load_build(folder)
    except ConfigProblem as bad:
        return None, Stated(label="", target="", lane="", fault=plain(bad.message)[:500])
    try:
        verify(build)
        fault = ""
    except DigestMismatch as bad:
        fault = plain("; ".join(bad.message.splitlines()[1:]))[:500]
    said = Stated(
        label=build.label,
        target=build.target,
        lane=build.lane,
        minimum_driver=build.minimum_driver,
        archive=archive_name(build),
        fault=fault,
    )
    return None if fault else build, said


def _target_of(stated: Stated | None) -> Target | None:
    """The target that an archive says it is for; None when it says none that we know."""
    try:
        return find_target(stated.target, lane=stated.lane) if stated else None
    except UsageProblem:
        return None


def _read_all(
    opened: Opened, places: Sequence[str], *, device: bool, progress: Progress
) -> tuple[Mapping[str, ElfFacts], Mapping[str, str]]:
    files = [name for name, member in sorted(opened.members.items()) if member.kind == "file"]
    facts: dict[str, ElfFacts] = {}
    unreadable: dict[str, str] = {}
    for at, name in enumerate(files):
        progress(at, len(files), name)
        path = opened.folder / name
        if is_elf(path):
            try:
                facts[name] = read_elf(path, places=places, device=device)
            except ElfUnreadable as bad:
                unreadable[name] = bad.message
    return facts, unreadable


def _texts(opened: Opened) -> Mapping[str, str]:
    files = (
        name
        for name, member in sorted(opened.members.items())
        if member.kind == "file" and member.size <= TEXT_LIMIT and _LICENCE.fullmatch(name)
    )
    return {name: (opened.folder / name).read_text(encoding="utf-8", errors="replace") for name in files}


def _version(folder: Path, build: Build | None, trust: Trust) -> tuple[str | None, str]:
    """What the server says of its version, or None and why it was not asked or did not answer."""
    if build is None or not (folder / SERVER).is_file():
        return None, "not run: nothing tells whose program it is"
    if not trust(build):
        return None, "not run: these files are not of this machine's own store"
    try:
        done = run((folder / SERVER, "--version"), cwd=folder, env={"PATH": ""}, timeout=RUN_LIMIT_S)
    except (CommandFailed, ToolMissing) as failed:
        return None, plain(f"it does not run here: {failed.message}")[:500]
    lines = (done.stdout + done.stderr).decode("utf-8", "replace").splitlines()
    return plain(next((line for line in lines if "version" in line), " / ".join(lines))), ""


def _subject(bundle: Bundle) -> str:
    if bundle.companions:
        return f"companion libraries of {bundle.companions.name}"
    return bundle.target.id if bundle.target else "no target: nothing is promised"
