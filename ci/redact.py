"""Keep passwords and tokens that stand in URLs out of everything that is printed."""

import re

_USER_INFO = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)[^\s/]*@")
_QUERY = re.compile(r"(/[^\s?'\"]*)\?[^\s'\"]*")
"""Of a whole URL, or of the path alone, as HTTP libraries quote it."""


def without_credentials(text: str) -> str:
    """The text with user names, passwords and queries of all its URLs masked."""
    return _QUERY.sub(r"\1?***", _USER_INFO.sub(r"\1***@", text))
