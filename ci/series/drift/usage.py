"""Which names a patch uses on the lines that it adds, and how: called, reached into, held by value.

Nothing is resolved as a compiler would: a name counts by how it stands among its neighbours. Names that the patch
declares itself (a local variable, a function that it adds or changes) are its own and no use of upstream's.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ci.series.drift.declared import is_source
from ci.series.drift.tokens import KEYWORDS, Token, hunk_tokens
from ci.series.hunks import Hunk, parse_diff
from ci.series.patch import Patch, read_mail

MEMBER = (".", "->")
DECLARES = frozenset(("=", ";", "{", "[", ",", ")", ":", "("))
"""What stands behind a name in `type name ...` when this declares it; in front of a bracket only on added lines."""
STATEMENT_STARTS = frozenset(("", ";", "{", "}", "const", "static"))
TYPE_KEYWORDS = ("struct", "class", "union", "enum")
BUILT_IN = frozenset(("auto", "bool", "char", "double", "float", "int", "long", "short", "unsigned", "void"))
POINTERS = ("*", "&", "&&")
LONGEST_LIST = 32
"""Tokens of a template's arguments that are looked at: a list that is longer is read as comparisons."""
IN_TEMPLATES = frozenset((",", "::", "<", ">", "*", "&"))


@dataclass(frozen=True, kw_only=True)
class FileUse:
    """The names on a patch's added lines in one file.

    `names`: each that stands alone; `fields`: behind `.` or `->`; `called` and `called_fields`: those of them with an
    argument list, or whose address is taken; `qualified`: pairs `(scope, name)`; `by_value`: types of which an object
    is made, not only pointed to. `seen`: names on context lines too. `own`: what the patch declares itself, `defined`
    those of them that are macros and types.
    """

    path: str
    names: frozenset[str]
    fields: frozenset[str]
    called: frozenset[str]
    called_fields: frozenset[str]
    qualified: frozenset[tuple[str, str]]
    by_value: frozenset[str]
    seen: frozenset[str]
    own: frozenset[str]
    defined: frozenset[str]


def uses_of(patch: Patch) -> tuple[FileUse, ...]:
    """What a patch's added lines use in each C, C++ or CUDA file that it touches."""
    return tuple(
        _file_use(diff.path, [_tokens(hunk) for hunk in diff.hunks])
        for diff in parse_diff(read_mail(patch.raw).diff)
        if is_source(diff.path) and diff.hunks
    )


def _tokens(hunk: Hunk) -> tuple[Token, ...]:
    lines = ((line.sign.decode("ascii", "replace"), line.text) for line in hunk.lines if line.sign != b"-")
    return hunk_tokens([(sign, text.decode("utf-8", "replace").rstrip("\n")) for sign, text in lines])


def _file_use(path: str, hunks: Sequence[Sequence[Token]]) -> FileUse:
    words = [word for tokens in hunks for word in _words(tokens)]
    added = [word for word in words if word.added]
    return FileUse(
        path=path,
        names=frozenset(word.name for word in added if not word.is_field and not word.scope),
        fields=frozenset(word.name for word in added if word.is_field),
        called=frozenset(word.name for word in added if word.is_called and not word.is_field and not word.scope),
        called_fields=frozenset(word.name for word in added if word.is_called and word.is_field),
        qualified=frozenset((word.scope, word.name) for word in added if word.scope),
        by_value=frozenset(word.name for word in added if word.is_held and not word.is_field),
        seen=frozenset(word.name for word in words),
        own=frozenset(word.name for word in words if word.is_declared or word.is_defined),
        defined=frozenset(word.name for word in added if word.is_defined),
    )


@dataclass(frozen=True, kw_only=True)
class _Word:
    """A name among its neighbours; `scope` is the name in front of `::`."""

    name: str
    added: bool
    scope: str
    is_field: bool
    is_called: bool
    is_held: bool
    is_declared: bool
    is_defined: bool


