"""Small real git histories: upstream builds as tags, speed commits as patch files.

past = Past(tmp_path)
past.build("b100", {"a.txt": numbered(30)})
past.patch("speed-up", {"a.txt": changed(numbered(30), 12)})
past.build("b101", {"a.txt": b"new\n" + numbered(30)})
past.save(patches)            # series, base.toml and *.patch
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ci.git import Git

TRAILERS = """Speed-Id: {id}
Speed-Feature: host-path
Speed-Numerics: bitwise
Speed-Targets: cpu sm75 sm120
Speed-Switch: LLAMA_ARG_SPEED
Requires-Upstream: {build}
Upstream-Status: Pending
Retire-When: upstream does the same
"""


@dataclass(frozen=True)
class Entry:
    """A tree entry with its mode; plain bytes stand for 100644."""

    data: bytes
    mode: str = "100644"


Files = Mapping[str, bytes | Entry | None]


def numbered(count: int, *, end: str = "\n") -> bytes:
    """`line 1` to `line count`."""
    return "".join(f"line {n}{end}" for n in range(1, count + 1)).encode()


def changed(text: bytes, line: int, to: bytes = b"speed") -> bytes:
    """`text` with one line (from 1) replaced; its line end stays."""
    lines = text.splitlines(keepends=True)
    old = lines[line - 1]
    lines[line - 1] = to + old[len(old.rstrip(b"\r\n")) :]
    return b"".join(lines)


def message(patch_id: str, build: str, subject: str | None = None, body: str = "Why it is faster.") -> str:
    """A commit message with all required trailers."""
    return f"{subject or f'Make {patch_id} fast'}\n\n{body}\n\n{TRAILERS.format(id=patch_id, build=build)}"


@dataclass
class Past:
    """A bare history under construction; the first build is the base of the patches."""

    root: Path
    builds: dict[str, str] = field(default_factory=dict)
    patches: dict[str, bytes] = field(default_factory=dict)
    tip: str = ""

    def __post_init__(self) -> None:
        self.git = Git.open_bare(self.root / "history.git")

    @property
    def base(self) -> str:
        """Tag of the first build."""
        return next(iter(self.builds))

    def build(self, tag: str, files: Files) -> str:
        """An upstream build whose tree is exactly `files`; returns its commit."""
        parents = list(self.builds.values())[-1:]
        commit = self.commit(self.tree(files), parents, f"upstream {tag}")
        self.git.update_ref(f"refs/tags/{tag}", commit, None)
        self.builds[tag] = commit
        return commit

    def patch(
        self, patch_id: str, files: Files, *, text: str | bytes | None = None, env: Mapping[str, str] | None = None
    ) -> bytes:
        """A speed commit that changes `files` (None deletes) on top of the last one; returns its patch file."""
        parent = self.tip or self.builds[self.base]
        self.tip = self.commit(
            self.tree(files, start=parent), [parent], text or message(patch_id, self.base), env=env
        )
        options = ("--zero-commit", "--full-index", "--no-stat", "--no-signature", "--no-renames", "--binary", "-N")
        self.patches[patch_id] = self.git("format-patch", "--stdout", "-1", *options, self.tip).stdout
        return self.patches[patch_id]

    def tree(self, files: Files, *, start: str | None = None) -> str:
        """A tree id: `files` alone, or laid over the tree of `start`."""
        env = {"GIT_INDEX_FILE": str(self.root / "index")}
        self.git("read-tree", start or "--empty", env=env)
        for path, content in files.items():
            entry = Entry(content) if isinstance(content, bytes) else content
            if entry is None:
                gone = f"0 {'0' * 40}\t{path}\n".encode()
                self.git("update-index", "--index-info", stdin=gone, env=env)
            else:
                blob = self.git("hash-object", "-w", "--no-filters", "--stdin", stdin=entry.data).text
                self.git("update-index", "--replace", "--add", "--cacheinfo", f"{entry.mode},{blob},{path}", env=env)
        return self.git("write-tree", env=env).text

    def commit(
        self, tree: str, parents: list[str], text: str | bytes, *, env: Mapping[str, str] | None = None
    ) -> str:
        """A commit object."""
        raw = text.encode() if isinstance(text, str) else text
        argv = [word for parent in parents for word in ("-p", parent)]
        return self.git("commit-tree", tree, *argv, stdin=raw, env=env).text

    def save(self, patches_dir: Path) -> Path:
        """Write the queue: series, base.toml and every patch."""
        patches_dir.mkdir(parents=True, exist_ok=True)
        tree = self.git.tree_of(self.builds[self.base])
        (patches_dir / "base.toml").write_text(f'tag = "{self.base}"\ntree = "{tree}"\nrevision = 1\n')
        (patches_dir / "series").write_text("".join(f"{name}.patch\n" for name in self.patches))
        for name, raw in self.patches.items():
            (patches_dir / f"{name}.patch").write_bytes(raw)
        return patches_dir

    def content(self, revision: str, path: str) -> bytes:
        """Bytes of a file in a commit."""
        return self.git("cat-file", "blob", f"{revision}:{path}").stdout

    def listing(self, revision: str) -> dict[str, str]:
        """Mode of every path in a commit."""
        lines = self.git("ls-tree", "-r", "-z", revision).stdout.decode().split("\0")[:-1]
        return {line.split("\t")[1]: line.split()[0] for line in lines}

    def footprint(self) -> tuple[str, tuple[str, ...]]:
        """All that a person would see: refs, and files of the repository other than objects."""
        refs = self.git("for-each-ref").text
        files = (p.relative_to(self.git.path) for p in self.git.path.rglob("*") if p.is_file())
        return refs, tuple(sorted(str(f) for f in files if f.parts[0] != "objects"))
