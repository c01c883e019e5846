"""A patch at a glance."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ci.series.listing import HEADINGS, listed
from ci.series.patch import Patch, parse_patch
from tests.helpers.mails import MAIL

NOW = datetime(2024, 1, 31, 12, tzinfo=UTC)


def patch(raw: bytes = MAIL) -> Patch:
    read = parse_patch(Path("one.patch"), raw)
    assert isinstance(read, Patch)
    return read


def test_a_row_has_what_its_heading_says() -> None:
    row = dict(zip(HEADINGS, listed(patch(), now=NOW).row(), strict=True))
    assert row == {
        "id and switch": "one\nLLAMA_ARG_SPEED",
        "feature, numerics": "host-path\nbitwise",
        "targets": "cpu\nsm75\nsm120",
        "lines, files": "+1 −1\n1 file",  # noqa: RUF001 - a minus sign
        "age": "30 d",
        "upstream": "Pending",
    }


@pytest.mark.parametrize(
    ("date", "days"),
    [
        (b"Mon, 1 Jan 2024 00:00:00 +0000", 30),
        (b"Mon, 1 Jan 2024 00:00:00", 30),
        (b"Wed, 31 Jan 2024 23:00:00 +0000", 0),
        (b"Thu, 1 Jan 2026 00:00:00 +0000", 0),
        (b"yesterday", None),
    ],
)
def test_age_counts_from_the_author_date(date: bytes, days: int | None) -> None:
    raw = MAIL.replace(b"Date: Mon, 1 Jan 2024 00:00:00 +0000", b"Date: " + date)
    assert listed(patch(raw), now=NOW).age_days == days


def test_the_document_holds_every_trailer() -> None:
    told = listed(patch(), now=NOW).to_json(patch_id="abc")
    assert (told["patch_id"], told["requires_upstream"], told["paths"]) == ("abc", "b100", ["src/f.c"])
    assert told["upstream_status"] == {"kind": "Pending", "detail": ""}
    assert (told["retire_when"], told["drift_acks"]) == ("upstream does the same", [])
    assert len(told["sha256"]) == 64
