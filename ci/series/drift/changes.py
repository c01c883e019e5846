"""How declarations differ between two builds: which belong together, and what changed in words."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ci.series.drift.declared import Declaration, Kind, Member, is_header

LONG = 80
"""A longer value is not repeated in words; the texts show it."""


@dataclass(frozen=True, kw_only=True)
class Reason:
    """One difference in words; `member` names the field, parameter or enumerator, if it is about one."""

    words: str
    member: str = ""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A declaration that is not what it was; `after` is None where it went."""

    before: Declaration
    after: Declaration | None
    reasons: tuple[Reason, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """Where it stood and stands, each once."""
        return tuple(dict.fromkeys(side.path for side in (self.after, self.before) if side))


def changes_between(before: Iterable[Declaration], after: Iterable[Declaration]) -> tuple[Change, ...]:
    """What changed or went. What was added changes nothing that a patch can have used.

    Declarations belong together by kind and qualified name, first within one file, then across files. A type or
    function that only moved to another file is none: if it is still found it is the same, and if not, the compiler
    says so. A macro that moved counts: `#if` and `#ifdef` take a missing one for zero without a word. (Not when its
    source file was renamed.)
    """
    old, new = _grouped(before), _grouped(after)
    found: list[Change] = []
    for key, group in old.items():
        found += _changes_of(*_without_common(group, new.get(key, [])))
    return tuple(found)


def _grouped(declarations: Iterable[Declaration]) -> dict[tuple[Kind, str], list[Declaration]]:
    groups: dict[tuple[Kind, str], list[Declaration]] = defaultdict(list)
    for declaration in declarations:
        groups[declaration.kind, declaration.name].append(declaration)
    return groups


def _without_common(
    old: Sequence[Declaration], new: Sequence[Declaration]
) -> tuple[list[Declaration], list[Declaration]]:
    """Both sides without what stands in both, in the same file with the same text."""
    left, right = Counter(old), Counter(new)
    return list((left - right).elements()), list((right - left).elements())


def _changes_of(old: list[Declaration], new: list[Declaration]) -> Iterator[Change]:
    for before, after in _pairs(old, new):
        if after is None:
            yield Change(before=before, after=None, reasons=(Reason(words="removed"),))
            continue
        reasons = tuple(reasons_of(before, after))
        if reasons:
            yield Change(before=before, after=after, reasons=reasons)


def _pairs(old: list[Declaration], new: list[Declaration]) -> Iterator[tuple[Declaration, Declaration | None]]:
    """Each old declaration with its successor: in its file, else with its text elsewhere, else whatever is left."""
    left, right = list(old), list(new)
    for fits in (
        lambda one, other: one.path == other.path,
        lambda one, other: one.text == other.text,
        lambda *_: True,
    ):
        for before in tuple(left):
            after = next((other for other in right if fits(before, other)), None)
            if after:
                left.remove(before)
                right.remove(after)
                yield before, after
    yield from ((before, None) for before in left)


def reasons_of(before: Declaration, after: Declaration) -> Iterator[Reason]:
    """What differs between two texts of one declaration; nothing where no user can notice."""
    if before.kind is Kind.MACRO:
        yield from _macro_reasons(before, after)
    elif before.text != after.text:
        reasons = tuple(_member_reasons(before, after)) if before.kind in NOUNS else ()
        yield from reasons or _value_reasons(before, after)


NOUNS = {Kind.STRUCT: "field", Kind.FUNCTION: "parameter", Kind.ENUM: "enumerator"}


def _macro_reasons(before: Declaration, after: Declaration) -> Iterator[Reason]:
    *guard, definition = before.text.split("\n")
    *new_guard, new_definition = after.text.split("\n")
    if before.path != after.path and (is_header(before.path) or is_header(after.path)):
        yield Reason(words=f"moved from {before.path} to {after.path}")
    if guard != new_guard:
        yield Reason(words=f"moved: {_under(new_guard)}, was {_under(guard)}")
    if definition != new_definition:
        yield Reason(words=_now_was("value", new_definition, definition))


def _under(guard: Sequence[str]) -> str:
    return "under " + " and ".join(f"`{condition}`" for condition in guard) if guard else "under no condition"


def _now_was(what: str, now: str, was: str) -> str:
    return f"{what} is now `{now}`, was `{was}`" if len(now) + len(was) <= LONG else f"{what} changed"


def _member_reasons(before: Declaration, after: Declaration) -> Iterator[Reason]:
    noun = NOUNS[before.kind]
    old, new = {m.name: m for m in before.members}, {m.name: m for m in after.members}
    for name in (name for name in new if name not in old and before.kind is not Kind.ENUM):
        yield Reason(words=f"{noun} {name} added", member=name)
    for name, member in old.items():
        if name not in new:
            yield Reason(words=f"{noun} {name} removed", member=name)
        else:
            yield from _one_member(noun, member, new[name])
    if before.kind is not Kind.ENUM and [n for n in old if n in new] != [n for n in new if n in old]:
        yield Reason(words=f"order of {noun}s changed")


def _one_member(noun: str, old: Member, new: Member) -> Iterator[Reason]:
    if old.text != new.text:
        yield Reason(words=_now_was(f"{noun} {old.name}", new.text, old.text), member=old.name)
    if old.default != new.default and noun == "enumerator":
        yield Reason(words=f"enumerator {old.name} is now {new.default}, was {old.default}", member=old.name)
    elif old.default != new.default:
        words = _now_was(f"default of {noun} {old.name}", new.default or "none", old.default or "none")
        yield Reason(words=words, member=old.name)


def _value_reasons(before: Declaration, after: Declaration) -> Iterator[Reason]:
    """The first line in which two texts differ."""
    for old, new in zip_longest(before.text.split("\n"), after.text.split("\n"), fillvalue=""):
        if old != new and before.kind is not Kind.ENUM:
            words = {Kind.CONSTANT: "value", Kind.FUNCTION: "signature"}.get(before.kind, "declaration")
            yield Reason(words=_now_was(words, new, old))
            return
