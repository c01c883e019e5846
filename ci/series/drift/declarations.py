"""The one door to tree-sitter: what a C, C++ or CUDA file declares.

A file becomes a tuple of `Declaration`s: types with their fields, function signatures, enums with every value counted
out, macros with the conditions around them, named constants. Text is in the one spelling of `ci.series.drift.tokens`:
comments and white space make no difference. Function bodies are not looked into. Code that no grammar understands
costs declarations, never an error.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

import tree_sitter
import tree_sitter_c
import tree_sitter_cpp
import tree_sitter_cuda

from ci.series.drift.declared import LANGUAGES, Declaration, Kind, Member, ending_of, is_source
from ci.series.drift.enumerators import counted
from ci.series.drift.macros import Macro, read_macros, without_decoration
from ci.series.drift.syntax import (
    CONDITIONS,
    TYPES,
    Node,
    alias_of,
    declarators,
    enumerators_of,
    fields_of,
    name_of,
    parameters_of,
    text_before,
    text_of,
)
from ci.series.drift.tokens import one_spelling

GRAMMARS = {"c": tree_sitter_c.language, "cpp": tree_sitter_cpp.language, "cuda": tree_sitter_cuda.language}

TRANSPARENT = ("declaration_list", "field_declaration_list", "linkage_specification", "ERROR", *CONDITIONS)
STORAGE = frozenset(("static", "inline", "extern", "__forceinline__", "__inline__", "__forceinline"))
"""Words of a function's head that say nothing to its callers."""

Key: TypeAlias = tuple[tuple[str, ...], bytes | None]
Declarations: TypeAlias = tuple[Declaration, ...]


@dataclass(frozen=True)
class _Place:
    """A node still to be read: the scope it stands in, and the template head in front of it."""

    node: Node
    scope: tuple[str, ...] = ()
    template: str = ""

    @property
    def key(self) -> Key:
        """Equal for places in two files that declare the same."""
        alias = alias_of(self.node) if self.node.type in (*TYPES, "enum_specifier") else ()
        return (*self.scope, self.template, *alias), self.node.text


def read_declarations(path: str, before: bytes, after: bytes = b"") -> tuple[Declarations, Declarations]:
    """What two versions of a file declare, without what stands in both in the same words at the same place.

    Args:
        path: of the file; its ending chooses the grammar. Files of other languages declare nothing.
        before: one whole file, whatever its encoding.
        after: the other.
    """
    if not is_source(path):
        return (), ()
    parser = _parser(LANGUAGES[ending_of(path)])
    roots = [parser.parse(without_decoration(data)).root_node for data in (before, after)]
    known = [frozenset(place.key for place in _places(root)) for root in roots]
    macros = [tuple(read_macros(data.decode("utf-8", "replace"))) for data in (before, after)]
    return (
        (*_macros(path, macros[0], macros[1]), *_read(path, roots[0], known[1])),
        (*_macros(path, macros[1], macros[0]), *_read(path, roots[1], known[0])),
    )


def _macros(path: str, own: Collection[Macro], other: Collection[Macro]) -> Iterator[Declaration]:
    for macro in own:
        if macro not in other:
            yield Declaration(kind=Kind.MACRO, name=macro.name, path=path, text=macro.text)


@cache
def _parser(language: str) -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(GRAMMARS[language]()))


def _read(path: str, root: Node, known: frozenset[Key]) -> Iterator[Declaration]:
    for place in _places(root, known):
        yield from _declared_at(path, place)


def _places(root: Node, known: frozenset[Key] = frozenset()) -> Iterator[_Place]:
    """Where something may be declared, depth first, but not in what is known.

    The stack is our own: nesting in hostile text has no limit.
    """
    stack = [_Place(node) for node in reversed(root.children)]
    while stack:
        place = stack.pop()
        if not known or place.key not in known:
            yield place
            stack += reversed(list(_inside(place)))


