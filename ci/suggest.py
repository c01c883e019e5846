"""A guess at the word that was meant."""

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`, did you mean 'x'?` for the known word that is closest whatever its case, or nothing."""
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), list(by_lower), n=1)
    return f", did you mean {by_lower[close[0]]!r}?" if close else ""
