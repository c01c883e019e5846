"""Drift on the real builds: whatever upstream changed is found under a patch that uses it, and under no other."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from ci.git import Git
from ci.home import Home
from ci.series.drift.changes import Change, changes_between
from ci.series.drift.declarations import read_declarations
from ci.series.drift.declared import Declaration, Kind, is_header, is_source
from ci.series.drift.drifting import changed_files, find_drift
from ci.series.order import BaseTag, Series
from ci.upstream.tags import BuildTag, build_tags
from tests.helpers.declaring import patch_adding

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def history(real_home: Home) -> Git:
    return Git(path=real_home.history)


@pytest.fixture(scope="module")
def ends(history: Git) -> tuple[BuildTag, BuildTag]:
    known = build_tags(history.tags())
    if len(known) < 2:
        pytest.fail(f"{history.path} has no builds but {known}: run `invoke sync-upstream --all` first")
    return known[0], known[-1]


def base_of(history: Git, tag: BuildTag) -> BaseTag:
    return BaseTag(tag=tag, tree=history.tree_of(tag.ref) or "", revision=1)


@pytest.fixture(scope="module")
def changes(history: Git, ends: tuple[BuildTag, BuildTag]) -> tuple[Change, ...]:
    """What upstream's headers changed between the oldest and the newest build."""
    trees = [f"{tag.ref}^{{tree}}" for tag in ends]
    sides = changed_files(history, *trees, wanted=lambda path: is_source(path) and is_header(path))
    old, new = ({file.name: data for file, data in history.blobs_of(side)} for side in sides)
    pairs = [read_declarations(path, old.get(path, b""), new.get(path, b"")) for path in {**old, **new}]
    found: tuple[list[Declaration], list[Declaration]] = ([], [])
    for was, now in pairs:
        found[0].extend(was)
        found[1].extend(now)
    return changes_between(*found)


def code_that_uses(change: Change) -> str:
    """Lines that use what changed as its kind is used."""
    one = change.before
    scope = one.name.partition("<")[0].rpartition("::")[0].rpartition("::")[2]
    match one.kind:
        case Kind.STRUCT:
            return f"{one.last_name} made;"
        case Kind.FUNCTION if scope == one.last_name:
            return f"{scope} made;"
        case Kind.FUNCTION:
            return f"{scope} * p;\np->{one.last_name}(1);" if scope else f"{one.last_name}(1);"
        case Kind.ENUM:
            member = next((r.member for r in change.reasons if r.member), one.members[0].name if one.members else "")
            return f"x = {one.last_name}::{member};"
        case Kind.MACRO | Kind.CONSTANT:
            return f"x = {scope}::{one.last_name};" if scope else f"x = {one.last_name};"
        case Kind.TYPEDEF:
            return f"{one.last_name} made;"


def unfound(history: Git, ends: tuple[BuildTag, BuildTag], changes: Sequence[Change]) -> list[str]:
    """The changes that are missed under a patch made to use them."""
    patches = []
    for number, change in enumerate(changes):
        folder = PurePosixPath(change.paths[0]).parent
        patch = patch_adding(code_that_uses(change), str(folder / f"use{number}.cpp"))
        patches.append(replace(patch, id=f"use{number}"))
    series = Series(base=base_of(history, ends[0]), patches=tuple(patches))
    found = {(p.patch_id, d.declaration) for p in find_drift(history, series, ends[1]) for d in p.drifts}
    return [c.before.name for n, c in enumerate(changes) if (f"use{n}", c.before.name) not in found]


def test_every_change_is_found_under_a_patch_that_uses_it(
    history: Git, ends: tuple[BuildTag, BuildTag], changes: tuple[Change, ...]
) -> None:
    usable = [change for change in changes if "operator" not in change.before.name and "~" not in change.before.name]
    assert {Kind.STRUCT, Kind.FUNCTION, Kind.ENUM, Kind.MACRO} <= {change.before.kind for change in usable}
    assert unfound(history, ends, usable) == []


def test_a_patch_that_uses_nothing_that_changed_has_no_drift(history: Git, ends: tuple[BuildTag, BuildTag]) -> None:
    patch = patch_adding("int n = 3;\nfor (int i = 0; i < n; ++i) {\n    size += data[i].count;\n}", "src/llama.cpp")
    series = Series(base=base_of(history, ends[0]), patches=(patch,))
    assert find_drift(history, series, ends[1]) == ()
