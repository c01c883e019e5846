"""Drift on two versions of some files, without a history."""

from collections.abc import Mapping
from pathlib import Path

from ci.series.drift.changes import Change, changes_between
from ci.series.drift.declarations import read_declarations
from ci.series.drift.declared import Declaration
from ci.series.drift.drifts import Drift, drifts_of
from ci.series.drift.usage import FileUse, uses_of
from ci.series.patch import Patch, parse_patch
from tests.helpers.mails import MAIL

Sources = Mapping[str, str]


def declared(text: str, path: str = "f.h") -> tuple[Declaration, ...]:
    """What a file of this text declares."""
    return read_declarations(path, text.encode())[0]


def changed(before: Sources | str, after: Sources | str) -> tuple[Change, ...]:
    """The changes between two versions of some files; a text alone is that of `f.h`."""
    old, new = ({"f.h": side} if isinstance(side, str) else side for side in (before, after))
    pairs = [
        read_declarations(path, old.get(path, "").encode(), new.get(path, "").encode()) for path in {**old, **new}
    ]
    return changes_between((one for was, _ in pairs for one in was), (one for _, now in pairs for one in now))


def patch_adding(code: str, path: str = "use.cpp", *, context: str = "") -> Patch:
    """A patch that adds lines to a file, behind some lines of context."""
    body = [*(f" {line}" for line in context.splitlines()), *(f"+{line}" for line in code.splitlines())]
    spans = f"@@ -1,{len(context.splitlines())} +1,{len(body)} @@"
    diff = [f"diff --git a/{path} b/{path}", f"--- a/{path}", f"+++ b/{path}", spans, *body, ""]
    patch = parse_patch(Path("one.patch"), MAIL[: MAIL.index(b"diff --git")] + "\n".join(diff).encode())
    assert isinstance(patch, Patch), patch
    return patch


def used(code: str, path: str = "use.cpp", *, context: str = "") -> FileUse:
    """What added lines use."""
    (use,) = uses_of(patch_adding(code, path, context=context))
    return use


def drifted(
    before: Sources | str, after: Sources | str, code: str, path: str = "use.cpp", *, context: str = ""
) -> tuple[Drift, ...]:
    """The drift under a patch that adds some code."""
    return drifts_of(uses_of(patch_adding(code, path, context=context)), changed(before, after))
