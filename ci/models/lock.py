"""`models.toml`: which models there are, where their bytes come from, and what those bytes are."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Annotated, TypeAlias

from ci.config import CONFIG_DIR, Field, Model, ObjectId, Sha256, load_toml
from ci.errors import ConfigProblem, UsageProblem
from ci.models import checkpoints
from ci.models.shard_names import shards_fault
from ci.suggest import did_you_mean

MODELS_FILE = CONFIG_DIR / "models.toml"
ADDRESS = re.compile(
    r"(?P<place>https?://(?P<host>[^/?#\s]+)/(?:[^?#\s]*/)?)(?P<name>[^/?#\s]+)(?P<rest>[?#]\S*)?", re.ASCII
)
"""An address of a file: its folder, its name, and a query."""

PLAIN_NAME = r"[A-Za-z0-9][A-Za-z0-9._+-]*"  # what the name of a pinned file matches

FileName = Annotated[str, Field(pattern=rf"^{PLAIN_NAME}$")]
"""A plain name that cannot leave its folder."""

FilePath = Annotated[str, Field(pattern=rf"^{PLAIN_NAME}(/{PLAIN_NAME})*$")]
"""A path inside a repository; no part of it begins with a dot."""


class Role(StrEnum):
    """What a model is for."""

    TARGET = "target"
    DRAFT = "draft"
    SIMPLE = "simple"
    SMALL = "small"
    PAIR = "pair"


class Form(StrEnum):
    """What the files of a model are: GGUF, or a checkpoint of safetensors, which has to be converted first."""

    GGUF = "gguf"
    CHECKPOINT = "checkpoint"


class Shard(Model):
    """One file of a model: its place at the source, its size in bytes, its digest."""

    file: FilePath
    size: int = Field(gt=0)
    sha256: Sha256

    @property
    def name(self) -> str:
        """Its file name here: the shards of a model stand beside each other."""
        return PurePosixPath(self.file).name


class FromHub(Model):
    """Files of a Hugging Face repository at one commit; `file` asks for another than the only model in it."""

    repo: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$")
    file: FilePath | None = None
    revision: ObjectId | None = None
    shard: tuple[Shard, ...] = ()

    @property
    def pinned(self) -> bool:
        """Whether commit and bytes are said."""
        return self.revision is not None and bool(self.shard)


class FromUrl(Model):
    """A file behind an address; of a split model the address of the first, the others stand beside it."""

    address: str
    shard: tuple[Shard, ...] = ()

    @property
    def name(self) -> str:
        """The name of the first file."""
        found = ADDRESS.fullmatch(self.address)
        return found["name"] if found else ""

    def beside(self, name: str) -> str:
        """The address of another file in the same place."""
        return ADDRESS.sub(lambda found: f"{found['place']}{name}{found['rest'] or ''}", self.address)

    @property
    def pinned(self) -> bool:
        """Whether the bytes are said."""
        return bool(self.shard)


class Part(Model):
    """One member of a wheel that a package index offers."""

    project: str = Field(min_length=1)
    file: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*\.whl$")
    file_sha256: Sha256
    member: str = Field(min_length=1)


class FromIndex(Model):
    """A file made of members of wheels, one after another; size in bytes."""

    name: FileName
    size: int = Field(gt=0)
    sha256: Sha256
    part: tuple[Part, ...] = Field(min_length=1)

    @property
    def pinned(self) -> bool:
        """There is no such source without its pins."""
        return True

    @property
    def shard(self) -> tuple[Shard, ...]:
        """The one file that the parts make."""
        return (Shard(file=self.name, size=self.size, sha256=self.sha256),)


class Local(Model):
    """What the user brings, and what stays where it is; `path`: the first file of a model, a checkpoint's folder."""

    path: str | None = None
    shard: tuple[Shard, ...] = ()

    @property
    def pinned(self) -> bool:
        """Whether the place and the bytes are said."""
        return self.path is not None and bool(self.shard)


class Generated(Model):
    """Files that ci.models.exact_pair writes: the named pair, and SHA-256 by file name."""

    pair: str = Field(min_length=1)
    sha256: Mapping[str, Sha256] = Field(min_length=1)

    @property
    def pinned(self) -> bool:
        """There is no such source without its pins."""
        return True

    @property
    def shard(self) -> tuple[Shard, ...]:
        """None: a pair is three models, not the files of one."""
        return ()


Source: TypeAlias = FromHub | FromUrl | FromIndex | Local | Generated
SOURCES = ("hub", "url", "index", "local", "generated")


class ModelEntry(Model):
    """One model: exactly one of hub, url, index, local and generated says where it comes from.

    `pair` joins a target with its drafts; None for a model that stands alone. `suites`: whether the suites use it, so
    that the pipeline fetches it. A checkpoint is a draft with its weights, or what a conversion reads of its target:
    config and tokenizer.
    """

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    about: str
    role: Role
    licence: str = Field(min_length=1)
    form: Form = Form.GGUF
    pair: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9._-]*$")
    suites: bool = False
    hub: FromHub | None = None
    url: FromUrl | None = None
    index: FromIndex | None = None
    local: Local | None = None
    generated: Generated | None = None

    @property
    def sources(self) -> tuple[Source, ...]:
        """What says where the bytes come from; one, in an entry that `load_models` gave out."""
        return tuple(source for name in SOURCES if (source := getattr(self, name)) is not None)

    @property
    def is_checkpoint(self) -> bool:
        """Whether it is no GGUF model, but what one can be converted from."""
        return self.form is Form.CHECKPOINT

    @property
    def has_weights(self) -> bool:
        """Whether its files hold weights: of a target checkpoint nobody needs them."""
        return not (self.is_checkpoint and self.role is Role.TARGET)

    @property
    def pinned(self) -> bool:
        """Whether every byte is fixed: no gate may use another model."""
        return all(source.pinned for source in self.sources)

    @property
    def shards(self) -> tuple[Shard, ...]:
        """The files of the model, the first one first; none before it is pinned, and none of a generated pair."""
        return tuple(shard for source in self.sources for shard in source.shard)


