"""What the stages hand on: one frozen value per stage, as stored in its record."""

from pathlib import Path

from ci.config import Model
from ci.release.manifest import DriftEntry


class Synced(Model):
    """Both builds are in the history: tag and tree of the base and of the aim."""

    base: str
    base_tree: str
    onto: str
    onto_tree: str


class Shelved(Model):
    """Models and pairs are on the shelf: SHA-256 by model id."""

    digests: dict[str, str]


class Carried(Model):
    """One patch after the rebase.

    `state` is applied, absorbed or skipped; `build` the first known one that has an absorbed patch; `resolutions` the
    conflict ids whose recorded resolution was replayed.
    """

    id: str
    subject: str
    state: str
    build: str | None = None
    resolutions: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The state for a person."""
        if self.build:
            return f"{self.state}: in {self.build}"
        return (
            f"{self.state}, {len(self.resolutions)} conflict(s) resolved as recorded"
            if self.resolutions
            else self.state
        )


class Rebased(Model):
    """The series on the aim: release id, commit and tree of its head, and what drifted under its patches."""

    release: str
    onto: str
    head: str
    tree: str
    patches: tuple[Carried, ...]
    drift: tuple[DriftEntry, ...] = ()


class Built(Model):
    """Both builds: their folders in the store and the digests over their files."""

    stock: Path
    stock_digest: str
    speed: Path
    speed_digest: str


class Archived(Model):
    """The archives of a container build: their folder, their names (speed first)."""

    folder: Path
    archives: tuple[str, ...]


class Companion(Model):
    """The archive of a lane's CUDA libraries."""

    archive: Path


class Audited(Model):
    """What the audit found: one report per archive."""

    reports: tuple[Path, ...]


class Proved(Model):
    """A suite's evidence file."""

    evidence: Path


class ParityProof(Proved):
    """Evidence of the parity suite."""


class ThroughputProof(Proved):
    """Evidence of the throughput suite."""


class Packed(Model):
    """The release folder and the archives in it."""

    folder: Path
    archives: tuple[str, ...]


class Released(Model):
    """The finished folder: digest of the manifest's deterministic part, and the headline."""

    folder: Path
    fixed_digest: str
    headline: str
