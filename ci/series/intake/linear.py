"""A fork's commits as one line: oldest first, each with the tree that the series has after it.

Where a commit's parent is what the line holds so far, its tree is taken as it is. Behind a merge that is not so: the
commit is then replayed with git's own merge. Linearising is exact when the line ends in the very tree of the fork's
last commit; anything else is refused, with the merge that is to blame.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ci.errors import RangeProblem
from ci.git import Git
from ci.series.intake.wording import in_print

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
MERGE = ("merge-tree", "--write-tree", "--no-messages", "--name-only", "-z")
FLATTEN = "in a clone of the fork, git rebase {base} makes the series linear; import that branch"

Progress: TypeAlias = Callable[[float, float | None, str], None]


@dataclass(frozen=True, kw_only=True)
class Node:
    """A commit of the fork: id, tree, parents."""

    commit: str
    tree: str
    parents: tuple[str, ...]

    @property
    def is_merge(self) -> bool:
        """Whether it has several parents."""
        return len(self.parents) > 1


@dataclass(frozen=True, kw_only=True)
class Step:
    """A commit of the fork that becomes a patch, and the tree of the series with it."""

    commit: str
    tree: str


@dataclass(frozen=True, kw_only=True)
class Dropped:
    """A commit of the fork that becomes no patch, and why."""

    commit: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Line:
    """The fork's commits in one line."""

    steps: tuple[Step, ...]
    dropped: tuple[Dropped, ...]
    tree: str


@dataclass(frozen=True, kw_only=True)
class _Clash:
    """A commit that cannot be replayed where its turn comes, and the paths."""

    node: Node
    paths: tuple[str, ...]


def linearised(repo: Git, base: str, tip: str, progress: Progress) -> Line:
    """Put the commits between two in one line.

    Args:
        repo: a repository that has both, and takes new objects.
        base: id of the commit to stand on.
        tip: id of the fork's last commit.
        progress: hears of each commit.

    Raises:
        RangeProblem: the range is empty, or not one line of work on the base; or merges in it hold work of their own.
    """
    nodes = _nodes(repo, base, tip)
    _check_range(repo, base, tip, nodes)
    replay = _Replay(repo, base, nodes)
    line = replay.line(nodes, progress)
    if isinstance(line, _Clash):
        raise _clash_problem(repo, line, base, nodes)
    if line.tree != nodes[-1].tree:
        raise _evil_merge(replay, repo, base, nodes)
    if not line.steps:
        raise RangeProblem(f"all {len(nodes)} commits of the range change nothing", hint="give another --range")
    return line


def _nodes(repo: Git, base: str, tip: str) -> tuple[Node, ...]:
    listed = repo("log", "--topo-order", "--reverse", "--format=%H %T %P", f"{base}..{tip}").text.splitlines()
    words = (line.split() for line in listed)
    return tuple(Node(commit=commit, tree=tree, parents=tuple(parents)) for commit, tree, *parents in words)


def _check_range(repo: Git, base: str, tip: str, nodes: Sequence[Node]) -> None:
    """Refuse what is no work on top of the base."""
    if base == tip:
        raise RangeProblem(f"the range is empty: both ends are commit {tip}", hint="give another --range A..B")
    forks_at = repo("merge-base", base, tip, ok_codes=(0, 1)).text
    if not forks_at:
        raise RangeProblem(
            f"{base} and {tip} are unrelated: they have no commit in common",
            hint="put the fork's commits on the upstream build first (git rebase --onto), then import them",
        )
    if forks_at != base:
        where = f"{base} is behind {tip}: is it B..A?" if forks_at == tip else f"they part at {forks_at}"
        raise RangeProblem(f"{base} is no ancestor of {tip}: {where}", hint="give --range A..B with A below B")
    assert nodes  # noqa: S101 - a descendant that is not the base itself


