"""One measured run in a process of its own, so that its peak memory is its own: prints one JSON document.

`python -m tests.bench.contender KIND PLACE AIM`; `ci.series` is imported only where it is what is measured, because
a child that starts from a large process is charged with that process's memory.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from ci.git import Git
from ci.process import run, scrubbed_env
from tests.helpers.git_reference import REBASE

Answer = tuple[float, str]
"""Seconds, and the tree of the rebased series (or what else was to be found)."""


def git(place: Path, aim: str) -> Answer:
    """Git's own rebase in a work tree that stands on the series already."""
    repo = Git(path=place / "git")
    tip = (place / "tip").read_text(encoding="ascii")
    base = (place / "base").read_text(encoding="ascii")
    repo("checkout", "--quiet", "--force", "--detach", tip)
    settle(place / "git" / ".git" / "index")
    done = repo(*REBASE, "--onto", aim, base)
    return done.seconds, repo.tree_of("HEAD") or ""


def settle(index: Path) -> None:
    """Let a fresh checkout look two seconds old: git reads files again that are as young as its index."""
    now = index.stat().st_mtime
    os.utime(index, (now + 2, now + 2))


def library(place: Path, aim: str) -> Answer:
    """The engine of `rebase()`, from where git starts to where git ends: commits to commits in the history."""
    from ci.series.engine.fold import Fold
    from ci.series.engine.workshop import workshop
    from ci.series.order import load_series
    from ci.upstream.tags import BuildTag
    from tests.helpers.synthetic import BRANCH

    series = load_series(place / "checkout" / "patches")
    history = Git(path=place / "home" / "history.git")
    onto = BuildTag.parse(aim)
    base = (place / "base").read_text(encoding="ascii")
    commits = tuple(history("rev-list", "--reverse", BRANCH, f"^{base}").text.split())
    started = time.perf_counter()
    with workshop(history, place / "home" / "scratch") as shop:
        commit = history.commit_of(onto.ref) or ""
        fold = Fold(shop=shop, series=series, imported=commits, base_commit=base)
        fold.foresee([commit])
        head = fold.onto(onto, commit).head
        shop.hand_over(history, head)
    return time.perf_counter() - started, history.tree_of(head) or ""


def files(place: Path, aim: str) -> Answer:
    """`rebase()` whole: from patch files, and with the build behind each absorbed patch."""
    from ci.series.order import load_series
    from ci.series.replay import rebase
    from ci.series.results import Rebased
    from ci.upstream.tags import BuildTag

    series = load_series(place / "checkout" / "patches")
    history = Git(path=place / "home" / "history.git")
    started = time.perf_counter()
    found = rebase(history, series, BuildTag.parse(aim), work=place / "home" / "scratch")
    seconds = time.perf_counter() - started
    assert isinstance(found, Rebased), found.conflicts
    return seconds, found.tree


def command(place: Path, aim: str) -> Answer:
    """The whole command as a person types it, from the start of the interpreter to its end."""
    argv = (sys.executable, "-m", "invoke", "rebase-upstream", "--onto", aim, "--dry-run", "--json")
    env = scrubbed_env(extra={"SPEEDFORK_HOME": str(place / "home"), "PYTHONPATH": str(Path.cwd())})
    done = run(argv, cwd=place / "checkout", env=env)
    return done.seconds, str(json.loads(done.stdout)["tree"])


def culprit(place: Path, aim: str) -> Answer:
    """`rebase()` of a series that stops, until it says since which build."""
    from ci.series.order import load_series
    from ci.series.replay import rebase
    from ci.series.results import Stopped
    from ci.upstream.tags import BuildTag

    series = load_series(place / "checkout" / "patches")
    history = Git(path=place / "home" / "history.git")
    started = time.perf_counter()
    found = rebase(history, series, BuildTag.parse(aim), work=place / "home" / "scratch")
    seconds = time.perf_counter() - started
    assert isinstance(found, Stopped)
    conflict = found.conflicts[0]
    assert conflict.since is not None
    return seconds, f"{conflict.patch_id} {conflict.since.words}"


KINDS: Mapping[str, Callable[[Path, str], Answer]] = {
    "git": git,
    "library": library,
    "files": files,
    "command": command,
    "culprit": culprit,
}


def stored(place: Path) -> int:
    """Bytes in the object stores of a place."""
    stores = (place / "home" / "history.git" / "objects", place / "git" / ".git" / "objects")
    return sum(path.stat().st_size for store in stores for path in store.rglob("*") if path.is_file())


def main(kind: str, place: Path, aim: str) -> None:
    """Run one contender."""
    before = stored(place)
    seconds, found = KINDS[kind](place, aim)
    own, children = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    peak = max(own, children) if kind in ("library", "culprit") else children
    document = {"seconds": seconds, "found": found, "peak_kib": peak, "added": stored(place) - before}
    sys.stdout.write(json.dumps(document))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
