"""`models.toml`: which models there are, where their bytes come from, and what those bytes are."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from ci.config import CONFIG_DIR, Field, Model, Sha256, load_toml
from ci.errors import ConfigProblem, UsageProblem
from ci.suggest import did_you_mean

MODELS_FILE = CONFIG_DIR / "models.toml"


class FromIndex(Model):
    """One member of a wheel that a package index offers; sizes in bytes."""

    project: str = Field(min_length=1)
    file: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*\.whl$")
    file_sha256: Sha256
    member: str = Field(min_length=1)
    size: int = Field(gt=0)
    sha256: Sha256

    @property
    def name(self) -> str:
        """File name of the model."""
        return PurePosixPath(self.member).name


class Generated(Model):
    """Files that ci.models.exact_pair writes: the named pair, and SHA-256 by file name."""

    pair: str = Field(min_length=1)
    sha256: Mapping[str, Sha256] = Field(min_length=1)


class ModelEntry(Model):
    """One model: exactly one of `index` and `generated` says where it comes from."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    about: str
    role: str
    licence: str = Field(min_length=1)
    index: FromIndex | None = None
    generated: Generated | None = None


class _File(Model):
    model: tuple[ModelEntry, ...] = Field(min_length=1)


def load_models(path: Path = MODELS_FILE) -> dict[str, ModelEntry]:
    """All models by id, in file order.

    Raises:
        ConfigProblem: not a valid file, an id twice, or an entry with both sources or none; lists all faults.
    """
    entries = load_toml(_File, path, hint=f"edit {path}").model
    faults = [*_repeated(entries), *_unsourced(entries)]
    if faults:
        raise ConfigProblem(f"{path}: " + "; ".join(faults), hint=f"edit {path}")
    return {entry.id: entry for entry in entries}


def _repeated(entries: tuple[ModelEntry, ...]) -> Iterator[str]:
    counts = Counter(entry.id for entry in entries)
    return (f"id {name!r} stands {count} times" for name, count in counts.items() if count > 1)


def _unsourced(entries: tuple[ModelEntry, ...]) -> Iterator[str]:
    unclear = [entry.id for entry in entries if (entry.index is None) == (entry.generated is None)]
    return (f"{name}: give exactly one of index and generated" for name in unclear)


def model_named(models: Mapping[str, ModelEntry], name: str) -> ModelEntry:
    """The entry of an id.

    Raises:
        UsageProblem: no such id; suggests the closest.
    """
    if name in models:
        return models[name]
    guess = did_you_mean(name, models)
    raise UsageProblem(f"model {name!r} is not in {MODELS_FILE.name}{guess}", hint=f"known ids: {', '.join(models)}")
