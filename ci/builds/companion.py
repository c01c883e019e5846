"""The companion archive of a lane: CUDA's libraries as its toolchain image has them, one archive for all targets."""

import json
from dataclasses import dataclass
from pathlib import Path

from ci.builds.archive import add_bytes, add_file, new_archive
from ci.builds.audit.companions import DESCRIPTION
from ci.builds.box import Job
from ci.builds.engine import Engine
from ci.builds.target import TARGETS_FILE, Lane
from ci.builds.toolchain.image import LABEL, ToolchainImage
from ci.builds.toolchain.lock import load_parts
from ci.errors import ArchiveProblem, ConfigProblem, EngineProblem
from ci.files import sha256_file

FORMAT = 1
LICENCE = "LICENSE"
DEADLINE_S = 600
"""For copying 600 MB inside a container."""

PROJECTS = {
    "libcudart": "nvidia-cuda-runtime",
    "libcublas": "nvidia-cublas",
    "libcublasLt": "nvidia-cublas",
}
"""Which project's wheel, and so whose terms, a library comes with."""

SCRIPT = """\
for project in $1; do
    for terms in "/opt/cuda/licenses/$project"/*; do
        if [ -f "$terms" ]; then cp "$terms" "/out/LICENSE-$project"; fi
    done
done
if [ -f /opt/cuda/EULA.txt ]; then cp /opt/cuda/EULA.txt /out/LICENSE-nvidia-cuda; fi
shift
for library in "$@"; do cp -L "/opt/cuda/lib64/$library" /out/; done
"""


@dataclass(frozen=True, kw_only=True)
class Companions:
    """A lane's libraries in a folder of their own, with the terms that they come under.

    Args:
        folder: the libraries by SONAME, and `LICENSE-*`.
        toolkit: what the toolkit's compiler calls itself, e.g. `release 13.5, V13.5.37`.
        sources: file name and SHA-256 of the wheels, or the image by digest.
    """

    folder: Path
    toolkit: str
    sources: tuple[str, ...]


def companion_name(lane: Lane) -> str:
    """File name of a lane's archive, e.g. `cudart-cu13-linux-x64.tar.gz`."""
    return f"cudart-{lane.name}-linux-x64.tar.gz"


def fetch_companions(
    engine: Engine, toolchain: ToolchainImage, lane: Lane, into: Path, *, owner: str = "companion"
) -> Companions:
    """Copy a lane's libraries out of its toolchain image into a new folder `into`.

    What a killed run of the same owner left in the engine goes first.

    Raises:
        ConfigProblem: `targets.toml` names a library that we know no terms of.
        EngineProblem: the image does not have them, or the engine refuses.
        DiskFull: no room; nothing is left.
    """
    projects = sorted({_project_of(name) for name in lane.companions})
    job = Job(
        image=toolchain.id,
        argv=("sh", "-euc", SCRIPT, "sh", " ".join(projects), *lane.companions),
        owner=owner,
        env={},
        volumes={},
    )
    engine.remove_orphans(owner)
    with engine.container(job) as box:
        box.start()
        ended = box.follow(lambda _: None, deadline_s=DEADLINE_S)
        if ended.code:
            said = "".join(f"\n    {line}" for line in ended.lines[-5:])
            raise EngineProblem(f"the toolchain image of {lane.name} lacks libraries of its lane{said}")
        box.fetch("/out", into)
    image = engine.image(toolchain.id)
    return Companions(
        folder=into,
        toolkit=image.labels[f"{LABEL}.cuda"] if image else "",
        sources=_sources(lane, projects, toolchain),
    )


def _project_of(library: str) -> str:
    project = PROJECTS.get(library.partition(".")[0])
    if project is None:
        known = ", ".join(PROJECTS)
        raise ConfigProblem(f"companion {library!r} of a lane is none of {known}", hint=f"edit {TARGETS_FILE}")
    return project


def _sources(lane: Lane, projects: list[str], toolchain: ToolchainImage) -> tuple[str, ...]:
    if toolchain.cuda_from:
        return (toolchain.cuda_from,)
    wheels = [wheel for wheel in load_parts(lane).wheels if wheel.project in projects]
    return tuple(sorted(f"{wheel.file} sha256:{wheel.sha256}" for wheel in wheels))


def pack_companion(lane: Lane, companions: Companions, out: Path) -> Path:
    """Pack them below `cudart-<lane>/`; the same bytes for the same libraries.

    One gzip level for all archives: on these libraries level 6 takes 17 s where level 1 takes 10, once for each
    toolkit, and saves every user 8 of 452 MB.

    Raises:
        ArchiveProblem: a library is missing or is none of the lane's, or nothing says under which terms they come.
        DiskFull: no room; no archive is left.
    """
    folder, final = companions.folder, out / companion_name(lane)
    names = sorted(path.name for path in folder.iterdir())
    _check(lane, names)
    files = {name: {"sha256": sha256_file(folder / name), "size": (folder / name).stat().st_size} for name in names}
    about = {
        "format": FORMAT,
        "lane": lane.name,
        "toolkit": companions.toolkit,
        "minimum_driver": lane.minimum_driver,
        "sources": list(companions.sources),
        "files": files,
    }
    prefix = f"cudart-{lane.name}"
    with new_archive(final) as archive:
        add_bytes(archive, f"{prefix}/{DESCRIPTION}", _json(about))
        for name in names:
            add_file(archive, f"{prefix}/{name}", folder / name)
    return final


def _check(lane: Lane, names: list[str]) -> None:
    libraries = {name for name in names if not name.startswith(LICENCE)}
    wrong = sorted(libraries ^ set(lane.companions))
    if wrong:
        kind = "missing" if wrong[0] in lane.companions else "none of its libraries"
        raise ArchiveProblem(f"companion libraries of {lane.name}: {wrong[0]} is {kind}")
    if len(libraries) == len(names):
        raise ArchiveProblem(f"companion libraries of {lane.name} come without NVIDIA's terms: not to be passed on")


def _json(value: object) -> bytes:
    return (json.dumps(value, sort_keys=True, indent=2) + "\n").encode()
