"""Build once more, without any cache, and compare with what is stored: are our bytes those of the inputs alone?"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ci.builds import native
from ci.builds.compare import Difference, compare
from ci.builds.compiler import find_toolchain
from ci.builds.contained import Maker
from ci.builds.engine import Engine
from ci.builds.request import BuildRequest, key_of
from ci.builds.store import Build, BuildKey, content_digest, find, stored_builds
from ci.console import Console
from ci.errors import EXIT_FAIL, EXIT_OK, NotComparable, UsageProblem
from ci.files import exclusive, sha256_file
from ci.git import Git
from ci.home import Home
from ci.outcome import JsonValue
from ci.records import find_record
from ci.stage import Context, Options
from ci.stages import rebase, sync
from ci.stages.build import environ_of, image_of, requests, target_of, toolchain_image

VARIANTS = ("stock", "speed")
SHOWN = 40
"""Differences in the table; the document has all of them."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asked for; empty strings mean the default: both variants, the usual lane."""

    target: str = "cpu"
    lane: str = ""
    onto: str = ""
    variant: str = ""
    jobs: str = ""

    @property
    def options(self) -> Options:
        """The part that stages see."""
        return Options(onto=self.onto or None, target=self.target, lane=self.lane, jobs=self.jobs)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A stored build, the content digest of a fresh one, and what differs between the two."""

    stored: Build
    fresh_digest: str
    differences: tuple[Difference, ...]

    @property
    def identical(self) -> bool:
        """Whether every byte is the same."""
        return self.stored.digest == self.fresh_digest and not self.differences


def rebuild_check(home: Home, console: Console, asked: Request) -> int:
    """Build the current stock and speed once more and compare each with the stored build.

    The last line says `identical=yes` or `identical=no`; the exit code is that of a gate.

    Raises:
        UsageProblem: an unknown target, lane or variant.
        NotComparable: nothing is stored for today's inputs; says what builds it.
        SpeedforkError: the fresh build fails.
    """
    variant = checked_variant(asked.variant)
    target_of(asked.options)
    with exclusive(home.lock):
        context = recorded(Context(home=home, console=console, options=asked.options))
        wanted = [request for request in requests(context) if variant in ("", request.variant)]
        pairs = [(request, stored_for(home, request)) for request in wanted]
        checked = [checked_against(context, request, stored) for request, stored in pairs]
    return show(console, checked)


def checked_variant(variant: str) -> str:
    """The variant that was asked for, or nothing.

    Raises:
        UsageProblem: there is no such variant.
    """
    if variant not in ("", *VARIANTS):
        words = f"variant {variant!r} is not one of {', '.join(VARIANTS)}"
        raise UsageProblem(words, hint="invoke rebuild-check --variant speed")
    return variant


def recorded(context: Context) -> Context:
    """The context with what the stages before the build left in their records; nothing is run.

    Raises:
        NotComparable: they have not run for today's inputs, so nothing can be stored.
    """
    for stage in (sync.STAGE, rebase.STAGE):
        kept = find_record(stage, context)
        if kept is None:
            why = f"no build is stored for today's series: stage {stage.name} has no valid record"
            raise NotComparable(why, hint=target_of(context.options).build_command)
        context = context.after(*kept)
    return context


def stored_for(home: Home, request: BuildRequest) -> Build:
    """The whole stored build that was made from these inputs by the toolchain that would make it now.

    Raises:
        NotComparable: there is none; says what there is instead.
    """
    lane = request.target.lane
    key = key_of(request, image_of(lane).identity if lane else find_toolchain(os.environ).identity)
    found = find(home, key.digest)
    if found is None:
        raise NotComparable(why_none(home, key), hint=request.target.build_command)
    return found


def why_none(home: Home, key: BuildKey) -> str:
    """Why the store has no build to compare with."""
    what = f"{key.variant} {key.label} for {key.recipe.target}"
    if (home.store / key.digest).exists():
        return f"{what}: the stored build {home.store / key.digest} is damaged"
    others = [build for build in stored_builds(home) if is_like(build, key)]
    if not others:
        return f"{what}: no such build is stored"
    other = next((build for build in others if build.compiler == key.compiler), others[0])
    if other.compiler == key.compiler:
        return f"{what}: {other.path} was made by another recipe: not comparable"
    return (
        f"{what}: {other.path} was made by another toolchain: not comparable"
        f"\n    stored: {other.compiler}\n    now:    {key.compiler}"
    )


def is_like(build: Build, key: BuildKey) -> bool:
    """Whether a build is of the same sources, for the same target, under the same name."""
    return (build.variant, build.label, build.tree, build.target_id) == (
        key.variant,
        key.label,
        key.tree,
        key.recipe.target,
    )


def checked_against(context: Context, request: BuildRequest, stored: Build) -> Comparison:
    """Build once more and compare."""
    context.console.say(f"== one more {request.label} for {request.target.id}, without any cache", style="bold")
    with fresh_files(context, request) as fresh:
        differences = compare({name: stored.path / name for name in stored.files}, fresh)
        digest = content_digest({name: sha256_file(path) for name, path in fresh.items()})
    return Comparison(stored=stored, fresh_digest=digest, differences=differences)


@contextmanager
def fresh_files(context: Context, request: BuildRequest) -> Iterator[Mapping[str, Path]]:
    """Final file name -> file of a build that no cache had a part in, there until the block ends."""
    git, home, console = Git(path=context.home.history), context.home, context.console
    environ, lane = environ_of(context.options), request.target.lane
    if lane is None:
        with native.build_fresh(git, request, home, console, environ=environ) as files:
            yield files
        return
    with Engine.connect() as engine:
        maker = Maker.of(home, console, engine, toolchain_image(engine, lane), environ)
        recipe = key_of(request, maker.toolchain.identity).recipe
        with maker.place(request.target) as scratch:
            files, _ = maker.compile(git, request, recipe, scratch, fresh=True)
            yield files


def show(console: Console, checked: Sequence[Comparison]) -> int:
    """A table of builds, and what differs."""
    headings = ("build", "for", "files", "MB", "stored", "fresh", "identical")
    console.table(headings, [row_of(comparison) for comparison in checked])
    return finish(
        console,
        [difference for comparison in checked for difference in comparison.differences],
        identical=bool(checked) and all(comparison.identical for comparison in checked),
        document={"builds": [document_of(comparison) for comparison in checked]},
    )


def finish(
    console: Console, differences: Sequence[Difference], *, identical: bool, document: Mapping[str, JsonValue]
) -> int:
    """A table of differences, the machine's document, the one line that scripts read, and the exit code."""
    if differences:
        rows = [(difference.file, difference.where, difference.what) for difference in differences]
        console.table(("file", "section", "difference"), rows[:SHOWN])
    if len(differences) > SHOWN:
        console.say(f"{len(differences) - SHOWN} more differences")
    listed = [{"file": one.file, "section": one.where, "difference": one.what} for one in differences]
    console.document({**document, "identical": identical, "differences": listed})
    console.result(f"identical={'yes' if identical else 'no'}")
    return EXIT_OK if identical else EXIT_FAIL


def row_of(comparison: Comparison) -> tuple[str, ...]:
    """One line of the table of builds."""
    stored = comparison.stored
    return (
        f"{stored.variant} {stored.label}",
        stored.target_id,
        str(len(stored.files)),
        f"{sum(stored.sizes.values()) / 1e6:.1f}",
        stored.digest[:16],
        comparison.fresh_digest[:16],
        "yes" if comparison.identical else "no",
    )


def document_of(comparison: Comparison) -> dict[str, object]:
    """The same for a machine."""
    stored = comparison.stored
    return {
        "variant": stored.variant,
        "label": stored.label,
        "target": stored.target_id,
        "stored": stored.digest,
        "fresh": comparison.fresh_digest,
        "identical": comparison.identical,
    }
