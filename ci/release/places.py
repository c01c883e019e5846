"""Text without the folders of the machine that wrote it: a release says nothing about where it was made."""

import re
from collections.abc import Mapping

from ci.outcome import JsonValue


def without_places(value: JsonValue, places: Mapping[str, str]) -> JsonValue:
    """A JSON value in which every text, keys included, calls folders by their names.

    Args:
        value: anything that JSON can hold.
        places: name by absolute path, e.g. `{"/srv/x/.speedfork": "<home>"}`; of nested folders the inner one counts.
    """
    longest_first = "|".join(re.escape(path) for path in sorted(places, key=len, reverse=True))
    # a path begins after no other part of one, and ends where its last name ends
    pattern = re.compile(rf"(?<![\w.~-])(?:{longest_first})(?![\w-]|\.\w)")
    return _renamed(value, pattern, places) if places else value


def _renamed(value: JsonValue, pattern: re.Pattern[str], places: Mapping[str, str]) -> JsonValue:
    if isinstance(value, str):
        return pattern.sub(lambda found: places[found[0]], value)
    if isinstance(value, Mapping):
        return {_renamed(key, pattern, places): _renamed(part, pattern, places) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(part, pattern, places) for part in value]
    return value
