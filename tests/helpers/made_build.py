"""Stored builds without a compiler: files of given content under a real `build.json`."""

from collections.abc import Mapping
from pathlib import Path

from ci.builds.recipe import recipe_for
from ci.builds.store import Build, BuildKey, Variant, put
from ci.builds.target import Target
from ci.home import Home

TARGET = Target(name="cpu", platform="x64", programs=("llama-server",), options=())
FILES: Mapping[str, bytes] = {"llama-server": b"\x7fELF server", "libx.so.0": b"\x7fELF library", "LICENSE": b"MIT\n"}


def made_key(*, variant: Variant = "speed", label: str = "b7-speed.1", tree: str = "ab" * 20) -> BuildKey:
    """The inputs of a build 7."""
    recipe = recipe_for(TARGET, label=label, number=7)
    return BuildKey(
        variant=variant,
        label=label,
        number=7,
        tree=tree,
        recipe=recipe,
        compiler="c++ 12.2; ld 2.40",
        target=TARGET.name,
        lane="",
        platform="x64",
    )


def made_build(root: Path, key: BuildKey | None = None, files: Mapping[str, bytes] = FILES) -> Build:
    """A build stored in the home `root`; files other than licences are executable."""
    origin = root / "origin"
    origin.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (origin / name).write_bytes(content)
        (origin / name).chmod(0o600 if name.startswith("LICENSE") else 0o700)
    home = Home(root=root, checkout=root)
    return put(home, key or made_key(), {name: origin / name for name in files})
