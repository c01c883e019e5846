"""Which names a pinned file may have, told before anything of it is read or downloaded."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from ci.errors import UsageProblem
from ci.models.lock import PLAIN_NAME
from ci.models.shard_names import is_impossible
from ci.redact import without_credentials

RULE = "letters, digits and . _ + - only, a letter or digit first, and no number beyond those of a split model"


def require_plain_files(files: Sequence[Path], model: str) -> None:
    """Local files have names that can be pinned.

    Raises:
        UsageProblem: one has not; the hint links all of them under names that can.
    """
    if strange := _strange([file.name for file in files]):
        links = [file.with_name(plain_name(file.name)) for file in files]
        pairs = zip(files, links, strict=True)
        commands = [
            f"ln -s {shlex.quote(str(file))} {shlex.quote(str(link))}" for file, link in pairs if file != link
        ]
        pin = f"invoke pin-model --model {model} --file {shlex.quote(str(links[0]))}"
        raise UsageProblem(_words(files[0].with_name(strange[0])), hint=" && ".join((*commands, pin)))


def require_plain_paths(names: Sequence[str], source: str, model: str) -> None:
    """Files of a repository or behind an address have names that can be pinned.

    Raises:
        UsageProblem: one has not; the hint says how to pin it as a local file.
    """
    for name in names:
        if _strange(name.split("/")):
            plain = plain_name(PurePosixPath(name).name)
            hint = (
                f"curl -L -o {plain} ADDRESS, write [model.local] as its source in ci/config/models.toml, "
                f"then: invoke pin-model --model {model} --file {plain}"
            )
            raise UsageProblem(_words(f"{without_credentials(source)}: {name!r}"), hint=hint)


def plain_name(name: str) -> str:
    """A name that can be pinned, and is close to that one."""
    plain = re.sub(r"[^A-Za-z0-9._+-]+", "-", name).lstrip("._+-") or "model.gguf"
    return plain.replace("-of-", "_of_") if is_impossible(plain) else plain


def _strange(names: Sequence[str]) -> list[str]:
    """Names that cannot be pinned."""
    return [name for name in names if not re.fullmatch(PLAIN_NAME, name) or is_impossible(name)]


def _words(shown: object) -> str:
    return f"{shown}: a file of this name cannot be pinned ({RULE})"
