"""What was built and cached, how much room it takes, and the removal of what nobody needs: store."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ci.builds.engine import Engine
from ci.builds.shelf import KEEP, Doomed, Item, Kind, prunable, total
from ci.console import Console
from ci.errors import EXIT_OK, EngineProblem, UsageProblem
from ci.files import PART, exclusive, remove_tree
from ci.home import Home
from ci.report import words
from ci.verbs.store_survey import Shelf, survey

DAY_S = 86_400


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asked for; `keep` is a number in words."""

    prune: bool = False
    keep: str = str(KEEP)
    dry_run: bool = False

    @property
    def count(self) -> int:
        """How many of the newest builds stay.

        Raises:
            UsageProblem: `keep` is no whole number.
        """
        if not (self.keep.isascii() and self.keep.isdecimal() and int(self.keep) <= 1000):
            asked = f"--keep {self.keep!r} is not a whole number from 0 to 1000"
            raise UsageProblem(asked, hint=f"invoke store --prune --keep {KEEP}")
        return int(self.keep)


def store(home: Home, console: Console, asked: Request) -> int:
    """Show what is stored; with `prune` remove what nobody needs, with `dry_run` only name it.

    Raises:
        UsageProblem: a number that is none.
        Busy: another run works in this home.
    """
    keep = asked.count
    if not asked.prune or asked.dry_run:
        shelf = looked_at(home, console)
        show(console, shelf, prunable(shelf.items, keep=keep) if asked.dry_run else ())
        return EXIT_OK
    with exclusive(home.lock):
        shelf = looked_at(home, console)
        doomed = prunable(shelf.items, keep=keep)
        gone = tuple(one for one in doomed if removed(one.item, console))
    show(console, shelf, doomed, gone)
    return EXIT_OK


def looked_at(home: Home, console: Console) -> Shelf:
    """Everything that is there; an engine takes its time to measure."""
    with console.task("looking at builds, caches and images"):
        return survey(home, console)


def removed(item: Item, console: Console) -> bool:
    """Remove an item; says so when the engine still needs it."""
    remove: Mapping[Kind, Callable[[str], None]] = {
        Kind.BUILD: remove_folder,
        Kind.LEFTOVER: lambda name: remove_tree(Path(name)),
        Kind.CACHE: remove_volume,
        Kind.TOOLCHAIN: remove_image,
    }
    try:
        remove[item.kind](item.name)
    except EngineProblem as refused:
        console.say(f"kept {item.name}: {refused.message}", style="yellow")
        return False
    return True


def remove_folder(name: str) -> None:
    """Take a build out of the store in one step, then remove its files: none is ever there in part."""
    folder = Path(name)
    aside = folder.with_name(
        f".{folder.name}.0.removed{PART}"
    )  # no process has the number 0: a leftover from the start
    remove_tree(aside)
    folder.rename(aside)
    remove_tree(aside)


def remove_volume(name: str) -> None:
    """Remove a volume."""
    with Engine.connect() as engine:
        engine.remove_volume(name)


def remove_image(name: str) -> None:
    """Remove an image."""
    with Engine.connect() as engine:
        engine.remove_image(name)


def show(console: Console, shelf: Shelf, doomed: Sequence[Doomed], gone: Sequence[Doomed] | None = None) -> None:
    """Builds, then everything else; then what went, or with `gone` None what would."""
    now = time.time()
    stored = [item for item in shelf.items if item.kind is Kind.BUILD]
    others = [item for item in shelf.items if item.kind is not Kind.BUILD]
    headings = ("build", "for", "size", "age", "content", "used by", "state")
    console.table(headings, [build_row(item, now) for item in stored], title=f"{len(stored)} stored builds")
    if others:
        console.table(("kind", "name", "for", "size", "used by"), [other_row(item) for item in others])
    for remark in shelf.remarks:
        console.say(remark)
    for one in doomed if gone is None else gone:
        console.result(f"{'would remove' if gone is None else 'removed'} {in_words(one)}")
    freed, left = total(items_of(doomed if gone is None else gone)), total(shelf.items) - total(items_of(gone or ()))
    if doomed:
        console.result(f"{'would free' if gone is None else 'freed'} {words.size(freed)}")
    shared = " (each image with the layers that it shares with others)" if is_shared(shelf.items) else ""
    console.result(f"total {words.size(left)}{shared}")
    console.document(document(shelf, doomed, gone or ()))


def is_shared(items: Sequence[Item]) -> bool:
    """Whether several images may have layers in common."""
    return sum(item.kind is Kind.TOOLCHAIN for item in items) > 1


def items_of(doomed: Sequence[Doomed]) -> list[Item]:
    """The items alone."""
    return [one.item for one in doomed]


def build_row(item: Item, now: float) -> tuple[str, ...]:
    """One line of the table of builds."""
    state = item.fault or "whole"
    return (item.about, item.target, size(item), age(now - item.made), item.digest[:12], item.used, state)


def other_row(item: Item) -> tuple[str, ...]:
    """One line of the table of everything else."""
    name = item.name.removeprefix("sha256:")[:12] if item.kind is Kind.TOOLCHAIN else item.name
    return (item.kind, f"{name} {item.about}".strip(), item.target, size(item), item.used)


def size(item: Item) -> str:
    """Bytes in words; a question mark where nobody tells."""
    return "?" if item.size is None else words.size(item.size)


def age(seconds: float) -> str:
    """Wall time since; whole days from two on."""
    return f"{seconds / DAY_S:.0f} days" if seconds >= 2 * DAY_S else words.duration(max(0.0, seconds))


def in_words(doomed: Doomed) -> str:
    """An item that goes, and why."""
    item = doomed.item
    called = " ".join(filter(None, (item.kind, item.about, item.target)))
    return f"{called}, {size(item)}: {doomed.why}\n    {item.name}"


def document(shelf: Shelf, doomed: Sequence[Doomed], gone: Sequence[Doomed]) -> dict[str, object]:
    """The same for a machine."""
    return {
        "items": [asdict(item) for item in shelf.items],
        "remarks": list(shelf.remarks),
        "prunable": [{"name": one.item.name, "why": one.why} for one in doomed],
        "removed": [one.item.name for one in gone],
        "freed": total(items_of(gone)),
        "total": total(shelf.items) - total(items_of(gone)),
    }