def _words(tokens: Sequence[Token]) -> Iterator[_Word]:
    texts = ["", "", "", *(token.text for token in tokens), "", "", ""]
    for at, token in enumerate(tokens, start=3):
        if not token.is_word or token.text in KEYWORDS:
            continue
        before = texts[at - 1]
        yield _Word(
            name=token.text,
            added=token.added,
            scope=texts[at - 2] if before == "::" else "",
            is_field=before in MEMBER,
            is_called=_is_called(texts, at),
            is_held=_is_held(texts, at),
            is_declared=_is_declared(texts, at, added=token.added),
            is_defined=token.added and _is_defined(texts, at),
        )


def _is_called(texts: Sequence[str], at: int) -> bool:
    """`name(`, `name<...>(`, `&name`."""
    if texts[at - 1] == "&" and not _is_name(texts[at - 2]):
        return True
    behind = at + 1
    if texts[behind] == "<":
        behind = _next_bracket(texts, behind) + 1
    return texts[behind] == "("


def _is_held(texts: Sequence[str], at: int) -> bool:
    """`type name`, `type{`, `type(`, `vector<type>`, `sizeof(type)`: no pointer, no reference, no first mention."""
    before, behind = texts[at - 1], texts[at + 2] if texts[at + 1] == "const" else texts[at + 1]
    if _is_name(behind) or behind in ("{", "("):
        return not (before in TYPE_KEYWORDS and behind == "{")
    if behind in (">", ","):
        return before in ("<", ",", "const") and _closes_template(texts, _next_bracket(texts, at))
    opened = at - 2 if before in TYPE_KEYWORDS else at - 1
    return behind == ")" and texts[opened] == "(" and (texts[opened - 1] == "sizeof" or texts[at + 2] == "{")


def _next_bracket(texts: Sequence[str], at: int) -> int:
    """Where the next `>` stands, if not far away; else 0, where nothing stands."""
    return next((i for i in range(at, min(at + LONGEST_LIST, len(texts))) if texts[i] == ">"), 0)


def _closes_template(texts: Sequence[str], end: int) -> bool:
    """Whether `>` closes template arguments instead of comparing."""
    depth = 0
    for at in range(end, max(end - LONGEST_LIST, 0), -1):
        if texts[at] not in IN_TEMPLATES and not texts[at].isidentifier() and not texts[at].isdigit():
            return False
        depth += (texts[at] == ">") - (texts[at] == "<")
        if not depth:
            return _is_name(texts[at - 1])
    return False


def _is_defined(texts: Sequence[str], at: int) -> bool:
    """`#define name`, `struct name {`."""
    if texts[at - 1] in TYPE_KEYWORDS:
        return texts[at + 1] in ("{", ":")
    return texts[at - 1] == "define" and texts[at - 2] == "#"


def _is_declared(texts: Sequence[str], at: int, *, added: bool) -> bool:
    """`type name =`, `type & name :`, `type name(` on an added line."""
    before, behind = texts[at - 1], texts[at + 1]
    if behind not in DECLARES or before in TYPE_KEYWORDS or (behind == "(" and not added):
        return False
    if before in POINTERS:
        return _is_name(texts[at - 2]) and (texts[at - 3] in STATEMENT_STARTS or _is_plain_type(texts[at - 2]))
    return _is_name(before) or (before == ">" and _closes_template(texts, at - 1))


def _is_plain_type(text: str) -> bool:
    return text in BUILT_IN or text.endswith("_t")


def _is_name(text: str) -> bool:
    return text.isidentifier() and text not in KEYWORDS


def identifiers(uses: Iterable[FileUse]) -> frozenset[str]:
    """Every name on added lines, however it stands there."""
    found: set[str] = set()
    for use in uses:
        found |= use.names | use.fields | {name for pair in use.qualified for name in pair}
    return frozenset(found)
