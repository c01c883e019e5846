"""A generated history as a real repository, made by one `git fast-import` and one `git format-patch`."""

from dataclasses import dataclass
from os import fsencode
from pathlib import Path

from ci.git import Git
from ci.series.export import FORMAT
from tests.helpers.generated import AIM, BASE, History, Speed


@dataclass(frozen=True, kw_only=True)
class Built:
    """A history as a git repository: builds are tags; `raws` are the patch files that export writes."""

    git: Git
    base: str
    aim: str
    commits: tuple[str, ...]
    raws: tuple[bytes, ...]
    speed: tuple[Speed, ...]

    def save(self, patches_dir: Path) -> Path:
        """Write the queue: series, base.toml and every patch."""
        patches_dir.mkdir(parents=True)
        tree = self.git.tree_of(self.base)
        (patches_dir / "base.toml").write_text(f'tag = "{BASE}"\ntree = "{tree}"\nrevision = 1\n')
        (patches_dir / "series").write_text("".join(f"{speed.id}.patch\n" for speed in self.speed))
        for speed, raw in zip(self.speed, self.raws, strict=True):
            (patches_dir / f"{speed.id}.patch").write_bytes(raw)
        return patches_dir


def build(history: History, place: Path) -> Built:
    """The history as a bare repository in `place`: one `git fast-import`, one `git format-patch`."""
    git = Git.open_bare(place / "history.git")
    marks = place / "marks"
    git("-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", f"--export-marks={marks}", stdin=_stream(history))
    by_mark = dict(line.split() for line in marks.read_text().splitlines())
    base, aim, *commits = (by_mark[f":{number}"] for number in range(1, len(history.speed) + 3))
    options = [option for option in FORMAT if option not in ("--stdout", "-1")]
    git(*options, "--numbered-files", "--output-directory", place / "mails", f"{base}..{commits[-1]}")
    raws = tuple((place / "mails" / str(number)).read_bytes() for number in range(1, len(commits) + 1))
    return Built(git=git, base=base, aim=aim, commits=tuple(commits), raws=raws, speed=history.speed)


def _stream(history: History) -> bytes:
    plain = Speed(id="", files=history.base)
    parts = [_commit(f"refs/tags/{BASE}", 1, plain, b"upstream", None)]
    parts.append(_commit(f"refs/tags/{AIM}", 2, Speed(id="", files=history.upstream), b"upstream", 1))
    for number, speed in enumerate(history.speed):
        parts.append(_commit("refs/heads/speed", number + 3, speed, speed.message, number + 2 if number else 1))
    return b"".join(parts)


def _commit(ref: str, mark: int, speed: Speed, message: bytes, parent: int | None) -> bytes:
    head = b"commit %s\nmark :%d\nauthor %s %s\n" % (fsencode(ref), mark, speed.author, speed.date)
    head += b"committer C <c@example.org> 1700000000 +0000\n" + _data(message)
    files = (b"M %s inline %s\n%s" % (e.mode.encode(), _quoted(p), _data(e.data)) for p, e in speed.files.items())
    return head + (b"from :%d\ndeleteall\n" % parent if parent else b"") + b"".join(files) + b"\n"


def _data(data: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(data), data)


def _quoted(path: bytes) -> bytes:
    return b'"' + b"".join(b"\\%03o" % byte for byte in path) + b'"'
