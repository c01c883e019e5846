"""The converter's own environment: torch and transformers are large, and nothing else of ours needs them.

One environment a list of requirements, made when it is first needed and whole or not there; pip's own settings say
where packages come from.
"""

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ci.config import CONFIG_DIR, Field, Model, load_toml
from ci.console import Console, Task
from ci.digest import digest_json
from ci.errors import CommandFailed, EnvironmentProblem
from ci.files import exclusive, no_space_as_error, require_free_space, staged_dir
from ci.home import Home
from ci.process import run, scrubbed_env
from ci.redact import without_credentials

CONFIG_FILE = CONFIG_DIR / "converter.toml"
WAIT_S = 1800.0
"""Seconds that another run may take to make the same environment."""
SETTINGS = ("XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
"""Beside `PIP_*` and the proxies: what decides where pip gets packages and whom it trusts."""
ELSEWHERE = ("PIP_PREFIX", "PIP_ROOT", "PIP_TARGET", "PIP_USER")
"""Settings by which pip would install to another place."""
STEPS = ("Collecting ", "Processing ", "Downloading ", "Installing ")
"""How pip's lines begin that say what it does next."""
PIP_HINT = "check the network and pip's index settings (pip config list), then run the command again"


class Recipe(Model):
    """`converter.toml`: pinned requirements, the modules that must load afterwards, and sizes in megabytes."""

    requirements: tuple[str, ...] = Field(min_length=1)
    modules: tuple[str, ...] = Field(min_length=1)
    download_mb: int = Field(gt=0)
    download_with_cuda_mb: int = Field(gt=0)
    disk_mb: int = Field(gt=0)

    @property
    def digest(self) -> str:
        """Hex SHA-256 of what decides the environment: requirements, our Python, the processor's kind."""
        return digest_json([self.requirements, sys.version, platform.machine()])

    @property
    def words(self) -> str:
        """How much there is to download and to keep."""
        return (
            f"about {self.download_mb} MB to download and {self.disk_mb} MB to keep, "
            f"or {self.download_with_cuda_mb} MB and more where pip finds only the torch for cards"
        )


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Where the converter's environment is, or will be."""

    folder: Path
    recipe: Recipe

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def ready(self) -> bool:
        """Whether it can be used: it got its name when it was whole, and our Python is still there."""
        return self.python.exists()


def environment_of(home: Home, file: Path = CONFIG_FILE) -> Environment:
    """The environment for the current requirements, made or not.

    Raises:
        ConfigProblem: `converter.toml` is no such file.
    """
    recipe = load_toml(Recipe, file)
    return Environment(folder=home.root / "converter" / recipe.digest[:16], recipe=recipe)


def ensure_environment(
    home: Home, console: Console, *, environ: Mapping[str, str] | None = None, file: Path = CONFIG_FILE
) -> Environment:
    """The environment, made now when it is not there yet.

    Args:
        home: whose.
        console: hears how large it gets, and how far it is.
        environ: where pip's settings are looked for; our own environment when omitted.
        file: the list of requirements.

    Raises:
        EnvironmentProblem: pip does not get the packages, or they do not load; quotes it.
        DiskFull: no room.
        Busy: another run has been making it for very long.
    """
    found = environment_of(home, file)
    if found.ready:
        return found
    require_free_space(found.folder, found.recipe.disk_mb * 1_000_000, what="the converter's environment")
    lock = home.root / "converter" / "lock"
    with exclusive(lock, wait_s=WAIT_S, on_wait=lambda: console.say(f"waiting for the lock {lock}")):
        if not found.ready:  # whoever held the lock may have made it
            _make(found, console, pip_environ(os.environ if environ is None else environ))
    return found


def pip_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of pip: its own settings, proxies and certificates pass, everything else stays out."""
    kept = {name: value for name, value in environ.items() if _is_setting(name) and name not in ELSEWHERE}
    return scrubbed_env(environ, extra={**kept, "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"})


def _is_setting(name: str) -> bool:
    return name.startswith("PIP_") or name in SETTINGS or name.lower().endswith("_proxy")


def _make(wanted: Environment, console: Console, environ: Mapping[str, str]) -> None:
    console.say(f"making the converter's environment, once: {wanted.recipe.words}")
    with no_space_as_error(str(wanted.folder)), staged_dir(wanted.folder) as staging:
        python = staging / "bin" / "python"
        with console.task("converter's environment: packages") as task:
            run((sys.executable, "-m", "venv", staging), env=environ)
            _install(python, wanted.recipe, environ, task)
        with console.task("converter's environment: trying it"):
            _try(python, wanted.recipe)


def _install(python: Path, recipe: Recipe, environ: Mapping[str, str], task: Task) -> None:
    def show(line: str) -> None:
        if line.strip().startswith(STEPS):
            task.update(0, None, without_credentials(line.strip())[:100])

    options = ("--progress-bar", "off", "--only-binary", ":all:")  # nothing is compiled, no build script runs
    try:
        run((python, "-m", "pip", "install", *options, *recipe.requirements), env=environ, on_line=show)
    except CommandFailed as failed:
        raise EnvironmentProblem(without_credentials(failed.message), hint=PIP_HINT) from failed


def _try(python: Path, recipe: Recipe) -> None:
    try:
        run((python, "-s", "-c", f"import {', '.join(recipe.modules)}"))
    except CommandFailed as failed:
        raise EnvironmentProblem(f"the converter's packages do not load: {failed.message}", hint=PIP_HINT) from failed
