"""The one door to the git command line: hooks, prompts, user configuration and exotic protocols are off.

`Git` is bound to one repository (bare or not) and asks one question per call. Names that come from outside are
passed after `--end-of-options` or refused when they begin with a dash.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.dialogue import Dialogue
from ci.errors import UsageProblem
from ci.gittree import NO_OBJECT, TreeFile, parse_listing, split_batch
from ci.process import Completed, find_tool, run, scrubbed_env

IDENTITY_NAME = "speedfork"
IDENTITY_EMAIL = "speedfork@example.org"
EPOCH = "1700000000 +0000"
"""Committer date of everything we create: the same input gives the same commit id on every machine."""

SIGNATURE = f"{IDENTITY_NAME} <{IDENTITY_EMAIL}> {EPOCH}"
"""Identity and date as a line of a commit or tag object holds them."""

BLOB_BATCH = 400
"""Blobs per `git cat-file` process: bounds memory to a few dozen megabytes on llama.cpp's tree."""

SAFE_CONFIG = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "init.defaultBranch=main",
    "rerere.enabled=false",
    "submodule.recurse=false",
    "transfer.fsckObjects=true",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    # trees from elsewhere may carry .gitattributes; they must not change bytes on checkout or merge drivers
    "core.eol=lf",
)


def git_environ(environ: Mapping[str, str] | None = None, *, date: str = EPOCH) -> dict[str, str]:
    """A child environment in which no ambient git setting counts."""
    fixed = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "false",
        "GIT_SEQUENCE_EDITOR": "true",
        "GIT_AUTHOR_NAME": IDENTITY_NAME,
        "GIT_AUTHOR_EMAIL": IDENTITY_EMAIL,
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_NAME": IDENTITY_NAME,
        "GIT_COMMITTER_EMAIL": IDENTITY_EMAIL,
        "GIT_COMMITTER_DATE": date,
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
    return scrubbed_env(environ, extra=fixed)


def refuse_dash(name: str, *, what: str) -> str:
    """Return `name`, or refuse one that git would read as an option.

    Raises:
        UsageProblem: it is empty or begins with a dash.
    """
    if not name or name.startswith("-"):
        raise UsageProblem(
            f"{what} {name!r} is empty or begins with a dash", hint=f"give a {what} without a leading dash"
        )
    return name


@dataclass(frozen=True, kw_only=True)
class Git:
    """Git in one directory: a bare repository, or a working tree."""

    path: Path

    def __call__(
        self,
        *args: str | Path,
        stdin: bytes | None = None,
        ok_codes: Sequence[int] = (0,),
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Completed:
        """Run `git -C path ...` with the safe configuration; `env` adds to the fixed environment.

        Raises:
            CommandFailed: an exit code outside `ok_codes`.
        """
        argv, settled = self._command(args), {**git_environ(), **(env or {})}
        return run(argv, env=settled, stdin=stdin, ok_codes=ok_codes, timeout=timeout)

    def dialogue(self, *args: str | Path) -> Dialogue:
        """A git command that is asked again and again; each answer comes at once, not when a buffer is full."""
        unbuffered = (find_tool("stdbuf", hint="apt-get install coreutils"), "--output=0")
        return Dialogue((*unbuffered, *self._command(args)), env=git_environ())

    def _command(self, args: Sequence[str | Path]) -> tuple[str | Path, ...]:
        options = (word for setting in SAFE_CONFIG for word in ("-c", setting))
        return (find_tool("git", hint="apt-get install git"), *options, "-C", self.path, *args)

    @classmethod
    def open_bare(cls, path: Path) -> "Git":
        """The bare repository at `path`, created when it is not there yet."""
        if not (path / "HEAD").is_file():
            path.mkdir(parents=True, exist_ok=True)
            cls(path=path)("init", "--quiet", "--bare", ".")
        return cls(path=path)

    @property
    def objects_dir(self) -> Path:
        """Where its objects lie."""
        said = self("rev-parse", "--path-format=absolute", "--git-path", "objects").stdout
        return Path(os.fsdecode(said.removesuffix(b"\n")))

    def resolve(self, revision: str) -> str | None:
        """Object id of a revision, or None when there is none."""
        refuse_dash(revision, what="revision")
        done = self("rev-parse", "--verify", "--quiet", "--end-of-options", revision, ok_codes=(0, 1, 128))
        return done.text if done.code == 0 else None

    def commit_of(self, revision: str) -> str | None:
        """Commit id behind a revision or tag, or None."""
        return self.resolve(f"{revision}^{{commit}}")

    def tree_of(self, revision: str) -> str | None:
        """Tree id behind a revision or tag, or None."""
        return self.resolve(f"{revision}^{{tree}}")

    def is_made_here(self, revision: str) -> bool:
        """Whether a commit was made by us, out of an archive or a patch file.

        Raises:
            CommandFailed: no such commit.
        """
        refuse_dash(revision, what="revision")
        return self("log", "-1", "--format=%ce", "--end-of-options", revision).text == IDENTITY_EMAIL

    def tags(self, pattern: str = "*") -> tuple[str, ...]:
        """Tag names that match a glob, unordered."""
        done = self("for-each-ref", "--format=%(refname:strip=2)", f"refs/tags/{pattern}")
        return tuple(done.text.splitlines())

    def commits_of_tags(self) -> dict[str, str]:
        """The commit behind each tag that has one, by tag name."""
        tagged, plain = "%(*objectname) %(*objecttype)", "%(objectname) %(objecttype)"
        form = f"%(refname:strip=2) %(if)%(*objectname)%(then){tagged}%(else){plain}%(end)"
        rows = (line.split(" ") for line in self("for-each-ref", f"--format={form}", "refs/tags").text.splitlines())
        return {name: commit for name, commit, kind in rows if kind == "commit"}

    def files_of(self, tree: str) -> tuple[TreeFile, ...]:
        """All files of a revision or tree, submodules included, in git's order.

        Raises:
            CommandFailed: no such tree.
        """
        refuse_dash(tree, what="tree")
        return tuple(parse_listing(self("ls-tree", "-r", "-l", "-z", "--full-tree", tree).stdout))

    def blobs_of(self, files: Sequence[TreeFile]) -> Iterator[tuple[TreeFile, bytes]]:
        """Each file with its content as git holds it: no attribute, filter or line-end rule applies.

        Raises:
            SourceTreeProblem: an object is missing or no blob.
        """
        for start in range(0, len(files), BLOB_BATCH):
            batch = files[start : start + BLOB_BATCH]
            asked = "".join(f"{file.object_id}\n" for file in batch).encode()
            yield from zip(batch, split_batch(self("cat-file", "--batch", stdin=asked).stdout), strict=True)

    def update_ref(self, ref: str, new: str, old: str | None) -> None:
        """Move a ref as compare-and-swap; `old` None means that it must not exist yet.

        Raises:
            CommandFailed: the ref moved meanwhile.
        """
        self("update-ref", "--end-of-options", refuse_dash(ref, what="ref"), new, old or NO_OBJECT)