class _File(Model):
    model: tuple[ModelEntry, ...] = Field(min_length=1)


def load_models(path: Path = MODELS_FILE) -> dict[str, ModelEntry]:
    """All models by id, in file order.

    Raises:
        ConfigProblem: not a valid file, an id twice, an entry with several sources or none, half a pin, shards that
            are not those of one model, a pair without its target or draft; lists all faults.
    """
    entries = load_toml(_File, path, hint=f"edit {path}").model
    own = (fault for entry in entries for fault in _faults(entry))
    faults = [*_repeated(entries), *own, *_unpaired(entries)]
    if faults:
        raise ConfigProblem(f"{path}: " + "; ".join(faults), hint=f"edit {path}")
    return {entry.id: entry for entry in entries}


def _repeated(entries: tuple[ModelEntry, ...]) -> Iterator[str]:
    counts = Counter(entry.id for entry in entries)
    return (f"id {name!r} stands {count} times" for name, count in counts.items() if count > 1)


def _faults(entry: ModelEntry) -> Iterator[str]:
    if len(entry.sources) != 1:
        yield f"{entry.id}: give exactly one of {', '.join(SOURCES)} (found {len(entry.sources)})"
    if entry.hub and (entry.hub.revision is None) != (not entry.hub.shard):
        yield f"{entry.id}: revision and shards are pinned together or not at all"
    if entry.local and entry.local.shard and entry.local.path is None:
        yield f"{entry.id}: shards are pinned, but no path says where they are"
    if entry.url and (fault := _address_fault(entry.url.address)):
        yield f"{entry.id}: {fault}"
    if entry.url and entry.shards and entry.shards[0].name != entry.url.name:
        yield f"{entry.id}: the first shard is {entry.shards[0].name}, the address ends in {entry.url.name}"
    if entry.is_checkpoint:
        yield from (f"{entry.id}: {fault}" for fault in _checkpoint_faults(entry))
    elif entry.shards and (fault := shards_fault([shard.name for shard in entry.shards])):
        yield f"{entry.id}: {fault}"


def _checkpoint_faults(entry: ModelEntry) -> Iterator[str]:
    if entry.suites or entry.role not in (Role.TARGET, Role.DRAFT) or not (entry.hub or entry.local):
        yield "a checkpoint is a target or a draft from a hub or a folder, and no model of the suites"
    if entry.hub and entry.hub.file:
        yield f"a checkpoint is several files, not {entry.hub.file} alone"
    names = [shard.file for shard in entry.shards]
    strange = [name for name in names if name not in checkpoints.wanted(names, weights=entry.has_weights)]
    if strange or len(set(names)) < len(names):
        yield f"its files are {', '.join(names)}: each once, and none but config, tokenizer and safetensors"
    elif names and (fault := checkpoints.fault_of(names, weights=entry.has_weights)):
        yield fault


def _address_fault(address: str) -> str | None:
    found = ADDRESS.fullmatch(address)
    if found is None:
        return "the address is not http(s)://HOST/.../FILE"
    return "the address holds a password, and this file is public" if "@" in found["host"] else None


def _unpaired(entries: tuple[ModelEntry, ...]) -> Iterator[str]:
    for pair, form in dict.fromkeys((entry.pair, entry.form) for entry in entries if entry.pair):
        roles = [entry.role for entry in entries if (entry.pair, entry.form) == (pair, form)]
        targets = roles.count(Role.TARGET)
        if targets != 1 or targets == len(roles):
            counts = f"found {targets} and {len(roles) - targets}"
            yield f"pair {pair!r} needs one target and a draft ({counts}) in the form {form}"


def model_named(models: Mapping[str, ModelEntry], name: str) -> ModelEntry:
    """The entry of an id.

    Raises:
        UsageProblem: no such id; suggests the closest.
    """
    if name in models:
        return models[name]
    guess = did_you_mean(name, models)
    raise UsageProblem(f"model {name!r} is not in {MODELS_FILE.name}{guess}", hint=f"known ids: {', '.join(models)}")


def require_pinned(entry: ModelEntry) -> ModelEntry:
    """The entry, when its bytes are fixed.

    Raises:
        ConfigProblem: it is not pinned, so nothing that is proven with it could be repeated.
    """
    if entry.pinned:
        return entry
    path = f" --file {'FOLDER' if entry.is_checkpoint else 'FILE'}" if entry.local else ""
    raise ConfigProblem(
        f"model {entry.id!r} in {MODELS_FILE.name} is not pinned: nobody has said which bytes it is",
        hint=f"invoke pin-model --model {entry.id}{path}",
    )
