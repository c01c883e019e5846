"""How C, C++ and CUDA write declarations down: names, fields, parameters and enumerators out of syntax nodes.

`Node` says what is asked of a node; which library makes them is known to `ci.series.drift.declarations` alone.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Protocol, Self

from ci.series.drift.declared import Member
from ci.series.drift.tokens import one_spelling

TYPES = ("struct_specifier", "class_specifier", "union_specifier")
CONDITIONS = ("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else")
IDENTIFIERS = ("identifier", "field_identifier", "type_identifier", "qualified_identifier")
NAMES = (*IDENTIFIERS, "operator_name", "destructor_name", "operator_cast", "template_function")
NAME_ENDS = ("declarator", *NAMES)
BODIES = ("compound_statement", "field_initializer_list", "try_statement")


class Node(Protocol):
    """A node of a syntax tree: its type in the grammar, its source text, its children."""

    @property
    def type(self) -> str:
        """The rule of the grammar, or the token itself."""

    @property
    def text(self) -> bytes | None:
        """The source from its first to its last byte."""

    @property
    def start_byte(self) -> int:
        """Where it begins in the file."""

    @property
    def end_byte(self) -> int:
        """Where it ends in the file."""

    @property
    def parent(self) -> Self | None:
        """The node around it."""

    @property
    def children(self) -> Sequence[Self]:
        """All nodes in it, tokens too."""

    @property
    def named_children(self) -> Sequence[Self]:
        """Those that are no mere tokens."""

    def child_by_field_name(self, name: str, /) -> Self | None:
        """The child in a role that the grammar names."""

    def children_by_field_name(self, name: str, /) -> Sequence[Self]:
        """All of them."""


def name_of(node: Node) -> tuple[str, ...]:
    """A node's own name, as one part of a scope; none for the unnamed."""
    name = node.child_by_field_name("name")
    return (text_of(name),) if name is not None else ()


def alias_of(node: Node) -> tuple[str, ...]:
    """The name that `typedef struct { ... } NAME;` gives to its unnamed type."""
    around = node.parent
    if around is None or around.type != "type_definition":
        return ()
    names = (child for child in around.children_by_field_name("declarator") if child.type == "type_identifier")
    return tuple(text_of(name) for name in names)[:1]


def text_of(node: Node) -> str:
    """A node's code in the one spelling."""
    return one_spelling((node.text or b"").decode("utf-8", "replace"))


def text_before(node: Node, end: Node) -> str:
    """A node's text up to one of its children."""
    return (node.text or b"")[: end.start_byte - node.start_byte].decode("utf-8", "replace")


def fields_of(body: Node) -> Iterator[Member]:
    """The data members in order, those of conditions and of unnamed inner types too."""
    stack = list(reversed(body.children))
    while stack:
        node = stack.pop()
        if node.type in CONDITIONS:
            stack += reversed(node.children)
        elif node.type in ("field_declaration", "declaration"):
            inner = _unnamed_body(node)
            stack += reversed(inner.children) if inner else ()
            members = (member for member, function in declarators(node) if function is None)
            yield from (member for member in members if "static" not in member.text.split())


def _unnamed_body(node: Node) -> Node | None:
    """The body of an inner type whose fields belong to the outer one: it has no name and declares nothing."""
    kind = node.child_by_field_name("type")
    if kind is None or kind.type not in TYPES or node.child_by_field_name("declarator"):
        return None
    return kind.child_by_field_name("body") if not name_of(kind) else None


def declarators(node: Node) -> Iterator[tuple[Member, Node | None]]:
    """Each name that a declaration introduces, with its own type and default, and its declarator if a function's."""
    first = node.child_by_field_name("declarator")
    if first is None:
        return
    head = text_before(node, first)
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
    yield Member(name=text_of(name), text=spelling, default=one_spelling(default)), function


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


def enumerators_of(body: Node) -> Iterator[tuple[str, str]]:
    """Names and values as written, those under conditions too."""
    stack = list(reversed(body.children))
    while stack:
        node = stack.pop()
        name = node.child_by_field_name("name") if node.type == "enumerator" else None
        if name is not None:
            value = node.child_by_field_name("value")
            yield text_of(name), text_of(value) if value is not None else ""
        elif node.type in CONDITIONS:
            stack += reversed(node.children)


def parameters_of(function: Node) -> Iterator[Member]:
    """The parameters of a function's declarator; one without a name goes by its number."""
    listed = function.child_by_field_name("parameters")
    for at, child in enumerate(listed.named_children if listed else (), start=1):
        if child.type.endswith("parameter_declaration"):
            name, _ = _innermost(child.child_by_field_name("declarator"))
            value = child.child_by_field_name("default_value")
            text = (
                text_of(child)
                if value is None
                else one_spelling(text_before(child, value)).removesuffix("=").rstrip()
            )
            default = text_of(value) if value is not None else ""
            yield Member(name=text_of(name) if name else f"#{at}", text=text, default=default)