class _Replay:
    """Lines of commits on one base, each replay done once."""

    def __init__(self, repo: Git, base: str, nodes: Sequence[Node]) -> None:
        self._repo = repo
        self._trees = {node.commit: node.tree for node in nodes}
        self._base_tree = self._tree(base)
        self._known: dict[tuple[str, str, str], str | tuple[str, ...]] = {}

    def line(self, nodes: Sequence[Node], progress: Progress | None = None) -> Line | _Clash:
        """The line of some commits, or the first that does not go through."""
        steps: list[Step] = []
        dropped: list[Dropped] = []
        tip = self._base_tree
        for done, node in enumerate(nodes):
            if progress:
                progress(done, len(nodes), f"ordering {node.commit[:12]}")
            after = tip if node.is_merge else self._after(node, tip)
            if isinstance(after, tuple):
                return _Clash(node=node, paths=after)
            if after == tip:
                dropped.append(Dropped(commit=node.commit, why=self._why(node)))
            else:
                steps.append(Step(commit=node.commit, tree=after))
            tip = after
        return Line(steps=tuple(steps), dropped=tuple(dropped), tree=tip)

    def _after(self, node: Node, tip: str) -> str | tuple[str, ...]:
        """The tree with this commit's change, or the paths that conflict."""
        before = self._before(node)
        if tip == before:
            return node.tree
        if node.tree == before:
            return tip
        asked = (before, tip, node.tree)
        if asked not in self._known:
            self._known[asked] = merged_tree(self._repo, *asked)
        return self._known[asked]

    def _before(self, node: Node) -> str:
        return self._tree(node.parents[0]) if node.parents else EMPTY_TREE

    def _why(self, node: Node) -> str:
        if node.is_merge:
            return "a merge; its commits stand in one line"
        return "changes nothing" if node.tree == self._before(node) else "what it changes is in the line already"

    def _tree(self, commit: str) -> str:
        if commit not in self._trees:
            self._trees[commit] = self._repo.tree_of(commit) or EMPTY_TREE
        return self._trees[commit]


def merged_tree(repo: Git, base: str, ours: str, theirs: str) -> str | tuple[str, ...]:
    """Merge trees as git does: the tree, or the paths that conflict."""
    below = repo("commit-tree", base, "-m", "base").text
    sides = [repo("commit-tree", tree, "-p", below, "-m", "side").text for tree in (ours, theirs)]
    done = repo(*MERGE, *sides, ok_codes=(0, 1))
    tree, *paths = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    return tree if done.code == 0 else tuple(path for path in paths if path)


def _ancestors(node: Node, by_commit: Mapping[str, Node]) -> set[str]:
    found: set[str] = set()
    left = [node.commit]
    while left:
        commit = left.pop()
        if commit in by_commit and commit not in found:
            found.add(commit)
            left += by_commit[commit].parents
    return found


def _clash_problem(repo: Git, clash: _Clash, base: str, nodes: Sequence[Node]) -> RangeProblem:
    by_commit = {node.commit: node for node in nodes}
    later = nodes[nodes.index(clash.node) :]
    merge = next(n for n in later if n.is_merge and clash.node.commit in _ancestors(n, by_commit))
    paths = ", ".join(clash.paths)
    return RangeProblem(
        f"merge {_named(repo, merge)} cannot be made linear: commit {_named(repo, clash.node)} conflicts in {paths}"
        " with what stands before it in the line, and the merge holds the answer",
        hint=FLATTEN.format(base=base),
    )


def _evil_merge(replay: _Replay, repo: Git, base: str, nodes: Sequence[Node]) -> RangeProblem:
    """The first merge whose own commits, in one line, do not give its tree."""
    by_commit = {node.commit: node for node in nodes}
    merges = [node for node in nodes if node.is_merge]
    for merge in merges:
        within = _ancestors(merge, by_commit)
        line = replay.line([node for node in nodes if node.commit in within])
        if not isinstance(line, Line) or line.tree != merge.tree:
            break
    else:
        merge = merges[-1]
    return RangeProblem(
        f"merge {_named(repo, merge)} cannot be made linear: it holds changes that none of its commits makes"
        f" (its tree is {merge.tree}; its commits in one line do not give it)",
        hint=FLATTEN.format(base=base),
    )


def _named(repo: Git, node: Node) -> str:
    return f"{node.commit} ({in_print(repo('log', '-1', '--format=%s', node.commit).text)})"
