"""The one door to tree-sitter: what a C, C++ or CUDA file declares.

A file becomes a tuple of `Declaration`s: types with their fields, function signatures, enums with every value counted
out, macros with the conditions around them, named constants. Text is in the one spelling of `ci.series.tokens`, so
comments and white space make no difference. Function bodies are not looked into. Code that no grammar understands
costs declarations, never an error.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

import tree_sitter
import tree_sitter_c
import tree_sitter_cpp
import tree_sitter_cuda

from ci.series.declared import LANGUAGES, Declaration, Kind, Member, ending_of, is_source
from ci.series.enumerators import counted
from ci.series.macros import read_macros, without_decoration
from ci.series.tokens import one_spelling

GRAMMARS = {"c": tree_sitter_c.language, "cpp": tree_sitter_cpp.language, "cuda": tree_sitter_cuda.language}

TYPES = ("struct_specifier", "class_specifier", "union_specifier")
CONDITIONS = ("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else")
TRANSPARENT = ("declaration_list", "field_declaration_list", "linkage_specification", "ERROR", *CONDITIONS)
IDENTIFIERS = ("identifier", "field_identifier", "type_identifier", "qualified_identifier")
NAMES = (*IDENTIFIERS, "operator_name", "destructor_name", "operator_cast", "template_function")
NAME_ENDS = ("declarator", *NAMES)
BODIES = ("compound_statement", "field_initializer_list", "try_statement")
STORAGE = frozenset(("static", "inline", "extern", "__forceinline__", "__inline__", "__forceinline"))
"""Words of a function's head that say nothing to its callers."""

Node: TypeAlias = tree_sitter.Node


@dataclass(frozen=True)
class _Place:
    """A node still to be read: the scope it stands in, and the template head in front of it."""

    node: Node
    scope: tuple[str, ...] = ()
    template: str = ""


def read_declarations(path: str, data: bytes) -> tuple[Declaration, ...]:
    """What a file declares, in order of kind and place; nothing for files of other languages.

    Args:
        path: of the file; its ending chooses the grammar.
        data: the whole file, whatever its encoding.
    """
    if not is_source(path):
        return ()
    macros = read_macros(data.decode("utf-8", "replace"))
    named = (Declaration(kind=Kind.MACRO, name=macro.name, path=path, text=macro.text) for macro in macros)
    root = _parser(LANGUAGES[ending_of(path)]).parse(without_decoration(data)).root_node
    return (*named, *_walk(path, root))


@cache
def _parser(language: str) -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(GRAMMARS[language]()))


def _walk(path: str, root: Node) -> Iterator[Declaration]:
    """Depth first, with a stack of our own: nesting in hostile text has no limit."""
    stack = [_Place(node) for node in reversed(root.children)]
    while stack:
        place = stack.pop()
        yield from _declared_at(path, place)
        stack += reversed(list(_inside(place)))


def _inside(place: _Place) -> Iterator[_Place]:
    """The nodes in a node that may declare something under this or another scope."""
    node, scope = place.node, place.scope
    if node.type in TRANSPARENT:
        yield from (_Place(child, scope) for child in node.children)
    elif node.type == "namespace_definition":
        yield from _body_of(node, (*scope, *_name_of(node)))
    elif node.type == "template_declaration":
        parameters = node.child_by_field_name("parameters")
        head = f"template {_text(parameters)} " if parameters else ""
        yield from (_Place(child, scope, head) for child in node.children)
    elif node.type in TYPES:
        yield from _body_of(node, (*scope, *(_name_of(node) or _alias_of(node))))
    elif node.type in ("declaration", "field_declaration", "type_definition", "function_definition"):
        kind = node.child_by_field_name("type")
        if kind is not None:
            yield _Place(kind, scope, place.template)


def _body_of(node: Node, scope: tuple[str, ...]) -> Iterator[_Place]:
    body = node.child_by_field_name("body")
    if body is not None:
        yield _Place(body, scope)


