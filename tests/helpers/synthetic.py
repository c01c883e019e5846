"""Synthetic series of speed commits on a real upstream history: what a fork's series meets, from one seed.

Every commit edits files that upstream changed too between base and aim (and some that it did not), in C, C++, CUDA,
Python and Markdown. Where an edit stands relative to upstream's is the commit's kind: what git makes of it is for git
to say. The same arguments give the same patches, byte for byte.

made = make_series(history, tmp_path, base, aim, count=30, seed=1, deck=MIXED)
rebase(made.git, load_series(made.patches), aim, work=tmp_path / "work")
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.files import write_atomic
from ci.git import IDENTITY_EMAIL, IDENTITY_NAME, Git
from ci.upstream.tags import BuildTag
from tests.helpers.histories import message
from tests.helpers.synthetic_edits import Change, Kind, Writer, draw
from tests.helpers.upstream_change import load_sources

BRANCH = "refs/heads/series"
EPOCH_S = 1_700_000_000
EXPORT = ("--zero-commit", "--full-index", "--no-stat", "--no-signature", "--no-renames", "--binary", "-N")


@dataclass(frozen=True, kw_only=True)
class Made:
    """A series: `git` borrows the history's objects and has its tags; `patches` is the queue; commits oldest first.

    `kinds` says by Speed-Id, in order, what each commit was drawn as.
    """

    git: Git
    patches: Path
    commits: tuple[str, ...]
    kinds: Mapping[str, Kind]


def make_series(
    history: Git, place: Path, base: BuildTag, aim: BuildTag, *, count: int, seed: int, deck: Sequence[Kind]
) -> Made:
    """A series of `count` commits on `base` in repositories of its own below `place`; the history is only read.

    `place/home` is a state directory and `place/checkout/patches` a queue, so the whole command runs on them too.
    """
    git = borrowed(history, place / "home" / "history.git")
    sources = load_sources(history, base, aim)
    writer = Writer(sources, seed=seed)
    kinds = {f"s{at:03}-{kind}": kind for at, kind in enumerate(draw(deck, count=count, seed=seed), start=1)}
    commits = [writer.commit(kind) for kind in kinds.values()]
    head = b"".join(
        _commit(at, name, base, change) for at, (name, change) in enumerate(zip(kinds, commits, strict=True))
    )
    git("fast-import", "--quiet", "--done", stdin=head + b"done\n")
    patches = place / "checkout" / "patches"
    save_queue(git, patches, base, tuple(kinds))
    made = git("rev-list", "--reverse", BRANCH, f"^{base.ref}").text.split()
    return Made(git=git, patches=patches, commits=tuple(made), kinds=kinds)


def borrowed(history: Git, path: Path) -> Git:
    """A bare repository with the builds of `history` as tags and none of its objects copied."""
    git = Git.open_bare(path)
    objects = history("rev-parse", "--path-format=absolute", "--git-path", "objects").text
    (path / "objects" / "info" / "alternates").write_text(f"{objects}\n")
    tags = history("for-each-ref", "--format=create %(refname) %(objectname)", "refs/tags/b*").stdout
    git("update-ref", "--stdin", stdin=tags)
    return git


def save_queue(git: Git, patches: Path, base: BuildTag, names: Sequence[str]) -> None:
    """Write base.toml, series and the patch file of each commit of the branch, in order."""
    made = git("format-patch", *EXPORT, "-o", patches.parent / "mails", f"{base.ref}..{BRANCH}").text.split("\n")
    raws = [Path(line).read_bytes() for line in made]
    for name, raw in zip(names, raws, strict=True):
        write_atomic(patches / f"{name}.patch", raw)
    write_atomic(patches / "series", "".join(f"{name}.patch\n" for name in names).encode())
    tree = git.tree_of(base.ref)
    write_atomic(patches / "base.toml", f'tag = "{base}"\ntree = "{tree}"\nrevision = 1\n'.encode())


def _commit(at: int, name: str, base: BuildTag, changes: Sequence[Change]) -> bytes:
    """One commit for fast-import."""
    who = f"{IDENTITY_NAME} <{IDENTITY_EMAIL}> {EPOCH_S + at} +0000"
    text = message(name, str(base)).encode()
    start = f"from {base.ref}^0\n" if at == 0 else ""
    head = f"commit {BRANCH}\nauthor {who}\ncommitter {who}\ndata {len(text)}\n".encode() + text + start.encode()
    return head + b"".join(_change(change) for change in changes) + b"\n"


def _change(change: Change) -> bytes:
    if change.data is None:
        return f"D {change.path}\n".encode()
    return f"M {change.mode} inline {change.path}\ndata {len(change.data)}\n".encode() + change.data + b"\n"
