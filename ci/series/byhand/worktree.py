"""The worktree in which a person resolves a conflict.

It is a repository of its own that borrows the history's objects, with an ordinary `git cherry-pick` in progress:
`git status`, an editor and `git add` are all that is needed. Nothing of it is visible elsewhere before
`ci.series.byhand.collecting` takes it over.
"""

import shlex
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from os import fsdecode, fsencode
from pathlib import Path
from stat import S_IMODE, S_ISREG

from ci.errors import CommandFailed
from ci.files import staged_dir
from ci.git import IDENTITY_EMAIL, IDENTITY_NAME, SAFE_CONFIG, Git
from ci.home import Home
from ci.outcome import JsonValue
from ci.process import Completed, failure_of
from ci.series.byhand import resolutions
from ci.series.byhand.rebase_state import (
    State,
    folder_of,
    load_state,
    refuse_in_progress,
    save_state,
    sweep,
    ways_out,
)
from ci.series.byhand.rerere import MARKER, sides_of, unmerged_paths, unmerged_stages
from ci.series.byhand.resolutions import load_store, replay_resolutions
from ci.series.engine.merging import as_merge_fault
from ci.series.engine.scratch import USUAL_MARKERS, private_repository
from ci.series.results import Resolution

OURS, THEIRS = "refs/speedfork/ours", "refs/speedfork/theirs"
"""Two commits that hold the paths in conflict and nothing else: what a resolution is recorded from."""

AS_MERGED = "speedfork-index"
"""File in the worktree's git directory: the index as git's own merge left it, before anybody resolved anything."""

CONFIG = (
    *SAFE_CONFIG,
    f"user.name={IDENTITY_NAME}",
    f"user.email={IDENTITY_EMAIL}",
    "merge.conflictStyle=diff3",
    "mergetool.keepBackup=false",
    "i18n.commitEncoding=UTF-8",
    "core.commentChar=auto",
)
"""The repository's own settings, which beat those of the person: the bytes are git's, whoever works here."""

_PICK = (
    "-c",
    "merge.conflictStyle=merge",
    "cherry-pick",
    "--allow-empty",
    "--keep-redundant-commits",
    "--no-gpg-sign",
)
"""In git's usual style, as the rebase merges: diff3 finds more conflicts, and what is settled there would be lost."""

ALL_SIDES = 3
"""Entries that git's index has of a path when base, tip and patch have it."""

_SHOW_BASE = ("checkout", "--quiet", "--conflict=diff3", "--pathspec-from-file=-", "--pathspec-file-nul")
_LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}


