"""convert-draft: a draft that is published as safetensors becomes GGUF files, by the converter of the speed tree."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ci.builds.store import stored_builds
from ci.console import Console
from ci.errors import EXIT_OK, ConversionFailed, UsageProblem
from ci.files import exclusive, require_free_space
from ci.home import Home
from ci.models.convert.agree import DraftShape, draft_shape, refuse_strangers, target_shape
from ci.models.convert.checkpoint import Checkpoint, read_draft, read_target
from ci.models.convert.converting import Job, Made, Product, convert, required_bytes
from ci.models.convert.environment import ensure_environment, environment_of
from ci.models.convert.programs import QUANTIZER, check_types
from ci.models.fetch import ensure_files, files_of
from ci.models.lock import ModelEntry, Role, load_models, require_pinned
from ci.outcome import JsonMap
from ci.pipeline import run_pipeline
from ci.stage import Context
from ci.stages import build, rebase, sync
from ci.stages.values import Built, Rebased
from ci.suggest import did_you_mean
from ci.verbs import pipeline

HEADINGS = ("file", "MB", "tensors by type", "block", "target layers", "confidence head")
ENDING = ".gguf"
REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
"""`owner/name`, as a hub has it; anything else with a slash is a path."""
UNCHECKED = "not checked: "


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asked for; empty strings mean the default."""

    draft: str = ""
    target: str = ""
    quantise: tuple[str, ...] = ()
    onto: str = ""
    out: str = ""
    dry_run: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Planned:
    """A request whose files were looked at and belong together."""

    draft: Checkpoint
    shape: DraftShape
    target: Checkpoint
    products: tuple[Product, ...]


def convert_draft(home: Home, console: Console, asked: Request) -> int:
    """Convert, or with `dry_run` say what it would take; everything that can be known beforehand is checked first.

    Raises:
        UsageProblem: options that do not go together, an unknown type, a file that is there already.
        CheckpointProblem: no checkpoint, or draft and target that do not belong together.
        ConversionFailed: the converter or llama-quantize refuses, or made something else.
        EnvironmentProblem: the converter's environment cannot be made.
    """
    planned = plan(home, console, asked)
    if asked.dry_run:
        return show_plan(home, console, planned, checked_types(home, asked))
    tree, quantizer = tools(home, console, asked)
    job = Job(
        draft=planned.draft,
        shape=planned.shape,
        target=planned.target,
        products=planned.products,
        python=ensure_environment(home, console).python,
        tree=tree,
        quantizer=quantizer,
    )
    show(console, planned, convert(home, job, console))
    return EXIT_OK


def plan(home: Home, console: Console, asked: Request) -> Planned:
    """Look at both checkpoints and at the place for the products."""
    draft = read_draft(*checkpoint_folder(home, console, asked, option="draft"))
    target = read_target(*checkpoint_folder(home, console, asked, option="target"))
    shape = draft_shape(draft.config, draft.tensors, shown=str(draft.folder))
    other = target_shape(target.config, shown=str(target.folder))
    refuse_strangers(shape, other, shown=f"{draft.folder} was not made for {target.folder}")
    products = products_of(home, draft.folder.resolve().name, asked)
    for product in products:
        require_free_space(product.path.parent, required_bytes(draft, products), what="the conversion")
    return Planned(draft=draft, shape=shape, target=target, products=products)


def checkpoint_folder(
    home: Home, console: Console, asked: Request, *, option: Literal["draft", "target"]
) -> tuple[Path, tuple[str, ...] | None]:
    """The folder of a checkpoint that was named by path, or by its id in models.toml; then also the pinned files.

    Raises:
        UsageProblem: nothing of that name, or no checkpoint.
        SpeedforkError: it is not pinned, or cannot be fetched.
    """
    named: str = getattr(asked, option)
    if not named:
        raise UsageProblem(f"--{option} is required", hint="invoke convert-draft --help")
    if Path(named).is_dir():
        return Path(named), None
    models = load_models()
    if named not in models:
        raise _nothing_there(named, models, option=option)
    entry = models[named]
    if not _serves(entry, option):
        raise UsageProblem(
            f"--{option} {named}: {_words(entry)}", hint="name a checkpoint of models.toml, or a folder"
        )
    if asked.dry_run and any(file.missing for file in files_of(home, require_pinned(entry))):
        fetch = f"invoke fetch-models --model {entry.id}"
        raise UsageProblem(f"--{option} {named} is not here, and a dry run fetches nothing", hint=fetch)
    files = ensure_files(home, entry, console)
    return files[0].parent, tuple(file.name for file in files)


def _serves(entry: ModelEntry, option: str) -> bool:
    return entry.is_checkpoint and (option != "draft" or entry.role is Role.DRAFT)


def _nothing_there(named: str, models: Mapping[str, ModelEntry], *, option: str) -> UsageProblem:
    """What a name means that is neither a folder nor an id, and what to type next."""
    fault, path = f"--{option} {named}: no such folder", Path(named)
    if path.exists():
        return UsageProblem(
            f"--{option} {named}: a file, no folder", hint=f"--{option} {shlex.quote(str(path.parent))}"
        )
    if REPOSITORY.fullmatch(named):
        fetch = f"hf download {named} --local-dir {path.name}  # where it is a repository's name"
        return UsageProblem(fault, hint=fetch)
    if "/" in named:
        above = next(folder for folder in path.resolve().parents if folder.is_dir())
        return UsageProblem(fault, hint=f"ls {shlex.quote(str(above))}  # the nearest folder that is there")
    usable = [entry.id for entry in models.values() if _serves(entry, option)]
    guess = did_you_mean(named, [*usable, *(place.name for place in Path().iterdir() if place.is_dir())])
    return UsageProblem(
        f"{fault}, and not in models.toml{guess}", hint=f"name a folder, or a checkpoint: {', '.join(usable)}"
    )


