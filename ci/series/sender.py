"""Who wrote a mail, as `git mailinfo` reads its From line: the commit carries this, not what the line says (pure)."""

import re

QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
ESCAPED = re.compile(r"\\(.)")
ADDRESS = re.compile(r"[^\s<]*@[^ \n\t\r\v\f>]*")
BRACKETED = re.compile(r"<([^>]*)>")

NAME_BYTES = range(1, 61)
"""Lengths of a name that git believes; in place of others, and of one that holds `@`, it writes the address."""


def sender(value: str) -> str:
    """`Name <address>` out of a decoded From value; the value itself when it holds no address."""
    text = QUOTED.sub(lambda quoted: ESCAPED.sub(r"\1", quoted[1]), value)
    found = ADDRESS.search(text) if "@" in text else BRACKETED.search(text)
    if found is None:
        return " ".join(value.split())
    if "@" not in text:
        return _signed(text[: found.start()].strip(), found[1])
    before, after = text[: found.start()].removesuffix("<"), text[found.end() :].removeprefix(">")
    name = " ".join(f"{before} {after}".split())
    return _signed(name[1:-1] if name.startswith("(") and name.endswith(")") else name, found[0])


def _signed(name: str, address: str) -> str:
    believed = len(name.encode("utf-8", "surrogateescape")) in NAME_BYTES and not set(name) & set("@<>")
    return f"{name if believed else address} <{address}>"
