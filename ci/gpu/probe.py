"""What this machine has: its card, and the libraries that the builds need and we do not carry."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from ci.errors import CardUnread
from ci.gpu.cards import FIELDS, OLD_FIELDS, STATE, Card, parse_cards, parse_state, query
from ci.process import Completed, find_tool, run, scrubbed_env

SMI = "nvidia-smi"
SMI_FOLDERS = ("/usr/bin", "/usr/local/nvidia/bin")
SMI_S = 30
ANY_CODE = tuple(range(-64, 256))
PLACES = (
    "/usr/local/nvidia/lib64",
    "/usr/local/cuda/lib64",
    "/usr/local/cuda-*/lib64",
    "/usr/local/cuda-*/targets/x86_64-linux/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
)
"""Where drivers and toolkits put their libraries."""


def find_cards(environ: Mapping[str, str]) -> tuple[tuple[Card, ...], dict[str, str]]:
    """The cards, and the state of the first.

    Raises:
        ToolMissing: no `nvidia-smi`.
        CardUnread: it fails, or its answer is none that we know.
    """
    path = ":".join((environ.get("PATH", ""), *SMI_FOLDERS))
    smi = find_tool(SMI, path=path, hint="a machine without NVIDIA's driver checks nothing here")
    fields: tuple[str, ...] = FIELDS
    answer = _asked(smi, fields)
    if answer.code != 0 and "compute_cap" in said(answer):
        fields = OLD_FIELDS
        answer = _asked(smi, fields)
    if answer.code != 0:
        raise CardUnread(f"{smi}: exit code {answer.code}: {said(answer)[:300]}")
    state = _asked(smi, STATE)
    return parse_cards(answer.text, fields), parse_state(state.text) if state.code == 0 else {}


def _asked(smi: Path, fields: tuple[str, ...]) -> Completed:
    return run((smi, *query(fields)), env=scrubbed_env(), ok_codes=ANY_CODE, timeout=SMI_S)


def said(done: Completed) -> str:
    """All that a program printed, in one text."""
    return (done.stdout + done.stderr).decode("utf-8", "replace").strip()


def library_folders(carried: Path, site: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Where libraries may be, what we carried first: ours, those that the environment names, pip's, the system's.

    Args:
        carried: folder of the libraries that we brought.
        site: folder of this machine's Python packages: NVIDIA's libraries come as packages too.
        environ: for its LD_LIBRARY_PATH.
    """
    named = [Path(word) for word in environ.get("LD_LIBRARY_PATH", "").split(":") if word]
    system = [path for pattern in PLACES for path in sorted(Path("/").glob(pattern.lstrip("/")), reverse=True)]
    folders = (carried, *named, *sorted((site / "nvidia").glob("*/lib")), *system)
    return tuple(dict.fromkeys(folder for folder in folders if folder.is_dir()))


def find_libraries(names: Iterable[str], folders: Iterable[Path]) -> tuple[dict[str, Path], tuple[str, ...]]:
    """The first folder that has each library, and the libraries that none has."""
    searched = tuple(folders)
    found = {name: folder for name in names for folder in reversed(searched) if (folder / name).is_file()}
    return found, tuple(name for name in names if name not in found)
