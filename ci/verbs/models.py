"""fetch-models and pin-model: models onto the shelf, and their bytes into the lock."""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.console import Console
from ci.errors import EXIT_OK, UsageProblem
from ci.files import exclusive
from ci.home import Home
from ci.models.exact_pair import MODEL_FILES, PAIRS, folder_of
from ci.models.fetch import FOREVER, File, files_of, repin_command
from ci.models.lock import MODELS_FILE, ModelEntry, load_models, model_named, require_pinned
from ci.models.pin_text import entry_text
from ci.models.pinning import Asked, new_pin, pinned_text, place_of, write_pin
from ci.outcome import JsonMap
from ci.stage import Context, Options
from ci.stages import models


@dataclass(frozen=True, kw_only=True)
class Wish:
    """Which models to fetch, and how."""

    names: tuple[str, ...] = ()
    all_pinned: bool = False
    verify: bool = False
    dry_run: bool = False


def fetch_models(home: Home, console: Console, wish: Wish) -> int:
    """Put models on the shelf: those named, every pinned one, or those that the suites use.

    Raises:
        UsageProblem: an unknown id, or options that exclude each other.
        ConfigProblem: a named model is not pinned.
        SpeedforkError: from a download or the generation; models that came before it stay.
    """
    entries = chosen(wish)
    if wish.dry_run:
        return show_plan(home, console, entries)
    context = Context(home=home, console=console, options=Options())
    found = {entry.id: _put(context, entry, again=wish.verify) for entry in entries}
    rows = [(entry.id, entry.licence, str(_place(entry, found[entry.id]))) for entry in entries]
    console.table(("model", "licence", "file"), rows)
    console.document({name: [str(path) for path in paths] for name, paths in found.items()})
    return EXIT_OK


def _put(context: Context, entry: ModelEntry, *, again: bool) -> tuple[Path, ...]:
    """A pair replaces its folder, so no other run may be at work; a download, which may be long, has its own lock."""
    with exclusive(context.home.lock) if entry.generated else contextlib.nullcontext():
        return models.ensure(context, entry, again=again)


def _place(entry: ModelEntry, files: Sequence[Path]) -> Path:
    """What a person names to use the model: its first file, the target of a pair, or the folder of a checkpoint."""
    if entry.generated is not None:
        return next(path for path in files if path.name == TARGET)
    return files[0].parent if entry.is_checkpoint else files[0]


def chosen(wish: Wish) -> tuple[ModelEntry, ...]:
    """The models of a wish, all of them pinned."""
    if wish.names and wish.all_pinned:
        raise UsageProblem("--model and --all-pinned exclude each other", hint="invoke fetch-models --all-pinned")
    known = load_models()
    if wish.names:
        return tuple(require_pinned(model_named(known, name)) for name in dict.fromkeys(wish.names))
    if wish.all_pinned:
        return tuple(entry for entry in known.values() if entry.pinned)
    return tuple(models.used().values())


def show_plan(home: Home, console: Console, entries: Sequence[ModelEntry]) -> int:
    """What a fetch would bring; nothing is changed and nobody is asked."""
    plans = {entry.id: _plan(home, entry) for entry in entries}
    rows = [(entry.id, entry.licence, _size(plans[entry.id]), str(plans[entry.id]["state"])) for entry in entries]
    console.table(("model", "licence", "size", "would be"), rows, title="dry run: nothing was changed")
    console.document({"models": plans})
    return EXIT_OK


def _plan(home: Home, entry: ModelEntry) -> JsonMap:
    if entry.generated is not None:
        here = all((folder_of(home, PAIRS[entry.generated.pair]) / name).is_file() for name in MODEL_FILES)
        state = "hashed: it is here" if here else "generated: it is not here"
        return {"size": None, "missing": None, "state": state}
    files = files_of(home, entry)
    missing = sum(file.missing for file in files)
    state = f"downloaded: {missing / 1e6:,.1f} MB are missing" if missing else "hashed: it is here, and not verified"
    state = _local_state(entry, files) if entry.local and missing else state
    state = "left as it is: verified" if all(file.stamped for file in files) else state
    return {"size": sum(shard.size for shard in entry.shards), "missing": missing, "state": state}


def _local_state(entry: ModelEntry, files: Sequence[File]) -> str:
    """Why nothing can bring a file of the user's, and what to type."""
    wrong = next(file for file in files if file.missing)
    why = "not the pinned bytes" if wrong.path.exists() else "not there"
    return f"refused: {wrong.path} is {why}; {repin_command(entry)}"


def _size(plan: JsonMap) -> str:
    return f"{plan['size'] / 1e6:,.1f} MB" if plan["size"] else ""


TARGET = MODEL_FILES[0]
LOCKED = "another run is at work: waiting for its end to write the pin"

STATES = {
    "pinned": "this is the entry now",
    "already pinned": "this was pinned before; nothing was changed",
    "dry run": "this would be the entry; nothing was changed",
}


def pin_model(
    home: Home, console: Console, asked: Asked, *, dry_run: bool = False, lock_file: Path = MODELS_FILE
) -> int:
    """Say in the lock which bytes a model is, or show the entry that it would get.

    Raises:
        UsageProblem: no model named, or options that its source does not have.
        SpeedforkError: from the source; the lock is as it was.
    """
    if not asked.model:
        raise UsageProblem("--model is required", hint="invoke pin-model --model ID")
    entry = model_named(load_models(lock_file), asked.model)
    pin = new_pin(home, entry, asked, console, os.environ) if asked.anew or not entry.pinned else None
    text = pinned_text(lock_file, entry, pin) if pin else lock_file.read_text(encoding="utf-8")
    if pin and not dry_run:
        # what was downloaded or hashed for hours is not thrown away because the pipeline runs
        with exclusive(home.lock, wait_s=FOREVER, on_wait=lambda: console.say(LOCKED)):
            write_pin(lock_file, entry, pin)
    state = ("dry run" if dry_run else "pinned") if pin else "already pinned"
    command = asked.command if state == "dry run" else f"invoke fetch-models --model {entry.id}"
    console.result(f"{entry_text(text, place_of(entry, lock_file))}\n{lock_file}: {STATES[state]}")
    for note in pin.notes if pin else ():
        console.say(note, style="yellow")
    console.result(f"next: {command}")
    document = (pin.put_on(entry) if pin else entry).model_dump(mode="json", exclude_none=True)
    console.document({"state": state, "entry": document, "notes": list(pin.notes if pin else ()), "next": command})
    return EXIT_OK
