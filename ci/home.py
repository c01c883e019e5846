"""Where state lives: `.speedfork/` in the checkout, or SPEEDFORK_HOME. Products go to `out/`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ci.errors import UsageProblem

ENV_HOME = "SPEEDFORK_HOME"


@dataclass(frozen=True, kw_only=True)
class Home:
    """The state directory and the checkout it serves. Every path that the project writes starts here."""

    root: Path
    checkout: Path

    @classmethod
    def find(cls, checkout: Path, environ: Mapping[str, str]) -> "Home":
        """The home for a checkout.

        Raises:
            UsageProblem: SPEEDFORK_HOME is not an absolute path.
        """
        named = environ.get(ENV_HOME, "")
        root = Path(named) if named else checkout / ".speedfork"
        if not root.is_absolute():
            raise UsageProblem(
                f"{ENV_HOME}={named!r} is not an absolute path", hint=f"export {ENV_HOME}=$PWD/{named}"
            )
        return cls(root=root, checkout=checkout)

    @property
    def history(self) -> Path:
        """Bare git repository: upstream builds as tags, the speed branch."""
        return self.root / "history.git"

    @property
    def downloads(self) -> Path:
        """Verified files from a package index, under their own names."""
        return self.root / "downloads"

    @property
    def models(self) -> Path:
        """Verified GGUF files and generated exact pairs."""
        return self.root / "models"

    @property
    def store(self) -> Path:
        """Built binaries by input digest."""
        return self.root / "store"

    @property
    def ccache(self) -> Path:
        """The compiler cache shared by stock and speed."""
        return self.root / "ccache"

    @property
    def work(self) -> Path:
        """Scratch: source trees, build trees, server logs. May be deleted between runs."""
        return self.root / "scratch"

    @property
    def records(self) -> Path:
        """One JSON file per stage and input digest."""
        return self.root / "records"

    @property
    def lock(self) -> Path:
        """The lock file of pipeline runs."""
        return self.root / "lock"

    @property
    def patches(self) -> Path:
        """The series, in the checkout."""
        return self.checkout / "patches"

    @property
    def out(self) -> Path:
        """Products only."""
        return self.checkout / "out"
