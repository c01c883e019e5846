"""Build folders that are not what they say: real files, some of them replaced, under a valid build.json."""

import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from ci.builds.store import BUILD_JSON, Build, Variant, content_digest, load_build
from ci.files import read_json, sha256_file, write_json
from tests.helpers import fake_llama

SERVER = "llama-server"


def disguised(
    build: Build,
    to: Path,
    *,
    label: str | None = None,
    variant: Variant | None = None,
    programs: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
) -> Build:
    """A copy of a build that carries another label or variant, with some programs replaced by scripts.

    Args:
        build: the real one.
        to: new folder.
        label: what it claims to be; the real label when omitted.
        variant: the same.
        programs: script text by file name.
        options: build options that it claims beside the real ones.
    """
    shutil.copytree(build.path, to)
    for name, script in (programs or {}).items():
        (to / name).unlink(missing_ok=True)
        (to / name).write_text(script, encoding="utf-8")
        (to / name).chmod(0o755)
    files = {
        path.name: {"sha256": sha256_file(path), "size": path.stat().st_size}
        for path in sorted(to.iterdir())
        if path.name != BUILD_JSON
    }
    real = read_json(to / BUILD_JSON)
    claims = {
        "options": {**real["options"], **(options or {})},
        "label": label or build.label,
        "variant": variant or build.variant,
        "files": files,
        "digest": content_digest({name: str(file["sha256"]) for name, file in files.items()}),
    }
    write_json(to / BUILD_JSON, {**real, **claims})
    return load_build(to, check=True)


def runs(program: Path, *more: str) -> str:
    """A script that hands everything to another program, and `more` after it."""
    return f'#!/bin/sh\nexec {shlex.quote(str(program))} "$@" {shlex.join(more)}\n'


def runs_without_speculation(program: Path) -> str:
    """A script that drops every --spec-* option with its value on the way to another program."""
    return (
        "#!/bin/sh\n"
        "kept=''\n"
        "while [ $# -gt 0 ]; do\n"
        "  case $1 in\n"
        "    --spec-*) shift 2 ;;\n"
        "    *) kept=\"$kept '$1'\"; shift ;;\n"
        "  esac\n"
        "done\n"
        f'eval "exec {shlex.quote(str(program))} $kept"\n'
    )


def stand_in(mode: str, build_info: str) -> str:
    """The stand-in server with a fixed misbehaviour: suites give their servers no environment to choose one."""
    source = Path(fake_llama.__file__).read_text(encoding="utf-8")
    source = source.replace('os.environ.get("FAKE_MODE", "ok")', repr(mode))
    source = source.replace('os.environ.get("FAKE_BUILD", "b11434-b11434")', repr(build_info))
    return f"#!{sys.executable} -I\n{source}"
