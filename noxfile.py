"""Sessions: one environment, then an invoke verb or pytest. `./noxw --list` shows them, defaults marked.

nox gives each session its own virtual environment; ours all need the same packages, so they share one
(`.nox/speedfork`), kept between runs and installed anew only when pyproject.toml changes.
"""

import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import nox

nox.needs_version = ">=2026.10"
nox.options.sessions = ["lint", "tests"]
nox.options.default_venv_backend = "none"

ROOT = Path(__file__).parent
ENV = ROOT / ".nox" / "speedfork"
BIN = ENV / "bin"


def prepare(session: nox.Session) -> None:
    """Create or refresh the shared environment; a half-finished install is done again."""
    stamp = ENV / "speedfork-installed"
    key = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + f"{ROOT}\n{sys.version}".encode()).hexdigest()
    if stamp.is_file() and stamp.read_text() == key:
        return
    stamp.unlink(missing_ok=True)
    session.log("installing the environment (once per change of pyproject.toml)")
    session.run(sys.executable, "-m", "venv", "--clear", str(ENV), silent=True)
    pip = (str(BIN / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    session.run(*pip, "--editable", ".[dev]", silent=True)
    stamp.write_text(key)


def tool(session: nox.Session, name: str, *args: str) -> None:
    """Run a program of the shared environment, with that environment first on PATH."""
    session.run(str(BIN / name), *args, env={"PATH": f"{BIN}:{os.environ.get('PATH', os.defpath)}"})


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff and mypy strict over everything."""
    prepare(session)
    tool(session, "ruff", "check", ".")
    tool(session, "ruff", "format", "--check", ".")
    tool(session, "mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """Unit and integration tests; builds stock and speed first when they are not in the store."""
    prepare(session)
    if not session.posargs:
        tool(session, "invoke", "build")
    tool(session, "pytest", *session.posargs)


@nox.session(name="fuzz-series")
def fuzz_series(session: nox.Session) -> None:
    """Thousands of generated histories against plain git: `-- --examples N --seed S`."""
    prepare(session)
    tool(session, "python", "-m", "tests.fuzz_series", *session.posargs)


@nox.session(name="bench-rebase")
def bench_rebase(session: nox.Session) -> None:
    """Our rebase against git's on 10, 30 and 100 patches over real builds: `-- --quick`, `-- --json FILE`."""
    prepare(session)
    tool(session, "invoke", "sync-upstream", "--all")
    tool(session, "python", "-m", "tests.bench.rebase", *session.posargs)


@nox.session(name="bench-arch-size")
def bench_arch_size(session: nox.Session) -> None:
    """What code for one card is worth in bytes against upstream's broad list: `-- --lane cu13`, `-- --json FILE`."""
    prepare(session)
    tool(session, "python", "-m", "tests.bench.arch_size", *session.posargs)


@nox.session(name="bench-header")
def bench_header(session: nox.Session) -> None:
    """Our header reader against gguf-py's on a real model, every value read: `-- --rounds N`, `-- --json FILE`."""
    prepare(session)
    tool(session, "python", "-m", "tests.bench.header", *session.posargs)


@nox.session
def pipeline(session: nox.Session) -> None:
    """The main job: sources, rebase, build, parity, throughput, release folder. Options: `-- --help`."""
    prepare(session)
    tool(session, "invoke", "pipeline", *session.posargs)


@nox.session(name="build-cpu")
def build_cpu(session: nox.Session) -> None:
    """Stock and speed for the cpu target, from the store when their inputs are known."""
    prepare(session)
    tool(session, "invoke", "build", "--target", "cpu", *session.posargs)


@nox.session(name="build-sm75")
def build_sm75(session: nox.Session) -> None:
    """Stock and speed for Turing cards in a container, packed and audited: `-- --lane cu13`; needs an engine."""
    prepare(session)
    tool(session, "invoke", "build", "--target", "sm75", *session.posargs)


@nox.session(name="build-sm120")
def build_sm120(session: nox.Session) -> None:
    """Stock and speed for Blackwell cards in a container, packed and audited: `-- --lane cu13`; needs an engine."""
    prepare(session)
    tool(session, "invoke", "build", "--target", "sm120", *session.posargs)


@nox.session(name="build-sm90")
def build_sm90(session: nox.Session) -> None:
    """Stock and speed for the test machine's Hopper card, with the operator tests; needs a Docker Engine."""
    prepare(session)
    tool(session, "invoke", "build", "--target", "sm90", *session.posargs)


@nox.session
def audit(session: nox.Session) -> None:
    """What is in an archive, and does it keep its promise? `-- FILE [FILE ...] [--target T --lane L] [--json]`."""
    prepare(session)
    tool(session, "invoke", "audit", *named_files(session.posargs))


def named_files(words: Sequence[str]) -> list[str]:
    """The words with `--file` before each plain file name: invoke has no variadic arguments."""
    named: list[str] = []
    value_next = False
    for word in words:
        plain = not word.startswith("-") and not value_next
        named += ["--file", word] if plain else [word]
        value_next = word in ("--file", "--target", "--lane")
    return named


@nox.session(name="gpu-check")
def gpu_check(session: nox.Session) -> None:
    """Builds on a card: `-- --prepare`, carry the folder and run its script there, `-- --collect DIR`."""
    prepare(session)
    tool(session, "invoke", "gpu-check", *session.posargs)


@nox.session(name="rebuild-check")
def rebuild_check(session: nox.Session) -> None:
    """One more build without any cache against the stored one: `-- cpu|sm75|sm120 [--variant speed] [--files]`."""
    prepare(session)
    tool(session, "invoke", "rebuild-check", *named_target(session.posargs))


def named_target(words: Sequence[str]) -> list[str]:
    """The words with `--target` before a first plain one."""
    return ["--target", *words] if words and not words[0].startswith("-") else list(words)


@nox.session(name="tests-engine")
def tests_engine(session: nox.Session) -> None:
    """Tests with the real Docker Engine: toolchain, container builds, a bare system. They fail without an engine."""
    prepare(session)
    if not session.posargs:
        tool(session, "invoke", "toolchain")
        tool(session, "invoke", "build")
    tool(session, "pytest", *(session.posargs or ["tests/engine"]))


@nox.session(name="tests-convert")
def tests_convert(session: nox.Session) -> None:
    """Conversion of a draft by upstream's own converter; its environment holds torch: 250 MB to 3 GB to download."""
    prepare(session)
    if not session.posargs:
        tool(session, "invoke", "build")
    tool(session, "pytest", *(session.posargs or ["tests/convert"]))


@nox.session
def parity(session: nox.Session) -> None:
    """Token parity of two builds: `-- --stock DIR --speed DIR [--profile quick|full]`."""
    prepare(session)
    tool(session, "invoke", "parity", *session.posargs)


@nox.session
def throughput(session: nox.Session) -> None:
    """Speed of two builds, paired: `-- --stock DIR --speed DIR [--profile quick|full]`."""
    prepare(session)
    tool(session, "invoke", "throughput", *session.posargs)