@dataclass(frozen=True, kw_only=True)
class Worktree:
    """A worktree ready for a person.

    `conflicts` are the paths to resolve, empty when git merged everything and only a person can tell whether that is
    right; `resolutions` were replayed, their paths are done.
    """

    path: Path
    state: State
    conflicts: tuple[str, ...]
    resolutions: tuple[Resolution, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """Where to go, for which patch, and which files to settle."""
        return {
            "path": str(self.path),
            "id": self.state.patch_id,
            "onto": self.state.onto,
            "edit": list(self.conflicts),
            "resolved": [resolution.path for resolution in self.resolutions],
        }


def open_worktree(home: Home, history: Git, state: State, *, replaces: bool = False) -> Worktree:
    """Make the worktree of a conflict and the state that names it. The caller holds the lock of `home`.

    A kill leaves the old state with its worktree, or the new one.

    Args:
        home: where it is made.
        history: has `state.tip` and `state.picked`.
        state: the rebase that stopped; its `tree` is set here.
        replaces: the conflict before this one is resolved, its worktree goes.

    Raises:
        RebaseInProgress: another conflict waits, and is not to be replaced.
        ResolutionProblem: a recorded resolution is damaged.
        MergeBroke: git has a fault of its own, here too.
        DiskFull: no room for a checkout.
    """
    if not replaces:
        refuse_in_progress(home)
    old = load_state(home)
    sweep(home, old)
    place = folder_of(home) / _free_name(state.patch_id, old)
    with staged_dir(place) as staging:
        conflicts, replayed = _pick(history, staging, state, home)
    opened = State.model_validate(state.model_dump() | {"tree": place.name})
    save_state(home, opened)
    sweep(home, opened)
    return Worktree(path=place, state=opened, conflicts=conflicts, resolutions=replayed)


def _free_name(patch_id: str, old: State | None) -> str:
    return f"{patch_id}.2" if old and old.tree == patch_id else patch_id


def _pick(history: Git, place: Path, state: State, home: Home) -> tuple[tuple[str, ...], tuple[Resolution, ...]]:
    repo = private_repository(history, place, markers=USUAL_MARKERS)
    with (place / ".git" / "config").open("a", encoding="utf-8") as stream:
        stream.writelines(map(_config_line, CONFIG))
    repo("checkout", "--quiet", "--detach", state.tip)
    done = _picked(repo, state.picked)
    conflicts = unmerged_paths(repo)
    if done.code == 0:
        repo("reset", "--quiet", "--soft", state.tip)
        repo("update-ref", "CHERRY_PICK_HEAD", state.picked)
    elif not conflicts:
        raise failure_of(done)
    _show_base(repo)
    # git's own text lists the conflicts, and a commit without an editor would keep that list
    (place / ".git" / "MERGE_MSG").write_bytes(repo("log", "-1", "--format=%B", state.picked).stdout)
    (place / ".git" / AS_MERGED).write_bytes((place / ".git" / "index").read_bytes())
    replayed = _settle_known(repo, home)
    settled = {resolution.path for resolution in replayed}
    return tuple(path for path in conflicts if path not in settled), replayed


def _show_base(repo: Git) -> None:
    """Put the common base between the markers of half-merged texts. Their modes stay: git would take the tip's."""
    sides = Counter(fsdecode(stage.path) for stage in unmerged_stages(repo))
    modes = {path: (repo.path / path).lstat().st_mode for path, count in sides.items() if count == ALL_SIDES}
    texts = [path for path, mode in modes.items() if S_ISREG(mode) and MARKER.search((repo.path / path).read_bytes())]
    if texts:
        repo(*_SHOW_BASE, stdin=b"".join(fsencode(path) + b"\0" for path in texts), env=_LITERAL)
    for path in texts:
        (repo.path / path).chmod(S_IMODE(modes[path]))


def _picked(repo: Git, commit: str) -> Completed:
    try:
        return repo(*_PICK, commit, ok_codes=(0, 1))
    except CommandFailed as failed:
        raise as_merge_fault(failed) from None


def _config_line(setting: str) -> str:
    name, _, value = setting.partition("=")
    section, _, key = name.rpartition(".")
    family, _, member = section.partition(".")
    header = f'{family} "{member}"' if member else family
    return f"[{header}]\n\t{key} = {value}\n"


def _settle_known(repo: Git, home: Home) -> tuple[Resolution, ...]:
    """Resolve what recorded resolutions can, and keep the two sides for the record of what a person will do."""
    sides = sides_of(repo, unmerged_stages(repo))
    if sides is None:
        return ()
    for name, commit in zip((OURS, THEIRS), sides, strict=True):
        repo.update_ref(name, commit, None)
    store = load_store(home.patches / resolutions.FOLDER)
    done = replay_resolutions(repo, store, ours=sides[0], theirs=sides[1], work=home.work / "rebase")
    for path, blob in done.settled.items():
        (repo.path / path).write_bytes(repo("cat-file", "blob", blob).stdout)
    listing = b"".join(fsencode(path) + b"\0" for path in done.settled)
    if listing:
        repo("add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=listing, env=_LITERAL)
    return done.resolutions


def instructions(worktree: Worktree) -> str:
    """What a person types now, from going there to the three ways out."""
    state, paths = worktree.state, worktree.conflicts
    lines = [f"settle {state.patch_id} on {state.onto} in its worktree", f"  cd {shell_word(worktree.path)}"]
    if paths:
        lines += [f"  edit {shell_word(path)}" for path in paths]
        lines += [f"  git add -- {words(paths)}"]
    else:
        lines += ["  git diff --cached  # git found no conflict: judge whether what is left of the patch is right"]
    if worktree.resolutions:
        known = words(resolution.path for resolution in worktree.resolutions)
        lines += [f"  git diff --cached -- {known}  # resolved from patches/{resolutions.FOLDER}: read it"]
    return "\n".join([*lines, "  cd -", f"then {ways_out(state)}"])


def words(paths: Iterable[str | Path]) -> str:
    """Paths as a person would type them in a shell."""
    return " ".join(map(shell_word, paths))


def shell_word(path: str | Path) -> str:
    """A path as a person would type it in a shell, whatever bytes it has."""
    text = str(path)
    if text.isprintable():
        return shlex.quote(text)
    escaped = "".join(_escaped(byte) for byte in fsencode(text))
    return f"$'{escaped}'"


def _escaped(byte: int) -> str:
    letter = chr(byte)
    return letter if " " <= letter <= "~" and letter not in "\\'" else f"\\{byte:03o}"
