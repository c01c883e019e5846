"""What each patch is worth: its switch on against off in one binary."""

from ci.console import Console
from ci.home import Home


def switches(home: Home, console: Console, *, patch: str, profile: str) -> int:
    """Placeholder."""
    raise NotImplementedError
