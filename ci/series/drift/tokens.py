"""C and C++ text as tokens: comments and white space fall away, so that only a change of code is a change.

`spelled` writes tokens down in one fixed way. `hunk_tokens` reads a hunk of a patch and says which tokens stand on
added lines; a comment that began above a line is still a comment.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

TOKEN = re.compile(
    r"""(?P<space>(?:\s|\\\n)+)
    |(?P<comment>//(?:[^\n\\]|\\.|\\\n)*|/\*.*?(?:\*/|\Z))
    |(?P<raw>(?:u8|[uUL])?R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)")
    |(?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"?|(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*'?)
    |(?P<word>[^\W\d]\w*)
    |(?P<number>\.?\d(?:[eEpP][+-]|['.]?\w|\.)*)
    |(?P<sign><<=|>>=|\.\.\.|->\*?|::|\+\+|--|&&|\|\||<<|[-+*/%&|^=!<>]=|\#\#|.)""",
    re.VERBOSE | re.DOTALL,
)
"""`>>` is two signs: it closes two templates more often than it shifts."""

NO_SPACE_BEFORE = frozenset((")", "]", ",", ";", "[", "::", "->", ".", "...", "++", "--"))
CALLABLE_ENDS = frozenset((")", "]"))
NO_SPACE_AFTER = frozenset(("(", "[", "::", "->", ".", "~", "!", "#"))
ENDS_TEMPLATES = frozenset((";", "{", "&&", "||"))
SIGNS_OF_A_VALUE = frozenset(("-", "+"))
BEFORE_A_VALUE = frozenset(("", "(", "[", "{", ",", "=", "<", "+", "-", "*", "/", "<<", "return", "?", ":"))

INCLUDE = re.compile(r"\s*#\s*include\b")

NAMELESS = """
and break case catch co_await co_return co_yield continue default delete do else false for goto if new not nullptr or
return switch this throw true try while
alignas alignof assert const_cast decltype defined dynamic_cast noexcept operator reinterpret_cast sizeof
static_assert static_cast typeid
define elif endif ifdef ifndef include pragma undef
"""
KEYWORDS = frozenset(NAMELESS.split())
"""Words that may stand in front of a name without declaring it, and name nothing themselves."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its text, whether it is a word (a name or keyword), and whether an added line holds it."""

    text: str
    is_word: bool
    added: bool = True


def tokens_of(text: str) -> tuple[Token, ...]:
    """The tokens of a piece of code, comments left out; never fails, whatever the text."""
    return tuple(
        Token(match[0], match.lastgroup == "word")
        for match in TOKEN.finditer(text)
        if match.lastgroup not in ("space", "comment")
    )


def spelled(tokens: Sequence[Token]) -> str:
    """Tokens as one line, spaced by fixed rules: equal code gives equal text."""
    parts: list[str] = []
    brackets = _template_brackets(tokens)
    before, tight, called = "", True, False
    for at, token in enumerate(tokens):
        text = token.text
        glued = tight or text in NO_SPACE_BEFORE or at in brackets or (text == "(" and called)
        parts.append(text if glued else f" {text}")
        is_sign = text in SIGNS_OF_A_VALUE and before in BEFORE_A_VALUE
        tight = text in NO_SPACE_AFTER or is_sign or (text == "<" and at in brackets)
        called = token.is_word or text in CALLABLE_ENDS or (text == ">" and at in brackets)
        before = text
    return "".join(parts)


def _template_brackets(tokens: Sequence[Token]) -> frozenset[int]:
    """Where `<` and `>` seem to enclose template arguments instead of comparing."""
    opened: list[int] = []
    found: set[int] = set()
    for at, token in enumerate(tokens):
        if token.text == "<":
            opened.append(at)
        elif token.text == ">" and opened:
            found |= {opened.pop(), at}
        elif token.text in ENDS_TEMPLATES:
            opened.clear()
    return frozenset(found)


@lru_cache(maxsize=1 << 15)
def one_spelling(text: str, without: frozenset[str] = frozenset()) -> str:
    """Code without comments (and without some words), in the one spelling; old and new files share most of it."""
    return spelled([token for token in tokens_of(text) if token.text not in without])


def hunk_tokens(lines: Sequence[tuple[str, str]]) -> tuple[Token, ...]:
    """The tokens of one hunk's new side.

    Args:
        lines: sign (blank or plus) and text of each line, in order.
    """
    text = "\n".join("" if INCLUDE.match(line) else line for _, line in lines)
    begin = _end_of_open_comment(text)
    line = text.count("\n", 0, begin)
    found: list[Token] = []
    for match in TOKEN.finditer(text, begin):
        if match.lastgroup not in ("space", "comment"):
            found.append(Token(match[0], match.lastgroup == "word", lines[line][0] == "+"))
        line += match[0].count("\n")
    return tuple(found)


def _end_of_open_comment(text: str) -> int:
    """Where code begins in a hunk that begins within a block comment; 0 in any other."""
    end = text.find("*/")
    return end + 2 if end >= 0 and "/*" not in text[:end] else 0
