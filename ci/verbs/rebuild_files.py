"""Compile a few CUDA files twice, in two containers and without any cache: does the compiler say the same twice?"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ci.builds.compare import compare
from ci.builds.contained import Maker
from ci.builds.engine import Engine
from ci.builds.recipe import recipe_for
from ci.builds.request import BuildRequest
from ci.builds.target import Lane
from ci.builds.tree import list_tree
from ci.config import CONFIG_DIR, Field, Model, load_toml
from ci.console import Console
from ci.errors import ConfigProblem, UsageProblem
from ci.files import exclusive, sha256_file
from ci.git import Git
from ci.home import Home
from ci.stage import Context
from ci.stages.build import environ_of, requests, target_of, toolchain_image
from ci.verbs.rebuild import Request, checked_variant, finish, recorded

REBUILD_FILE = CONFIG_DIR / "rebuild.toml"


class Objects(Model):
    """CUDA files of a tree: `files` below `sources`, their objects below `folder` of the build tree."""

    folder: str
    sources: str
    files: tuple[str, ...] = Field(min_length=1)

    @property
    def paths(self) -> tuple[str, ...]:
        """The objects, as ninja calls them."""
        return tuple(f"{self.folder}/{file}.o" for file in self.files)


class _File(Model):
    objects: Objects


def load_objects(path: Path = REBUILD_FILE) -> Objects:
    """The files to compile.

    Raises:
        ConfigProblem: the file is missing or malformed.
    """
    return load_toml(_File, path).objects


def rebuild_files(home: Home, console: Console, asked: Request) -> int:
    """Compile the listed files of the current speed build twice and compare the stripped objects.

    The stored build has no objects, so both sides are made now. The last line says `identical=yes` or `identical=no`.

    Raises:
        UsageProblem: the target has no device code, or an unknown variant.
        ConfigProblem: the list names a file that the sources do not have.
        NotComparable: the current series has not been put on its base.
        SpeedforkError: compiling fails.
    """
    variant = checked_variant(asked.variant) or "speed"
    lane = target_of(asked.options).lane
    if lane is None:
        raise UsageProblem(
            f"target {asked.target} has no CUDA files", hint=f"invoke rebuild-check --target {asked.target}"
        )
    with exclusive(home.lock):
        context = recorded(Context(home=home, console=console, options=asked.options))
        request = next(request for request in requests(context) if request.variant == variant)
        objects = checked_objects(Git(path=home.history), request.tree, load_objects())
        with compiled_twice(context, request, lane, objects) as (first, second):
            return report(console, request, first, second)


def checked_objects(git: Git, tree: str, objects: Objects) -> Objects:
    """The same list.

    Raises:
        ConfigProblem: a file of it is not in the tree.
    """
    known = {file.name for file in list_tree(git, tree)}
    gone = [file for file in objects.files if f"{objects.sources}/{file}" not in known]
    if gone:
        raise ConfigProblem(
            f"{REBUILD_FILE}: the sources have no {objects.sources}/{gone[0]}", hint=f"edit {REBUILD_FILE}"
        )
    return objects


@contextmanager
def compiled_twice(
    context: Context, request: BuildRequest, lane: Lane, objects: Objects
) -> Iterator[tuple[Mapping[str, Path], Mapping[str, Path]]]:
    """Both times' stripped objects by name, there until the block ends."""
    home, console = context.home, context.console
    recipe = replace(recipe_for(request.target, label=request.label, number=request.number), programs=objects.paths)
    with Engine.connect() as engine:
        maker = Maker.of(home, console, engine, toolchain_image(engine, lane), environ_of(context.options))
        with maker.place(request.target) as scratch:
            sides = []
            for time in ("first", "second"):
                console.say(f"== {len(objects.files)} files of {request.label}, the {time} time", style="bold")
                files, _ = maker.compile(Git(path=home.history), request, recipe, scratch / time, fresh=True)
                sides.append({name: path for name, path in files.items() if name.endswith(".o")})
            yield sides[0], sides[1]


def report(console: Console, request: BuildRequest, first: Mapping[str, Path], second: Mapping[str, Path]) -> int:
    """A table of objects, and what differs."""
    differences = compare(first, second)
    unlike = {difference.file for difference in differences}
    rows: Sequence[tuple[str, ...]] = [
        (name, f"{path.stat().st_size / 1e6:.2f}", sha256_file(path)[:16], "no" if name in unlike else "yes")
        for name, path in sorted(first.items())
    ]
    title = f"{request.variant} {request.label} for {request.target.id}: {len(rows)} objects, compiled twice"
    console.table(("object", "MB", "sha256", "identical"), rows, title=title)
    console.say("both sides were made now: a stored build has no objects")
    return finish(console, differences, identical=not differences, document={"objects": [list(row) for row in rows]})
