"""Taking over what a person did in the worktree of a conflict: checked, recorded, handed to the history."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import fsdecode
from pathlib import Path

from ci.errors import ConfigProblem, RebaseUnfinished
from ci.git import SIGNATURE, Git
from ci.gittree import EXECUTABLE, FILE, TreeFile
from ci.home import Home
from ci.series.byhand.rebase_state import ABORT, CONTINUE, Settled, State, require_state, worktree_of
from ci.series.byhand.rerere import MARKER, stages_of, unmerged_paths
from ci.series.byhand.resolutions import FOLDER, NotRecorded, Recorded, record
from ci.series.byhand.worktree import AS_MERGED, OURS, THEIRS, shell_word, words
from ci.series.engine.scratch import hand_over
from ci.series.intake.rawcommit import parse_commit
from ci.series.message import read_trailers
from ci.series.trailers import parse_trailers

_MARKER_LINE = re.compile(rb"^(?:<{7}|\|{7}|={7}|>{7})(?:[ \t\r].*)?$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Collected:
    """A resolved conflict: what the patch became (a commit in the history, under no name), and what was recorded."""

    state: State
    settled: Settled
    recorded: Recorded


def collect(home: Home, history: Git) -> Collected:
    """Take over what is in the worktree of the waiting rebase; worktree and state stay until the caller moves on.

    The message and author are the patch's, or those of the one commit that the person made. Repeating it gives the
    same answer. The caller holds the lock of `home`.

    Raises:
        NoRebase: none is waiting.
        RebaseUnfinished: lists what is still to be done, with the commands.
        ConfigProblem: the worktree is gone.
        ResolutionProblem: the store of resolutions is damaged.
    """
    state = require_state(home)
    repo = _opened(home, state)
    _require_done(repo)
    source = _source_commit(repo, state)
    files = _Files.of(repo, state)
    _require_change(repo, files, state)
    recorded = _record(repo, home, files)
    raw = replace(parse_commit(repo("cat-file", "commit", source).stdout), tree=files.tree, parents=(state.tip,))
    carried = raw.render(committer=SIGNATURE)
    commit = repo("hash-object", "-t", "commit", "-w", "--stdin", stdin=carried).text
    hand_over(repo, history, commit)
    settled = Settled(
        patch_id=state.patch_id, tip_tree=repo.tree_of(state.tip) or "", result_tree=files.tree, commit=commit
    )
    return Collected(state=state, settled=settled, recorded=recorded)


def _opened(home: Home, state: State) -> Git:
    place = worktree_of(home, state)
    repo = Git(path=place)
    if not (place / ".git").is_dir() or not (repo.commit_of(state.tip) and repo.commit_of(state.picked)):
        raise ConfigProblem(
            f"{place}: the worktree of {state.patch_id} is not there, or has lost its commits", hint=ABORT
        )
    return repo


def _unfinished(repo: Git, faults: Iterable[str], *steps: str) -> RebaseUnfinished:
    listed = "".join(f"\n    {fault}" for fault in faults)
    lines = ("finish it there", f"cd {shell_word(repo.path)}", *steps, "cd -", CONTINUE)
    return RebaseUnfinished(f"{repo.path}: not ready to be taken over{listed}", hint="\n  ".join(lines))


def _require_done(repo: Git) -> None:
    """Everything is resolved and added.

    Raises:
        RebaseUnfinished: names each file.
    """
    repo("update-index", "-q", "--refresh", ok_codes=(0, 1))
    unmerged = unmerged_paths(repo)
    edited = [path for path in _names(repo, "diff-files", "--name-only", "-z") if path not in unmerged]
    fresh = _names(repo, "ls-files", "--others", "--exclude-standard", "-z")
    waiting = [f"{shell_word(path)}: {_conflict_words(repo, path)}" for path in unmerged]
    waiting += [f"{shell_word(path)}: changed and not added" for path in edited]
    waiting += [
        f"{shell_word(path)}: a new file, not added (remove it if it is no part of the patch)" for path in fresh
    ]
    if waiting:
        marked = (f"edit {shell_word(path)}" for path in unmerged if _has_markers(repo, path))
        raise _unfinished(repo, waiting, *marked, f"git add -- {words((*unmerged, *edited, *fresh))}")


def _names(repo: Git, *argv: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fsdecode(path) for path in repo(*argv).stdout.split(b"\0")[:-1]))


def _conflict_words(repo: Git, path: str) -> str:
    if not _is_plain(repo.path / path):
        return "in conflict (git add what is right, or git rm it)"
    return "still holds conflict markers" if _has_markers(repo, path) else "edited and not added"


def _has_markers(repo: Git, path: str) -> bool:
    file = repo.path / path
    return _is_plain(file) and bool(MARKER.search(file.read_bytes()))


def _is_plain(file: Path) -> bool:
    return file.is_file() and not file.is_symlink()


def _source_commit(repo: Git, state: State) -> str:
    """The commit that gives message and author: the patch's own, or the one that the person made on the tip.

    Raises:
        RebaseUnfinished: more than one commit, one elsewhere, or one that lost the patch's identity.
    """
    head = repo("rev-parse", "--verify", "HEAD").text
    if head == state.tip:
        return state.picked
    made = parse_commit(repo("cat-file", "commit", head).stdout)
    if made.parents != (state.tip,):
        fault = f"HEAD is not one commit on {state.tip[:12]}: one patch stays one commit"
        raise _unfinished(repo, [fault], f"git reset --soft {state.tip}")
    if repo("write-tree").text != made.tree:
        raise _unfinished(repo, ["changes were added after the commit"], "git commit --amend")
    trailers = parse_trailers(read_trailers(made.message_text))
    if isinstance(trailers, tuple):
        raise _unfinished(repo, [f"the commit message: {fault}" for fault in trailers], "git commit --amend")
    if trailers.id != state.patch_id:
        fault = f"the commit message: Speed-Id is {trailers.id}, expected {state.patch_id}"
        raise _unfinished(repo, [fault], "git commit --amend")
    return head


@dataclass(frozen=True, kw_only=True)
class _Files:
    """The result's tree, and all files by path of the result and of both sides."""

    tree: str
    result: Mapping[bytes, TreeFile]
    tip: Mapping[bytes, TreeFile]
    picked: Mapping[bytes, TreeFile]

    @classmethod
    def of(cls, repo: Git, state: State) -> "_Files":
        tree = repo("write-tree").text
        result, tip, picked = (
            {file.path: file for file in repo.files_of(name)} for name in (tree, state.tip, state.picked)
        )
        return cls(tree=tree, result=result, tip=tip, picked=picked)

    def changed(self) -> Iterator[bytes]:
        """Paths of regular files that differ from the tip's."""
        for path, file in self.result.items():
            before = self.tip.get(path)
            if file.mode in (FILE, EXECUTABLE) and (before is None or before.object_id != file.object_id):
                yield path


