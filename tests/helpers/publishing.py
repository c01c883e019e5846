"""A history that publishes, and bare repositories that play the fork and its other writers."""

from dataclasses import dataclass
from pathlib import Path

from ci.git import Git
from ci.release.version import ReleaseId
from ci.series.publishing.publish import ALIAS, Fork, patch_ids, write_tag
from ci.series.publishing.publish_plan import Wanted
from ci.series.publishing.release_tag import ReleaseTag, TaggedPatch
from ci.upstream.address import RemoteAddress
from tests.helpers.histories import Past, changed, numbered

LINES = numbered(30)
BRANCH = "refs/heads/speed"
COMMAND = "invoke publish-series"


def series_of_two(root: Path) -> Past:
    """Build b100 and two patches on it."""
    past = Past(root)
    past.build("b100", {"a.txt": LINES, "b.txt": LINES})
    past.patch("first", {"a.txt": changed(LINES, 12)})
    past.patch("second", {"b.txt": changed(LINES, 20)})
    return past


def fork_at(past: Past, address: Path | str) -> Fork:
    """The remote as the history talks to it."""
    return Fork(git=past.git, remote=RemoteAddress(url=str(address), alias=ALIAS, environ={}))


def tag_of(past: Past, release: str = "b100-speed.1") -> ReleaseTag:
    """The release whose head is the last patch of the history."""
    commits = past.git("rev-list", "--reverse", f"{past.builds[past.base]}..{past.tip}").text.splitlines()
    ids = patch_ids(past.git, commits)
    lines = [TaggedPatch(id=f"p{n}", subject=f"Patch {n}", patch_id=ids[c]) for n, c in enumerate(commits, 1)]
    return ReleaseTag(
        release=ReleaseId.parse(release),
        head=past.tip,
        tree=str(past.git.tree_of(past.tip)),
        base_tree=str(past.git.tree_of(past.base)),
        patches=tuple(lines),
    )


def wanted(past: Past, release: str = "b100-speed.1", branch: str = BRANCH) -> Wanted:
    """Branch and tag for the last patch of the history."""
    tag = tag_of(past, release)
    return Wanted(
        branch=branch,
        head=tag.head,
        tag=tag.ref,
        tag_object=write_tag(past.git, tag),
        release=tag.release,
        command=COMMAND,
    )


def refs(git: Git) -> dict[str, str]:
    """Object id by ref."""
    lines = git("for-each-ref", "--format=%(refname) %(objectname)").text.splitlines()
    found = (line.partition(" ") for line in lines)
    return {name: value for name, _, value in found}


@dataclass(frozen=True)
class Rival:
    """Another writer of the same fork: a commit of its own, pushed without asking."""

    git: Git
    fork: Path
    commit: str

    @classmethod
    def at(cls, root: Path, fork: Path, *, text: str = "rival") -> "Rival":
        git = Git.open_bare(root)
        tree = git("mktree", stdin=b"").text
        return cls(git, fork, git("commit-tree", tree, stdin=text.encode()).text)

    def push(self, ref: str, value: str | None = None) -> None:
        """Put a ref on the fork, by default at the rival's commit."""
        self.git("push", "--quiet", "--force", str(self.fork), f"{value or self.commit}:{ref}")

    def annotated(self, name: str) -> str:
        """A tag object of the rival on its commit."""
        text = f"object {self.commit}\ntype commit\ntag {name}\ntagger r <r@example.org> 1 +0000\n\nmine\n"
        return self.git("mktag", stdin=text.encode()).text
