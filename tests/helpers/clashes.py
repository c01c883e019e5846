"""A patch and an upstream build that disagree, with a home to resolve it in.

clash = Clash.of(tmp_path, {"a.txt": numbered(30)}, upstream={"a.txt": ...}, patch={"a.txt": ...})
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ci.git import Git
from ci.home import Home
from ci.series.byhand.rebase_state import State
from ci.series.byhand.resolutions import FOLDER, Recorded, Replayed, load_store, record, replay_resolutions
from tests.helpers.histories import Entry, Files, Past, changed, numbered

PATCH_ID = "speed-up"
LINES = numbered(30)
UPSTREAM = changed(LINES, 12, b"upstream")
PATCHED = changed(LINES, 12)
SETTLED = changed(LINES, 12, b"both")


@dataclass(frozen=True)
class Clash:
    """Two commits on one base, in a bare history, and a machine to work on."""

    past: Past
    home: Home

    @classmethod
    def of(cls, root: Path, base: Files, *, upstream: Files, patch: Files) -> "Clash":
        root.mkdir(exist_ok=True)
        past = Past(root)
        past.build("b100", base)
        past.patch(PATCH_ID, patch)
        after: dict[str, bytes | Entry | None] = {**base, **upstream}
        past.build("b101", {path: content for path, content in after.items() if content is not None})
        return cls(past, Home(root=root / "state", checkout=root / "fork"))

    @classmethod
    def usual(cls, root: Path) -> "Clash":
        """One file, line 12 changed by both."""
        return cls.of(root, {"a.txt": LINES}, upstream={"a.txt": UPSTREAM}, patch={"a.txt": PATCHED})

    @property
    def history(self) -> Git:
        return self.past.git

    @property
    def ours(self) -> str:
        return self.past.builds["b101"]

    @property
    def theirs(self) -> str:
        return self.past.tip

    @property
    def store(self) -> Path:
        return self.home.patches / FOLDER

    @property
    def state(self) -> State:
        return State(onto="b101", base="b100", series="0", patch_id=PATCH_ID, tip=self.ours, picked=self.theirs)

    def record(self, resolved: Mapping[str, bytes], store: Path | None = None) -> Recorded:
        return record(
            self.history,
            store or self.store,
            ours=self.ours,
            theirs=self.theirs,
            resolved=resolved,
            work=self.home.work,
        )

    def replay(self, store: Path | None = None) -> Replayed:
        loaded = load_store(store or self.store)
        return replay_resolutions(self.history, loaded, ours=self.ours, theirs=self.theirs, work=self.home.work)

    def replayed(self, store: Path | None = None) -> dict[str, bytes]:
        """Content of each path that recorded resolutions settle."""
        settled = self.replay(store).settled
        return {path: self.history("cat-file", "blob", blob).stdout for path, blob in settled.items()}


def files_below(place: Path) -> dict[str, bytes]:
    """Every file of a folder, by its path from there."""
    return dict(_files(place))


def _files(place: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(place.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(place)), path.read_bytes()