def _require_change(repo: Git, files: _Files, state: State) -> None:
    """The result says something, and holds no conflict markers.

    Raises:
        RebaseUnfinished: it equals the tip, or has marker lines that neither side has.
    """
    if files.tree == repo.tree_of(state.tip):
        raise RebaseUnfinished(
            f"{repo.path}: nothing is left of {state.patch_id}: the files are those it was to change",
            hint=f"one of\n  {state.skip}  # when upstream has made it unnecessary\n  {ABORT}",
        )
    found = {shell_word(fsdecode(path)): tuple(_new_markers(repo, files, path)) for path in files.changed()}
    faults = [
        f"{name}: still holds conflict markers: {line.decode('utf-8', 'replace')}"
        for name, lines in found.items()
        for line in lines
    ]
    if faults:
        names = [name for name, lines in found.items() if lines]
        raise _unfinished(repo, faults, *(f"edit {name}" for name in names), f"git add -- {' '.join(names)}")


def _new_markers(repo: Git, files: _Files, path: bytes) -> Iterator[bytes]:
    """Marker lines of a file that it has more often than both sides together."""
    own = [side[path] for side in (files.tip, files.picked) if path in side]
    (_, after), *before = repo.blobs_of([files.result[path], *own])
    allowed = Counter(line for _, data in before for line in _MARKER_LINE.findall(data))
    yield from Counter(_MARKER_LINE.findall(after)) - allowed


def _record(repo: Git, home: Home, files: _Files) -> Recorded:
    """Put into the store what it can hold; the answer names the rest."""
    ours, theirs = repo.resolve(OURS), repo.resolve(THEIRS)
    fit: set[bytes] = set()
    done = Recorded()
    if ours and theirs:
        fit = {file.path for file in repo.files_of(theirs)}
        kept = [files.result[path] for path in sorted(fit) if path in files.result]
        resolved = {file.name: data for file, data in repo.blobs_of(kept)}
        place = home.patches / FOLDER
        done = record(repo, place, ours=ours, theirs=theirs, resolved=resolved, work=home.work / "rebase")
    return replace(done, left=(*done.left, *_beyond(repo, files, fit)))


def _beyond(repo: Git, files: _Files, fit: Collection[bytes]) -> Iterator[NotRecorded]:
    """What the person did apart from resolving conflicts in files: a replay would not do it."""
    merged = {stage.path: stage for stage in stages_of(repo, index=repo.path / ".git" / AS_MERGED)}
    for path in sorted(merged.keys() | files.result.keys()):
        before, after = merged.get(path), files.result.get(path)
        if path in fit:
            continue
        if before and before.number:
            yield NotRecorded(path=fsdecode(path), why="rerere knows only files that are there on both sides")
        elif not (before and after) or (before.mode, before.blob) != (after.mode, after.object_id):
            yield NotRecorded(path=fsdecode(path), why="changed without a conflict: rerere records conflicts only")
