"""What a person wants to see of each patch at a glance: size, age, where it stands."""

from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

from ci.digest import sha256_bytes
from ci.outcome import JsonValue
from ci.series.patch import Patch, changed_lines, read_mail

HEADINGS = ("id and switch", "feature, numerics", "targets", "lines, files", "age", "upstream")


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A patch with its size in lines (binary changes have none) and its age in days since the author date."""

    patch: Patch
    added: int
    removed: int
    age_days: int | None

    def row(self) -> tuple[str, ...]:
        """The patch as a line of the table, under `HEADINGS`."""
        trailers = self.patch.trailers
        files = f"{len(self.patch.files)} file{'s' if len(self.patch.files) > 1 else ''}"
        return (
            f"{self.patch.id}\n{trailers.switch or 'no switch'}",
            f"{trailers.feature}\n{trailers.numerics.kind}",
            "\n".join(trailers.targets),
            f"+{self.added} −{self.removed}\n{files}",  # noqa: RUF001 - a minus sign, as wide as the plus
            "?" if self.age_days is None else f"{self.age_days} d",
            f"{trailers.upstream_status.kind} {trailers.upstream_status.detail}".rstrip(),
        )

    def to_json(self, *, patch_id: str | None) -> dict[str, JsonValue]:
        """Everything about the patch; `patch_id` is git's stable one."""
        patch, trailers = self.patch, self.patch.trailers
        status = trailers.upstream_status
        return {
            "id": patch.id,
            "file": patch.path.name,
            "subject": patch.subject,
            "author": patch.author,
            "date": read_mail(patch.raw).date,
            "age_days": self.age_days,
            "feature": trailers.feature.value,
            "numerics": str(trailers.numerics),
            "targets": list(trailers.targets),
            "switch": trailers.switch,
            "requires_upstream": str(trailers.requires_upstream),
            "upstream_status": {"kind": status.kind.value, "detail": status.detail},
            "retire_when": trailers.retire_when,
            "drift_acks": [{"declaration": ack.declaration, "build": str(ack.build)} for ack in trailers.drift_ack],
            "added": self.added,
            "removed": self.removed,
            "paths": [path.encode("utf-8", "backslashreplace").decode() for path in patch.files],
            "sha256": sha256_bytes(patch.raw),
            "patch_id": patch_id,
        }


def listed(patch: Patch, *, now: datetime) -> Listed:
    """Count a patch's lines and days.

    Args:
        patch: of the queue.
        now: the present, with its zone.
    """
    mail = read_mail(patch.raw)
    signs = [line[:1] for line in changed_lines(mail.diff)]
    return Listed(
        patch=patch, added=signs.count(b"+"), removed=signs.count(b"-"), age_days=_days_since(mail.date, now)
    )


def _days_since(date: str, now: datetime) -> int | None:
    """Whole days, 0 for a date to come, None for one that is none."""
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return None
    return max(0, (now - (then if then.tzinfo else then.replace(tzinfo=now.tzinfo))).days)
