"""`drift.toml`: written one way, read strictly, merged without losing anything."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import ConfigProblem
from ci.series.drift.declared import Kind
from ci.series.drift.drifting import PatchDrift
from ci.series.drift.drifts import Drift
from ci.series.drift.pending import Pending, load_pending, merge_pending, pending_toml
from ci.series.order import BaseTag, Series
from ci.series.patch import Patch
from ci.series.trailers import DriftAck
from ci.upstream.tags import BuildTag
from tests.helpers.declaring import patch_adding

B1, B2, B3 = (BuildTag(number) for number in (1, 2, 3))
DRIFT = Drift(
    declaration="args",
    kind=Kind.STRUCT,
    path="a.h",
    old_path="a.h",
    before="struct args {\n    int a;\n}",
    after="struct args {\n    int a;\n    int b;\n}",
    why="field b added",
    used=("args",),
)
ENTRY = Pending(patch_id="one", drift=DRIFT, since=B1, until=B2)


def series(patch: Patch | None = None) -> Series:
    return Series(
        base=BaseTag(tag=B2, tree="0" * 40, revision=1),
        patches=(patch or patch_adding("args x = {1};"),),
    )


def acknowledging(build: BuildTag, declaration: str = "args") -> Series:
    patch = patch_adding("args x = {1};")
    acks = (DriftAck(declaration=declaration, build=build),)
    return series(replace(patch, trailers=replace(patch.trailers, drift_ack=acks)))


def saved(folder: Path, entries: tuple[Pending, ...]) -> Path:
    (folder / "drift.toml").write_bytes(pending_toml(entries))
    return folder


def test_a_queue_without_the_file_carries_nothing(tmp_path: Path) -> None:
    assert load_pending(tmp_path) == ()
    assert pending_toml(()) == b""


def test_what_was_written_is_read(tmp_path: Path) -> None:
    entries = (ENTRY, replace(ENTRY, patch_id="two"))
    assert load_pending(saved(tmp_path, entries)) == entries
    assert 'after = """\nstruct args {\n    int a;\n    int b;\n}"""' in pending_toml(entries).decode()


text = st.text() | st.lists(st.sampled_from(['"""', "\\", "\n", "\r\n", "\x7f", "\x00", "a", "\t", " "])).map("".join)


@given(text, text, text)
def test_any_text_comes_back(before: str, after: str, why: str) -> None:
    entry = replace(ENTRY, drift=replace(DRIFT, before=before, after=after, why=why, declaration=before))
    (table,) = tomllib.loads(pending_toml((entry,)).decode())["drift"]
    assert (table["before"], table["after"], table["why"], table["declaration"]) == (before, after, why, before)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("why =", "whys =", "did you mean 'why'"),
        ('"struct"', '"record"', "kind"),
        ('"b1"', '"newest"', "'newest' is not an upstream build"),
        ("[[drift]]", "[drift]", "drift"),
        ("[[drift]]", "[[drift", "not valid TOML"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, old: str, new: str, fault: str) -> None:
    folder = saved(tmp_path, (ENTRY,))
    (folder / "drift.toml").write_text((folder / "drift.toml").read_text().replace(old, new))
    with pytest.raises(ConfigProblem) as problem:
        load_pending(folder)
    assert "drift.toml" in problem.value.message
    assert fault in problem.value.message


def test_new_drift_is_added_with_the_builds_that_it_came_between() -> None:
    (entry,) = merge_pending((), [PatchDrift(patch_id="one", drifts=(DRIFT,))], series(), B3)
    assert (entry.since, entry.until, entry.drift) == (B2, B3, DRIFT)


def test_drift_of_drift_keeps_where_it_began() -> None:
    after = "struct args {\n}"
    more = replace(DRIFT, before=DRIFT.after, after=after, why="field a removed", path="b.h", used=("a",))
    (entry,) = merge_pending([ENTRY], [PatchDrift(patch_id="one", drifts=(more,))], series(), B3)
    assert (entry.since, entry.until) == (B1, B3)
    assert (entry.drift.before, entry.drift.after) == (DRIFT.before, after)
    assert (entry.drift.old_path, entry.drift.path) == ("a.h", "b.h")
    assert (entry.drift.why, entry.drift.used) == ("field b added; field a removed", ("a", "args"))


def test_what_nobody_acknowledged_stays() -> None:
    assert merge_pending([ENTRY], (), series(), B3) == (ENTRY,)
    assert merge_pending([ENTRY], (), acknowledging(B1), B3) == (ENTRY,)
    assert merge_pending([ENTRY], (), acknowledging(B3, "other"), B3) == (ENTRY,)


def test_an_entry_goes_with_its_acknowledgement() -> None:
    assert merge_pending([ENTRY], (), acknowledging(B2), B3) == ()
    found = [PatchDrift(patch_id="one", drifts=(), acknowledged=(DRIFT,))]
    assert merge_pending([ENTRY], found, series(), B3) == ()


def test_an_entry_goes_with_its_patch_and_with_its_use() -> None:
    assert merge_pending([replace(ENTRY, patch_id="gone")], (), series(), B3) == ()
    assert merge_pending([ENTRY], (), series(patch_adding("other x = {1};")), B3) == ()


def test_an_entry_names_what_acknowledges_it() -> None:
    assert ENTRY.trailer == "Drift-Ack: args b2"
    assert ENTRY.headline == "one: struct args (a.h): field b added, between b1 and b2"