def _name_of(node: Node) -> tuple[str, ...]:
    """A node's own name, as one part of a scope; none for the unnamed."""
    name = node.child_by_field_name("name")
    return (_text(name),) if name is not None else ()


def _alias_of(node: Node) -> tuple[str, ...]:
    """The name that `typedef struct { ... } NAME;` gives to its unnamed type."""
    around = node.parent
    if around is None or around.type != "type_definition":
        return ()
    names = (child for child in around.children_by_field_name("declarator") if child.type == "type_identifier")
    return tuple(_text(name) for name in names)[:1]


def _text(node: Node) -> str:
    return one_spelling((node.text or b"").decode("utf-8", "replace"))


def _declared_at(path: str, place: _Place) -> Iterator[Declaration]:
    node = place.node
    if node.type in TYPES and node.child_by_field_name("body"):
        yield from _struct(path, place)
    elif node.type == "enum_specifier" and node.child_by_field_name("body"):
        yield from _enum(path, place)
    elif node.type in ("function_definition", "declaration", "field_declaration"):
        yield from _values(path, place)
    elif node.type == "alias_declaration":
        yield _named(path, place, Kind.TYPEDEF, "".join(_name_of(node)), place.template + _text(node))
    elif node.type == "type_definition":
        yield from _typedefs(path, place)


def _named(
    path: str, place: _Place, kind: Kind, name: str, text: str, members: tuple[Member, ...] = ()
) -> Declaration:
    qualified = "::".join((*place.scope, name))
    return Declaration(kind=kind, name=qualified, path=path, text=text.removesuffix(";"), members=members)


def _before(node: Node, end: Node) -> str:
    """A node's text up to one of its children."""
    return (node.text or b"")[: end.start_byte - node.start_byte].decode("utf-8", "replace")


def _listing(head: str, lines: Iterator[str]) -> str:
    return "\n".join((f"{head} {{", *(f"    {line}" for line in lines), "}"))


def _struct(path: str, place: _Place) -> Iterator[Declaration]:
    node = place.node
    body, name = node.child_by_field_name("body"), _name_of(node) or _alias_of(node)
    if body is None or not name:
        return
    fields = tuple(_fields(body))
    head = place.template + one_spelling(_before(node, body))
    lines = (" = ".join(filter(None, (field.text, field.default))) + ";" for field in fields)
    yield _named(path, place, Kind.STRUCT, name[0], _listing(head, lines), fields)


def _fields(body: Node) -> Iterator[Member]:
    """The data members in order, those of conditions and of unnamed inner types too."""
    stack = list(reversed(body.children))
    while stack:
        node = stack.pop()
        if node.type in CONDITIONS:
            stack += reversed(node.children)
        elif node.type in ("field_declaration", "declaration"):
            inner = _unnamed_body(node)
            stack += reversed(inner.children) if inner else ()
            members = (member for member, function in _declarators(node) if function is None)
            yield from (member for member in members if "static" not in member.text.split())


def _unnamed_body(node: Node) -> Node | None:
    """The body of an inner type whose fields belong to the outer one: it has no name and declares nothing."""
    kind = node.child_by_field_name("type")
    if kind is None or kind.type not in TYPES or node.child_by_field_name("declarator"):
        return None
    return kind.child_by_field_name("body") if not _name_of(kind) else None


def _declarators(node: Node) -> Iterator[tuple[Member, Node | None]]:
    """Each name that a declaration introduces, with its own type and default, and its declarator if a function's."""
    first = node.child_by_field_name("declarator")
    if first is None:
        return
    head = _before(node, first)
    group: list[Node] = []
    for child in (child for child in node.children if child.start_byte >= first.start_byte):
        if child.type in (",", ";"):
            yield from _member(head, group)
            group = []
        elif child.type not in BODIES:
            group.append(child)
    yield from _member(head, group)


