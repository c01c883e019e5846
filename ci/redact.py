"""Keep passwords and tokens that stand in URLs, and foreign control characters, out of everything that is printed."""

import re
from collections.abc import Iterable

_USER_INFO = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)[^\s/]*@")
_QUERY = re.compile(r"(/[^\s?'\"]*)\?[^\s'\"]*")
"""Of a whole URL, or of the path alone, as HTTP libraries quote it."""


def without_credentials(text: str) -> str:
    """The text with user names, passwords and queries of all its URLs masked."""
    return _QUERY.sub(r"\1?***", _USER_INFO.sub(r"\1***@", text))


def quoted_lines(lines: Iterable[str]) -> str:
    """What a remote said, as a message may quote it: indented, without credentials and control characters."""
    clean = ("".join(letter if letter.isprintable() else "?" for letter in line) for line in lines)
    return without_credentials("\n".join(f"    {line}" for line in clean))
