"""A declaration as a value, and which files hold some."""

from dataclasses import dataclass
from enum import StrEnum

LANGUAGES = {
    "c": "c",
    "cc": "cpp",
    "cpp": "cpp",
    "cu": "cuda",
    "cuh": "cuda",
    "cxx": "cpp",
    "h": "cpp",
    "hpp": "cpp",
    "inc": "cpp",
}
"""Language of a file by its ending. A header may serve C and C++: the C++ grammar reads both."""
HEADERS = frozenset(("cuh", "h", "hpp", "inc"))


class Kind(StrEnum):
    """What is declared; a union or class counts as a struct, a `using` as a typedef."""

    STRUCT = "struct"
    FUNCTION = "function"
    ENUM = "enum"
    MACRO = "macro"
    TYPEDEF = "typedef"
    CONSTANT = "constant"


@dataclass(frozen=True, kw_only=True)
class Member:
    """A field, parameter or enumerator: its name, its text without default, its default (of an enumerator: value)."""

    name: str
    text: str
    default: str = ""


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """One declaration in the one spelling; `name` is qualified (`ns::type::method`), `text` for people and `==`."""

    kind: Kind
    name: str
    path: str
    text: str
    members: tuple[Member, ...] = ()
    scoped: bool = False
    """An enum whose enumerators are only reached through its name."""

    @property
    def last_name(self) -> str:
        """The name without its scope and template arguments."""
        return self.name.partition("<")[0].rpartition("::")[2] or self.name


def is_source(path: str) -> bool:
    """Whether a file of this name can be read."""
    return ending_of(path) in LANGUAGES


def is_header(path: str) -> bool:
    """Whether a file is there to be included by others."""
    return ending_of(path) in HEADERS


def ending_of(path: str) -> str:
    """What stands behind the last dot."""
    return path.rpartition(".")[2]