def _words(entry: ModelEntry) -> str:
    return "only what a conversion reads of a target" if entry.is_checkpoint else "a GGUF model, not a checkpoint"


def types_of(asked: Request) -> tuple[str, ...]:
    """The types to quantise to, each once."""
    return tuple(dict.fromkeys(kind.upper() for kind in asked.quantise))


def checked_types(home: Home, asked: Request) -> str:
    """What is known of the types before anything is built: a stored llama-quantize knows them, or nothing does.

    Raises:
        UsageProblem: the newest stored llama-quantize that answers does not know one of them.
    """
    if not asked.quantise:
        return "none asked for: 16 bits"
    builds = [one for one in stored_builds(home) if one.target == "cpu" and QUANTIZER in one.files]
    for one in sorted(builds, key=lambda one: (int(one.tag[1:]), one.variant == "speed"), reverse=True):
        try:
            check_types(one.path / QUANTIZER, types_of(asked))
        except ConversionFailed:
            continue  # of another platform, or damaged: it is built again before it is used
        return f"{', '.join(types_of(asked))}: known to the {QUANTIZER} of {one.label}"
    return UNCHECKED + (f"no stored {QUANTIZER} answers" if builds else "no build is here yet")


def products_of(home: Home, name: str, asked: Request) -> tuple[Product, ...]:
    """Final names: below `out/drafts`, or the one that was asked for.

    Raises:
        UsageProblem: `--out` with several products, of another ending, or of a file that is there.
    """
    kinds = types_of(asked) or ("",)
    if not asked.out:
        folder = home.out / "drafts"
        return tuple(
            Product(path=folder / f"{name}{f'-{kind}' if kind else ''}{ENDING}", kind=kind) for kind in kinds
        )
    path = Path(asked.out)
    if len(kinds) > 1:
        raise UsageProblem(f"--out {path} is one file, {len(kinds)} types were asked for", hint="leave --out away")
    if path.suffix != ENDING or path.exists():
        fault = "is there already" if path.exists() else f"does not end in {ENDING}"
        raise UsageProblem(f"--out {path} {fault}", hint=f"--out ANOTHER-NAME{ENDING}")
    return (Product(path=path.absolute(), kind=kinds[0]),)


def tools(home: Home, console: Console, asked: Request) -> tuple[str, Path | None]:
    """The speed tree and, where something is quantised, the speed build's llama-quantize that knows the types."""
    request = pipeline.Request(onto=asked.onto)
    context = Context(home=home, console=console, options=request.options)
    stages = (sync.STAGE, rebase.STAGE, *((build.STAGE,) if asked.quantise else ()))
    if asked.quantise:
        pipeline.preflight(context, request)
    with exclusive(home.lock):
        context = run_pipeline(stages, context)
    if not asked.quantise:
        return context.value(Rebased).tree, None
    program = context.value(Built).speed / QUANTIZER
    check_types(program, types_of(asked))
    return context.value(Rebased).tree, program


def show_plan(home: Home, console: Console, planned: Planned, types: str) -> int:
    """What a conversion would take; nothing is changed."""
    shape, environment = planned.shape, environment_of(home)
    rows = [
        ("draft", f"{planned.draft.folder}: {len(planned.draft.files)} file(s), {_mb(planned.draft.size)} MB"),
        ("is", f"{shape.architecture}, block {shape.block_size}, Markov rank {shape.rank}, {_confidence(shape)}"),
        ("target", f"{planned.target.folder}: width {shape.width} and {shape.vocabulary} tokens, as the draft has"),
        ("environment", "is there" if environment.ready else f"would be made: {environment.recipe.words}"),
        ("types", types),
        *(("would make", f"{product.path} ({product.kind or '16 bits'})") for product in planned.products),
    ]
    console.table(("what", "found"), rows, title="dry run: nothing was changed")
    console.document(
        {
            "draft": str(planned.draft.folder),
            "target": str(planned.target.folder),
            "environment": {"folder": str(environment.folder), "ready": environment.ready},
            "types_checked": not types.startswith(UNCHECKED),
            "would_make": [str(product.path) for product in planned.products],
        }
    )
    return EXIT_OK


def show(console: Console, planned: Planned, made: Sequence[Made]) -> None:
    """A row a file, what could not be done as asked, and the machine's document."""
    console.table(HEADINGS, [_row(one, planned.shape) for one in made])
    for one in made:
        for note in one.notes:
            console.say(f"{one.product.path.name}: {note}", style="yellow")
    console.result("\n".join(str(one.product.path) for one in made))
    console.document({"files": [dict(_document(one)) for one in made]})


def _row(made: Made, shape: DraftShape) -> tuple[str, ...]:
    types = ", ".join(f"{count} {name}" for name, count in type_counts(made).items())
    layers = ", ".join(str(layer) for layer in shape.target_layers)
    size = _mb(made.header.file_size)
    return made.product.path.name, size, types, str(shape.block_size), layers, "yes" if shape.confidence else "no"


def _document(made: Made) -> JsonMap:
    return {
        "file": str(made.product.path),
        "size": made.header.file_size,
        "types": type_counts(made),
        "notes": list(made.notes),
    }


def type_counts(made: Made) -> dict[str, int]:
    """Tensors by the name of their type."""
    counts: dict[str, int] = {}
    for tensor in made.header.tensors:
        name = tensor.kind.name if tensor.kind else f"type {tensor.number}"
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f}"


def _confidence(shape: DraftShape) -> str:
    return "with a confidence head" if shape.confidence else "without a confidence head"
