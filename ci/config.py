"""Configuration files as types: TOML in, frozen models out, every fault of a file reported together.

The one door to pydantic: other modules derive their models from `Model`.
"""

import tomllib
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from ci.errors import ConfigProblem
from ci.outcome import JsonMap
from ci.suggest import did_you_mean

__all__ = ["CONFIG_DIR", "Field", "Model", "ObjectId", "Sha256", "load_toml", "parse"]

CONFIG_DIR = Path(__file__).parent / "config"

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
ObjectId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
"""Id of a git object."""


class Model(BaseModel):
    """Base of all configuration and reply types: immutable, unknown keys are faults."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


M = TypeVar("M", bound=BaseModel)


def parse(kind: type[M], data: JsonMap, *, source: str, hint: str = "") -> M:
    """Turn plain data into a typed value.

    Raises:
        ConfigProblem: lists every fault with its key path, the value, and a did-you-mean for unknown keys.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as invalid:
        faults = [_fault(error, kind) for error in invalid.errors()]
        listed = "".join(f"\n    {fault}" for fault in faults)
        raise ConfigProblem(f"{source}: {len(faults)} fault(s){listed}", hint=hint or f"edit {source}") from None


def load_toml(kind: type[M], path: Path, *, hint: str = "") -> M:
    """Read and check one TOML file.

    Raises:
        ConfigProblem: no such file, not TOML, or not the expected shape.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as missing:
        raise ConfigProblem(f"{path}: no such file", hint=hint) from missing
    except IsADirectoryError as folder:
        raise ConfigProblem(f"{path}: a folder, not a TOML file", hint=hint) from folder
    except (ValueError, RecursionError) as bad:  # TOML or UTF-8 that it is not; numbers, or nesting, without end
        raise ConfigProblem(f"{path}: not valid TOML: {bad}", hint=hint or f"edit {path}") from bad
    return parse(kind, data, source=str(path), hint=hint)


def _fault(detail: ErrorDetails, kind: type[BaseModel]) -> str:
    where = ".".join(str(part) for part in detail["loc"]) or "(top level)"
    if detail["type"] == "extra_forbidden":
        return f"{where}: unknown key{did_you_mean(str(detail['loc'][-1]), known_keys(kind))}"
    given = "" if detail["type"] == "missing" else f" (found {detail['input']!r:.80})"
    return f"{where}: {detail['msg']}{given}"


def known_keys(kind: type[BaseModel]) -> set[str]:
    """All field names of a model and of the models inside it."""
    return {name for model in _models_in(kind, set()) for name in model.model_fields}


def _models_in(kind: object, seen: set[type[BaseModel]]) -> set[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in seen:
        seen.add(kind)
        for info in kind.model_fields.values():
            _models_in(info.annotation, seen)
    for inner in getattr(kind, "__args__", ()):
        _models_in(inner, seen)
    return seen
