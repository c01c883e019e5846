"""Drift: declarations that a patch uses and upstream changed without a conflict.

What counts as a use, by kind of declaration:

- macro, typedef, constant: its name on an added line;
- enum: the enumerators that the patch names and whose value changed (of an `enum class` only with the enum's name in
  front); that enumerators were added behind them is no drift;
- function: its name, of a method a call. A method with an everyday name (`size`, `init`) counts only where its class
  is named in the patch's hunks;
- struct: any change counts where the patch holds it by value (it may initialise it, copy it, take its size); where
  the patch only points to it, those fields count that its added lines reach into.

What a header declares may be used everywhere; what a source file declares, in that file alone. No `#include` and no
typedef is followed, but the headers of a ggml backend count for that backend alone: the backends copy each other's
names. Names that the patch declares itself do not count, nor operators and destructors, which nobody names.
"""

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ci.outcome import JsonMap
from ci.series.drift.changes import Change, Reason
from ci.series.drift.declared import Kind, is_header
from ci.series.drift.usage import FileUse

BACKEND = re.compile(r"ggml/src/ggml-[^/]+/")

EVERYDAY_NAMES = """
add append apply at back begin c_str clear clone close contains copy count data emplace emplace_back empty end erase
find first free front get init insert length load lock name next open pop pop_back print process push push_back read
release remove reserve reset resize run save second set size start stop store str substr swap top type unlock update
value wait write
"""
GENERIC_METHODS = frozenset(EVERYDAY_NAMES.split())


@dataclass(frozen=True, kw_only=True)
class Drift:
    """One silent change: the declaration before and after, the change in words, and the names that the patch uses.

    `old_path` differs from `path` where it moved; `after` is empty where it went.
    """

    declaration: str
    kind: Kind
    path: str
    old_path: str
    before: str
    after: str
    why: str
    used: tuple[str, ...]

    def to_json(self) -> JsonMap:
        """Plain JSON form."""
        return {
            "declaration": self.declaration,
            "kind": self.kind.value,
            "path": self.path,
            "old_path": self.old_path,
            "before": self.before,
            "after": self.after,
            "why": self.why,
            "used": list(self.used),
        }


@dataclass(frozen=True, kw_only=True)
class _Hit:
    """A change that counts for a patch: why, and by which of its names."""

    change: Change
    reasons: tuple[Reason, ...]
    used: tuple[str, ...]


def drifts_of(uses: Sequence[FileUse], changes: Iterable[Change]) -> tuple[Drift, ...]:
    """The changes that matter to a patch, one for each declaration, in order of kind and name.

    Args:
        uses: what the patch's added lines use, by file.
        changes: between the two builds.
    """
    hits: dict[tuple[str, str], list[_Hit]] = defaultdict(list)
    for change in changes:
        for use in uses:
            if _visible(change, use) and (hit := _hit(change, use)):
                hits[change.before.kind, change.before.name].append(hit)
    return tuple(_merged(hits[key]) for key in sorted(hits))


def _visible(change: Change, use: FileUse) -> bool:
    return any(path == use.path or (is_header(path) and _is_reachable(path, use.path)) for path in change.paths)


def _is_reachable(header: str, path: str) -> bool:
    folder = BACKEND.match(header)
    return folder is None or path.startswith(folder[0])


def _merged(hits: Sequence[_Hit]) -> Drift:
    """One drift of a function's prototype and definition, of both branches of an `#if`, of several files' use."""
    first = min(hits, key=lambda hit: not is_header(hit.change.paths[0])).change
    return Drift(
        declaration=first.before.name,
        kind=first.before.kind,
        path=first.paths[0],
        old_path=first.before.path,
        before=_texts(hit.change.before.text for hit in hits),
        after=_texts(hit.change.after.text if hit.change.after else "" for hit in hits),
        why="; ".join(dict.fromkeys(reason.words for hit in hits for reason in hit.reasons)),
        used=tuple(sorted({name for hit in hits for name in hit.used})),
    )


def _texts(texts: Iterable[str]) -> str:
    return "\n".join(dict.fromkeys(text for text in texts if text))


def _hit(change: Change, use: FileUse) -> _Hit | None:
    used = tuple(sorted(set(MATCHERS[change.before.kind](change, use))))
    if not used:
        return None
    reasons = change.reasons
    if change.after and change.before.kind in BY_MEMBER and change.before.last_name not in used:
        reasons = tuple(reason for reason in reasons if reason.member in used)
    return _Hit(change=change, reasons=reasons, used=used)


BY_MEMBER = (Kind.STRUCT, Kind.ENUM)
"""Kinds of which a use may concern single members."""


def _macro_used(change: Change, use: FileUse) -> Iterator[str]:
    name = change.before.name
    if name in use.names | use.fields and name not in use.defined:
        yield name


def _typedef_used(change: Change, use: FileUse) -> Iterator[str]:
    name, scope = change.before.last_name, _scope(change)
    bare = name in use.names and name not in use.own and (not scope or scope in use.seen or name in use.by_value)
    if bare or _is_qualified(change, use):
        yield name


def _constant_used(change: Change, use: FileUse) -> Iterator[str]:
    """By its bare name only where it stands in no scope, or the scope is named nearby."""
    name, scope = change.before.last_name, _scope(change)
    bare = name in use.names and name not in use.own and (not scope or scope in use.seen)
    if bare or _is_qualified(change, use):
        yield name


def _is_qualified(change: Change, use: FileUse) -> bool:
    scope = _scope(change)
    return bool(scope) and (scope, change.before.last_name) in use.qualified


def _scope(change: Change) -> str:
    """The last part of the scope, without template arguments."""
    return change.before.name.partition("<")[0].rpartition("::")[0].rpartition("::")[2]


def _function_used(change: Change, use: FileUse) -> Iterator[str]:
    name, scope = change.before.last_name, _scope(change)
    plain = name in use.called and name not in use.own
    if name == scope:  # a constructor
        used = plain or name in use.by_value
    elif not scope:
        used = plain or (name in use.names and name not in use.own)
    elif name in GENERIC_METHODS and scope not in use.seen:
        used = False
    else:
        used = plain or name in use.called_fields or _is_qualified(change, use)
    if used:
        yield name


def _enum_used(change: Change, use: FileUse) -> Iterator[str]:
    """The enumerators that the patch names and that are not what they were."""
    members = {reason.member for reason in change.reasons}
    if change.after is None:
        members = {member.name for member in change.before.members}
    by_scope = {name for scope, name in use.qualified if scope == change.before.last_name}
    bare = set() if change.before.scoped else use.names | {name for _, name in use.qualified}
    yield from members & (by_scope | bare)


def _struct_used(change: Change, use: FileUse) -> Iterator[str]:
    """The type where it is held by value or went, else the changed fields that are reached into."""
    name = change.before.last_name
    if name in use.defined:
        return
    if name in use.by_value or (change.after is None and name in use.names and not _scope(change)):
        yield name
    elif name in use.seen:
        yield from {reason.member for reason in change.reasons} & use.fields


MATCHERS = {
    Kind.CONSTANT: _constant_used,
    Kind.ENUM: _enum_used,
    Kind.FUNCTION: _function_used,
    Kind.MACRO: _macro_used,
    Kind.STRUCT: _struct_used,
    Kind.TYPEDEF: _typedef_used,
}


def text_diff(before: str, after: str) -> str:
    """A small unified diff of a declaration's two texts, without headers."""
    lines = difflib.unified_diff(before.split("\n"), after.split("\n") if after else [], lineterm="", n=2)
    return "\n".join(list(lines)[2:])
