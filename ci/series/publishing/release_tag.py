"""The annotated tag of a release as bytes: the same series on the same build gives the same object everywhere."""

from collections.abc import Sequence
from dataclasses import dataclass

from ci.release.version import ReleaseId


@dataclass(frozen=True, kw_only=True)
class TaggedPatch:
    """One patch of the release: its Speed-Id, its subject, and git's stable patch-id of its commit."""

    id: str
    subject: str
    patch_id: str


@dataclass(frozen=True, kw_only=True)
class ReleaseTag:
    """What a release's tag says: head and tree of the speed branch, the base's tree, the patches in order."""

    release: ReleaseId
    head: str
    tree: str
    base_tree: str
    patches: tuple[TaggedPatch, ...]

    @property
    def ref(self) -> str:
        """The tag's full ref name."""
        return f"refs/tags/{self.release}"

    def raw(self, *, tagger: str) -> bytes:
        """The tag object, as `git mktag` reads it; `tagger` says who made it, and when."""
        head = f"object {self.head}\ntype commit\ntag {self.release}\ntagger {tagger}\n"
        return f"{head}\n{self.message()}".encode("utf-8", "replace")

    def message(self) -> str:
        """The release, its base and trees, then one line a patch."""
        count = len(self.patches)
        first = f"{self.release}: {count} speed {'patch' if count == 1 else 'patches'} on llama.cpp"
        ids = f"Base: {self.release.build}\nBase-Tree: {self.base_tree}\nSpeed-Tree: {self.tree}\n"
        return f"{first} {self.release.build}\n\n{ids}\n{_lines(self.patches)}"


def _lines(patches: Sequence[TaggedPatch]) -> str:
    return "".join(f"{patch.patch_id} {patch.id}: {' '.join(patch.subject.split())}\n" for patch in patches)
