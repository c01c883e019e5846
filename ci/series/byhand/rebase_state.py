"""A rebase that waits for a person: where it lies in the state directory, and what is known of it.

`rebase/state.json` alone says whether there is one, and names the worktree beside it; it is written last and removed
first, so a kill leaves the old state or the new.
"""

from pathlib import Path
from typing import Annotated, Literal

from ci.config import Field, Model, ObjectId, parse
from ci.errors import ConfigProblem, NoRebase, RebaseInProgress
from ci.files import read_json, remove_tree, write_json
from ci.home import Home
from ci.series.trailers import ID_PATTERN

ABORT = "invoke rebase-upstream --abort"
CONTINUE = "invoke rebase-upstream --continue"

PatchId = Annotated[str, Field(pattern=rf"^{ID_PATTERN.pattern}$")]
TreeName = Annotated[str, Field(pattern=rf"^{ID_PATTERN.pattern}(\.2)?$")]
Build = Annotated[str, Field(pattern=r"^b[0-9]+$")]


class Settled(Model):
    """A conflict of this rebase that a person has resolved.

    The trees say what the person found and left: a replay that comes to the same tree with the same patch has its
    answer. `commit` is the patch as it came out, on the tip that it met.
    """

    patch_id: PatchId
    tip_tree: ObjectId
    result_tree: ObjectId
    commit: ObjectId


class State(Model):
    """A rebase that stopped at a conflict: what was asked for, and what has been decided so far.

    `tip` and `picked` are the commits whose merge is the conflict; `tree` is the name of the worktree's directory.
    """

    schema_version: Literal[1] = 1
    onto: Build
    base: Build
    series: str
    patch_id: PatchId
    tip: ObjectId
    picked: ObjectId
    accepted: tuple[PatchId, ...] = ()
    skipped: tuple[PatchId, ...] = ()
    settled: tuple[Settled, ...] = ()
    tree: TreeName | None = None

    @property
    def skip(self) -> str:
        """The command that leaves the patch out."""
        return f"invoke rebase-upstream --skip {self.patch_id}"


def folder_of(home: Home) -> Path:
    """Directory of the waiting rebase."""
    return home.root / "rebase"


def worktree_of(home: Home, state: State) -> Path:
    """Where the person works."""
    return folder_of(home) / str(state.tree)


def load_state(home: Home) -> State | None:
    """The waiting rebase, or None.

    Raises:
        ConfigProblem: its file is damaged.
    """
    path = _file_of(home)
    if not path.exists():
        return None
    try:
        state = parse(State, read_json(path), source=str(path))
    except ConfigProblem as problem:
        raise ConfigProblem(problem.message, hint=ABORT) from None
    if state.tree is None:
        raise ConfigProblem(f"{path}: names no worktree", hint=ABORT)
    return state


def require_state(home: Home) -> State:
    """The waiting rebase.

    Raises:
        NoRebase: there is none.
    """
    state = load_state(home)
    if state is None:
        raise NoRebase("no rebase is in progress")
    return state


def refuse_in_progress(home: Home) -> None:
    """Stop before the work when a conflict waits already.

    Raises:
        RebaseInProgress: names the patch, the worktree and the three ways out.
    """
    state = load_state(home)
    if state:
        raise RebaseInProgress(
            f"a rebase onto {state.onto} is in progress: {state.patch_id} waits in {worktree_of(home, state)}",
            hint=ways_out(state),
        )


def ways_out(state: State) -> str:
    """What a person may type while a conflict waits, a command a line."""
    ways = (
        (CONTINUE, "takes over what is in the worktree, records the resolution"),
        (state.skip, "leaves the patch out"),
        (ABORT, "forgets this rebase; patches/ is as it was"),
    )
    return "\n".join(("one of", *(f"  {command}  # {what}" for command, what in ways)))


def save_state(home: Home, state: State) -> None:
    """Write the state: from here on it is the one that counts."""
    write_json(_file_of(home), state.model_dump(mode="json"))


def sweep(home: Home, state: State | None) -> None:
    """Remove what earlier runs left beside the worktree of `state`."""
    kept = {_file_of(home).name, state.tree if state else None}
    folder = folder_of(home)
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name not in kept:
            remove_tree(path)


def abort(home: Home) -> bool:
    """Forget the waiting rebase and remove its worktree; nothing else is touched. False when there was nothing."""
    folder = folder_of(home)
    if not folder.is_dir():
        return False
    _file_of(home).unlink(missing_ok=True)
    remove_tree(folder)
    return True


def _file_of(home: Home) -> Path:
    return folder_of(home) / "state.json"
