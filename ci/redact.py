"""Keep passwords and tokens that stand in URLs out of everything that is printed."""

import re

_USER_INFO = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)[^\s/]*@")
_QUERY = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^\s?#'\"]*)[?#][^\s'\"]*")


def without_credentials(text: str) -> str:
    """The text with user names, passwords, queries and fragments of all its URLs masked."""
    return _QUERY.sub(r"\1?***", _USER_INFO.sub(r"\1***@", text))
