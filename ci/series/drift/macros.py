"""Macros of a source file with the `#if` conditions that they stand under.

Read line by line, not from a syntax tree: conditions around `extern "C" {` break every tree, and a tree that breaks
elsewhere after an edit would show macros as moved that were not.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ci.series.drift.tokens import one_spelling

COMMENT_OR_TEXT = re.compile(
    r"""//(?:[^\n\\]|\\.|\\\n)*|/\*.*?(?:\*/|\Z)|R"([^\s()\\]{0,16})\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)", re.DOTALL)
DEFINED = re.compile(r"(\w+)(\([^)]*\))?(.*)", re.DOTALL)

LINKAGE = re.compile(rb"\b[A-Z][A-Z0-9_]*_(?:API|CALL|EXPORT)\b")
DEPRECATED = re.compile(rb'\b(?:[A-Z]+_)?DEPRECATED\(([^;]{1,2000}?),\s*"[^"\n]*"\s*\)\s*;')


@dataclass(frozen=True, kw_only=True)
class Macro:
    """A `#define`: its name, its parameters in brackets (or nothing), its value, the conditions around it."""

    name: str
    parameters: str
    value: str
    guard: tuple[str, ...]

    @property
    def text(self) -> str:
        """The conditions, one a line, and the definition."""
        definition = f"#define {self.name}{self.parameters} {self.value}".rstrip()
        return "\n".join((*(f"#if {condition}" for condition in self.guard), definition))


@dataclass
class _Branch:
    """An open `#if`: the conditions of the branches above the current one, and the current one's."""

    above: tuple[str, ...]
    current: str

    @property
    def condition(self) -> str:
        return " && ".join((*(f"!({text})" for text in self.above), *([self.current] if self.current else [])))


def read_macros(text: str) -> Iterator[Macro]:
    """Each macro of a file, in order; a file's own include guard is no condition."""
    branches: list[_Branch] = []
    directives = list(_directives(text))
    guard = _include_guard(directives)
    for word, rest in directives:
        if word == "define" and (match := DEFINED.match(rest)):
            conditions = (branch.condition for branch in branches)
            yield Macro(
                name=match[1],
                parameters=one_spelling(match[2] or ""),
                value=one_spelling(match[3]),
                guard=tuple(condition for condition in conditions if condition != guard),
            )
        else:
            _turn(branches, word, one_spelling(rest))


def _turn(branches: list[_Branch], word: str, condition: str) -> None:
    """Follow a directive into or out of a branch; one without its `#if` is passed over."""
    if word in ("if", "ifdef", "ifndef"):
        spelled = {"if": condition, "ifdef": f"defined({condition})", "ifndef": f"!defined({condition})"}
        branches.append(_Branch(above=(), current=spelled[word]))
    elif word in ("elif", "else") and branches:
        last = branches.pop()
        branches.append(_Branch(above=(*last.above, last.current), current=condition if word == "elif" else ""))
    elif word == "endif" and branches:
        branches.pop()


def _include_guard(directives: list[tuple[str, str]]) -> str | None:
    if len(directives) < 2 or directives[0][0] != "ifndef" or directives[1][0] != "define":
        return None
    name = directives[0][1].strip()
    return f"!defined({name})" if directives[1][1].strip() == name else None


def _directives(text: str) -> Iterator[tuple[str, str]]:
    """Each preprocessor line: its word, and the rest with its continuation lines."""
    for line in _without_comments(text).replace("\\\n", " ").split("\n"):
        match = DIRECTIVE.fullmatch(line)
        if match:
            yield match[1], match[2]


def _without_comments(text: str) -> str:
    """The text with a blank for each comment."""
    return COMMENT_OR_TEXT.sub(lambda found: " " if found[0][0] == "/" else found[0], text)


def without_decoration(data: bytes) -> bytes:
    """A file without the macros in front of and around prototypes: no grammar can know that they are specifiers."""
    return LINKAGE.sub(b"", DEPRECATED.sub(rb"\1;", data))