def _inside(place: _Place) -> Iterator[_Place]:
    """The nodes in a node that may declare something under this or another scope."""
    node, scope = place.node, place.scope
    if node.type in TRANSPARENT:
        yield from (_Place(child, scope) for child in node.children)
    elif node.type == "namespace_definition":
        yield from _body_of(node, (*scope, *name_of(node)))
    elif node.type == "template_declaration":
        parameters = node.child_by_field_name("parameters")
        head = f"template {text_of(parameters)} " if parameters else ""
        yield from (_Place(child, scope, head) for child in node.children)
    elif node.type in TYPES:
        yield from _body_of(node, (*scope, *(name_of(node) or alias_of(node))))
    elif node.type in ("declaration", "field_declaration", "type_definition", "function_definition"):
        kind = node.child_by_field_name("type")
        if kind is not None:
            yield _Place(kind, scope, place.template)


def _body_of(node: Node, scope: tuple[str, ...]) -> Iterator[_Place]:
    body = node.child_by_field_name("body")
    if body is not None:
        yield _Place(body, scope)


def _declared_at(path: str, place: _Place) -> Iterator[Declaration]:
    node = place.node
    if node.type in TYPES and node.child_by_field_name("body"):
        yield from _struct(path, place)
    elif node.type == "enum_specifier" and node.child_by_field_name("body"):
        yield from _enum(path, place)
    elif node.type in ("function_definition", "declaration", "field_declaration"):
        yield from _values(path, place)
    elif node.type == "alias_declaration":
        yield _named(path, place, Kind.TYPEDEF, "".join(name_of(node)), place.template + text_of(node))
    elif node.type == "type_definition":
        yield from _typedefs(path, place)


def _named(
    path: str, place: _Place, kind: Kind, name: str, text: str, members: tuple[Member, ...] = ()
) -> Declaration:
    qualified = "::".join((*place.scope, name))
    return Declaration(kind=kind, name=qualified, path=path, text=text.removesuffix(";"), members=members)


def _listing(head: str, lines: Iterator[str]) -> str:
    return "\n".join((f"{head} {{", *(f"    {line}" for line in lines), "}"))


def _struct(path: str, place: _Place) -> Iterator[Declaration]:
    """The type, once under each of its names: `typedef struct one { ... } two;`."""
    body = place.node.child_by_field_name("body")
    if body is None:
        return
    fields = tuple(fields_of(body))
    head = place.template + one_spelling(text_before(place.node, body))
    lines = (" = ".join(filter(None, (field.text, field.default))) + ";" for field in fields)
    text = _listing(head, lines)
    for name in dict.fromkeys((*name_of(place.node), *alias_of(place.node))):
        yield _named(path, place, Kind.STRUCT, name, text, fields)


def _enum(path: str, place: _Place) -> Iterator[Declaration]:
    """The enum; of one without a name each enumerator for itself."""
    node = place.node
    body, name = node.child_by_field_name("body"), name_of(node) or alias_of(node)
    if body is None:
        return
    values = tuple(Member(name=word, text=word, default=value) for word, value in counted(enumerators_of(body)))
    if not name:
        for value in values:
            yield _named(path, place, Kind.ENUM, value.name, f"enum {{ {value.name} = {value.default} }}", (value,))
        return
    lines = (f"{value.name} = {value.default}," for value in values)
    scoped = any(child.type in ("class", "struct") for child in node.children)
    yield replace(
        _named(path, place, Kind.ENUM, name[0], _listing(one_spelling(text_before(node, body)), lines), values),
        scoped=scoped,
    )


def _values(path: str, place: _Place) -> Iterator[Declaration]:
    """Functions, and constants with their values."""
    for member, function in declarators(place.node):
        words = set(member.text.split())
        if function is not None:
            text = place.template + one_spelling(member.text, without=STORAGE)
            yield _named(path, place, Kind.FUNCTION, member.name, text, tuple(parameters_of(function)))
        elif member.default and {"const", "constexpr"} & words and _is_shared(place.node, words):
            text = f"{place.template}{member.text} = {member.default}"
            yield _named(path, place, Kind.CONSTANT, member.name, text, (member,))


def _is_shared(node: Node, words: set[str]) -> bool:
    return node.type != "field_declaration" or "static" in words


def _typedefs(path: str, place: _Place) -> Iterator[Declaration]:
    """Other names of types; a type that is made on the spot is declared under its own."""
    node = place.node
    kind = node.child_by_field_name("type")
    if kind is not None and kind.child_by_field_name("body"):
        return
    for member, _ in declarators(node):
        yield _named(path, place, Kind.TYPEDEF, member.name, member.text)
