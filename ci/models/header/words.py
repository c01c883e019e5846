"""Text of a foreign file as it may be shown: on one line, without control characters, not longer than asked."""

MOST = 80
"""Letters of a name or value in a message."""


def plain(text: str, most: int = MOST) -> str:
    """A text with every letter that is not printable escaped: a terminal obeys none of it."""
    cut = text if len(text) <= most else f"{text[: most - 3]}..."
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in cut)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def some(names: list[str], most: int = 3) -> str:
    """The first of many names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(plain(name) for name in names[:most]) + (f" and {rest} more" if rest > 0 else "")
