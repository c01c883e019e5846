"""Trailers of a commit message, found by the rule of git-interpret-trailers(1); the tests hold the two together."""

import re
from typing import TypeAlias

GIT_MADE = ("Signed-off-by: ", "(cherry picked from commit ")
"""Lines that let git accept a paragraph in which only a quarter of the lines are trailers."""

BLANKS = " \t\r\n"
"""What git counts as white space; Python's own notion is wider."""

Pairs: TypeAlias = tuple[tuple[str, str], ...]


def read_trailers(message: str) -> Pairs:
    """The trailers of a commit message as (key, value), in order, folded values joined by one space."""
    pairs: list[tuple[str, str]] = []
    foldable = False
    for line in _trailer_lines(message.split("\n")):
        colon = _separator(line)
        if line[0] in BLANKS:
            if foldable:
                key, value = pairs[-1]
                pairs[-1] = (key, f"{value} {line.lstrip(BLANKS)}")
            continue
        foldable = colon >= 1
        if foldable:
            pairs.append((line[:colon].strip(BLANKS), line[colon + 1 :]))
    return tuple((key, value.strip(BLANKS)) for key, value in pairs)


def _trailer_lines(lines: list[str]) -> list[str]:
    """The lines of the last paragraph when it is one of trailers, else nothing."""
    body = [line for line in lines if not line.startswith("#")]
    while body and not body[-1].strip(BLANKS):
        body.pop()
    blanks = [at for at, line in enumerate(body) if not line.strip(BLANKS)]
    paragraph = body[blanks[-1] + 1 :] if blanks else []  # the first paragraph is the title
    return paragraph if _is_trailer_paragraph(paragraph) else []


def _is_trailer_paragraph(paragraph: list[str]) -> bool:
    trailers = others = folded = 0
    for line in reversed(paragraph):  # from the end: a fold belongs to what stands above it
        if line.startswith(GIT_MADE) or (_separator(line) >= 1):
            trailers, folded = trailers + 1, 0
        elif line[0] in BLANKS:
            folded += 1
        else:
            others, folded = others + 1 + folded, 0
    others += folded
    if any(line.startswith(GIT_MADE) for line in paragraph):
        return trailers * 3 >= others
    return trailers > 0 and others == 0


def _separator(line: str) -> int:
    """Index of the colon that ends the key (letters, digits, dashes, then blanks), or -1."""
    match = re.match(r"[A-Za-z0-9-]+[ \t]*:", line)
    return match.end() - 1 if match else -1