def _member(head: str, group: list[Node]) -> Iterator[tuple[Member, Node | None]]:
    name, function = _innermost(group[0]) if group else (None, None)
    if name is None:
        return
    text = " ".join((part.text or b"").decode("utf-8", "replace") for part in group)
    declared, default = (text, "") if function else _split_default(text, name.end_byte - group[0].start_byte)
    spelling = one_spelling(f"{head} {declared}")
    yield Member(name=_text(name), text=spelling, default=one_spelling(default)), function


def _split_default(text: str, at: int) -> tuple[str, str]:
    """What is declared, and its initialiser behind the name that ends at `at`: written with `=` or in braces."""
    cut = re.search(r"(?<![=!<>])=(?!=)|\{", text[at:])
    if cut is None:
        return text, ""
    start = at + cut.start()
    return text[:start], text[start:].removeprefix("=")


def _innermost(node: Node | None) -> tuple[Node | None, Node | None]:
    """The name in a declarator, and the declarator of a function (not of a pointer to one) around it."""
    function = None
    while node is not None and node.type not in NAMES:
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((c for c in reversed(node.children) if c.type.endswith(NAME_ENDS)), None)
        if node.type == "function_declarator":
            function = node if inner is not None and inner.type != "parenthesized_declarator" else None
        node = inner
    return node, function


def _enum(path: str, place: _Place) -> Iterator[Declaration]:
    """The enum; of one without a name each enumerator for itself."""
    node = place.node
    body, name = node.child_by_field_name("body"), _name_of(node) or _alias_of(node)
    if body is None:
        return
    values = tuple(Member(name=word, text=word, default=value) for word, value in counted(_enumerators(body)))
    if not name:
        for value in values:
            yield _named(path, place, Kind.ENUM, value.name, f"enum {{ {value.name} = {value.default} }}", (value,))
        return
    lines = (f"{value.name} = {value.default}," for value in values)
    scoped = any(child.type in ("class", "struct") for child in node.children)
    yield replace(
        _named(path, place, Kind.ENUM, name[0], _listing(one_spelling(_before(node, body)), lines), values),
        scoped=scoped,
    )


def _enumerators(body: Node) -> Iterator[tuple[str, str]]:
    """Names and values as written, those under conditions too."""
    stack = list(reversed(body.children))
    while stack:
        node = stack.pop()
        name = node.child_by_field_name("name") if node.type == "enumerator" else None
        if name is not None:
            value = node.child_by_field_name("value")
            yield _text(name), _text(value) if value is not None else ""
        elif node.type in CONDITIONS:
            stack += reversed(node.children)


def _values(path: str, place: _Place) -> Iterator[Declaration]:
    """Functions, and constants with their values."""
    for member, function in _declarators(place.node):
        words = set(member.text.split())
        if function is not None:
            text = place.template + one_spelling(member.text, without=STORAGE)
            yield _named(path, place, Kind.FUNCTION, member.name, text, tuple(_parameters(function)))
        elif member.default and {"const", "constexpr"} & words and _is_shared(place.node, words):
            text = f"{place.template}{member.text} = {member.default}"
            yield _named(path, place, Kind.CONSTANT, member.name, text, (member,))


def _is_shared(node: Node, words: set[str]) -> bool:
    return node.type != "field_declaration" or "static" in words


def _parameters(function: Node) -> Iterator[Member]:
    listed = function.child_by_field_name("parameters")
    for at, child in enumerate(listed.named_children if listed else (), start=1):
        if child.type.endswith("parameter_declaration"):
            name, _ = _innermost(child.child_by_field_name("declarator"))
            value = child.child_by_field_name("default_value")
            text = _text(child) if value is None else one_spelling(_before(child, value)).removesuffix("=").rstrip()
            default = _text(value) if value is not None else ""
            yield Member(name=_text(name) if name else f"#{at}", text=text, default=default)


def _typedefs(path: str, place: _Place) -> Iterator[Declaration]:
    """Other names of types; a type that is made on the spot is declared under its own."""
    node = place.node
    kind = node.child_by_field_name("type")
    if kind is not None and kind.child_by_field_name("body"):
        return
    for member, _ in _declarators(node):
        yield _named(path, place, Kind.TYPEDEF, member.name, member.text)
