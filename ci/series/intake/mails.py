"""Patch files onto a commit with `git am`, all in one go; the same options wherever we do that."""

from collections.abc import Sequence
from dataclasses import dataclass

from ci.git import Git
from ci.series.engine.importing import AM, written_mails


@dataclass(frozen=True, kw_only=True)
class Refused:
    """`git am` stops at a mail (counted from 0), and says why."""

    index: int
    said: str


def apply_mails(repo: Git, base: str, mails: Sequence[bytes]) -> tuple[str, ...] | Refused:
    """The commits that `git am` makes of some mails, in order.

    Args:
        repo: a scratch repository; its work tree is used.
        base: the commit to put them on.
        mails: one patch file each.
    """
    repo("checkout", "--quiet", "--force", "--detach", base)
    done = repo(*AM, "--", *written_mails(repo, mails), ok_codes=(0, 1, 128))
    if done.code:
        said = done.stderr.decode("utf-8", "replace").splitlines()
        return Refused(index=_stopped_at(repo), said=" ".join(line for line in said if not line.startswith("hint:")))
    return tuple(repo("rev-list", "--reverse", f"{base}..HEAD").text.split())


def _stopped_at(repo: Git) -> int:
    number = repo.path / ".git" / "rebase-apply" / "next"
    return int(number.read_text(encoding="ascii")) - 1 if number.is_file() else 0
