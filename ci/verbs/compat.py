"""compat: which models run on which cards, with the reasons and the command lines."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.builds.target import Target, load_targets
from ci.console import Console
from ci.errors import EXIT_FAIL, EXIT_OK, EXIT_UNPROVEN, UsageProblem
from ci.home import Home
from ci.models.bands import Band, Beside, bands_for, parse_measured
from ci.models.compat.answers import Answer, Fit, combined
from ci.models.compat.builds import archive_answer
from ci.models.compat.drafts import speculation_type
from ci.models.compat.matrix import Cell, Place, Subject, common_answers, judge
from ci.models.compat.memory import MIB, SMALLEST_CTX
from ci.models.compat.serving import rules_of
from ci.models.compat.use import KV_TYPES, Use
from ci.models.fleet import FLEET_FILE, Card, cards_named, load_fleet
from ci.models.lock import ModelEntry, load_models
from ci.series.order import load_series
from ci.suggest import did_you_mean
from ci.upstream.tags import BuildTag
from ci.verbs.compat_subjects import subjects_of

EXIT_OF = {Fit.OK: EXIT_OK, Fit.REFUSED: EXIT_FAIL, Fit.UNKNOWN: EXIT_UNPROVEN}
TOLD = ("roles", "speculation type", "drafted tokens", "vocabulary size", "cache type", "memory")
"""Rules whose OK says something; the others are in --json."""

MOST_SLOTS = 256  # more than that llama-server does not start


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked: files and names as on the command line."""

    models: Sequence[str] = ()
    drafts: Sequence[str] = ()
    cards: Sequence[str] = ()
    fleet: str = ""
    ctx: int = 8192
    kv: str = "f16"
    slots: int = 1
    drafted: int = 0
    build: str = ""
    measured: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Row:
    """One model on all cards.

    Attributes:
        entry: of the lock; None for a file of the user.
        subject: what was put on the cards.
        cells: one a card.
    """

    entry: ModelEntry | None
    subject: Subject
    cells: tuple[Cell, ...]

    @property
    def bands(self) -> tuple[Band, ...]:
        """What was published about the model or its pair."""
        names = dict.fromkeys((self.entry.pair, self.entry.id)) if self.entry else {}
        return tuple(band for name in names for band in bands_for(name))


def compat(home: Home, console: Console, request: Request) -> int:
    """Print cards, matrix, reasons, command lines and published figures.

    Returns:
        0; where models and cards were both named, the answer for all of them: 4 for REFUSED, 5 for CANNOT TELL. It is
        about llama.cpp, model and card; whether an archive of ours is for a card stands in the table of the cards.

    Raises:
        UsageProblem: no such card, model, cache type; numbers that cannot be; figures without one model.
        ConfigProblem: the fleet's file.
        ModelUnreadable: a file that is no GGUF model.
    """
    use = use_of(request)
    cards = cards_named(load_fleet(Path(request.fleet) if request.fleet else FLEET_FILE), request.cards)
    build = _build(home, request.build)
    beside = _measured(request)
    archives = [archive_answer(card.computes, card.driver, _targets()) for card in cards]
    rows = list(_rows(home, console, request, cards, use, build))
    tell_cards(console, cards, archives)
    tell_matrix(console, rows, list(zip(cards, archives, strict=True)), title=_title(use, build))
    for row in rows:
        tell_row(console, row, use)
    tell_bands(console, rows, beside)
    published = [_published(row.subject.name, band, beside) for row in rows for band in row.bands]
    console.document({**_document(rows, cards, archives, build), "published": published})
    asked = request.models and request.cards
    return EXIT_OF[combined(answer for row in rows for cell in row.cells for answer in cell.answers)] if asked else 0


def use_of(request: Request) -> Use:
    """How the models are to be served.

    Raises:
        UsageProblem: no such cache type, or numbers that cannot be.
    """
    if request.kv not in KV_TYPES:
        words = f"is no cache type (expected {', '.join(KV_TYPES)}){did_you_mean(request.kv, KV_TYPES)}"
        raise UsageProblem(f"--kv {request.kv!r} {words}", hint="invoke compat --kv f16")
    limits = {"ctx": (SMALLEST_CTX, 1 << 24), "slots": (1, MOST_SLOTS), "drafted": (0, 64)}
    for name, (low, high) in limits.items():
        asked = getattr(request, name)
        if not low <= asked <= high:
            nearest = f"invoke compat --{name} {min(max(asked, low), high)}"
            raise UsageProblem(f"--{name} {asked} is not from {low} to {high}", hint=nearest)
    return Use(ctx=request.ctx, kv=request.kv, slots=request.slots, k=request.drafted or None)


def _build(home: Home, asked: str) -> int:
    """The upstream build to judge by: the one that the series stands on, unless another is named."""
    return BuildTag.parse(asked).number if asked else load_series(home.checkout / "patches").base.tag.number


def _targets() -> list[Target]:
    return [target for lanes in load_targets().values() for target in lanes]


def _measured(request: Request) -> dict[str, float]:
    if request.measured and len(request.models) != 1:
        raise UsageProblem("--measured stands beside the figures of one model", hint="add --model ID")
    figures = [parse_measured(text) for text in request.measured]
    twice = [name for name, count in Counter(name for name, _ in figures).items() if count > 1]
    if twice:
        hint = f"invoke compat --model {request.models[0]} --measured {request.measured[0]}"
        raise UsageProblem(f"--measured {twice[0]} is given more than once (expected one figure)", hint=hint)
    return dict(figures)


def _rows(
    home: Home, console: Console, request: Request, cards: Sequence[Card], use: Use, build: int
) -> Iterator[Row]:
    with console.task("reading headers") as task:
        entries = load_models()
        found = subjects_of(home, entries, request.models or served(cards), request.drafts)
        for done, (entry, subject) in enumerate(found, 1):
            common = common_answers(subject, use, build)
            cells = tuple(judge(subject, place_of(card), use, common) for card in cards)
            task.update(done, note=subject.name)
            yield Row(entry=entry, subject=subject, cells=cells)


def served(cards: Iterable[Card]) -> tuple[str, ...] | None:
    """The models that these cards serve, where each of them says so; None means every target of the lock."""
    said = [card.serves for card in cards]
    return None if None in said else tuple(dict.fromkeys(name for names in said for name in names or ()))


def place_of(card: Card) -> Place:
    """A card as the rules see it."""
    return Place(name=card.name, capability=card.computes, memory=card.memory_mib * MIB)


# ---- words -------------------------------------------------------------------------------------------------------


def tell_cards(console: Console, cards: Sequence[Card], archives: Sequence[Answer]) -> None:
    """One row a card: what it is, and which archive of ours is for it."""
    rows = [
        (card.name, card.capability or "not given", f"{card.memory_mib} MiB", card.driver or "not given", fit, reason)
        for card, archive in zip(cards, archives, strict=True)
        for fit, reason in [(archive.fit.value, archive.reason)]
    ]
    console.table(("card", "compute", "memory", "driver", "our build", "which"), rows, title="cards")


def tell_matrix(console: Console, rows: Sequence[Row], cards: Sequence[tuple[Card, Answer]], title: str) -> None:
    """One row a model, one column a card; `cards` with the answer about an archive of ours."""
    table = [
        (row.subject.name, *(cell_words(cell, archive) for cell, (_, archive) in zip(row.cells, cards, strict=True)))
        for row in rows
    ]
    console.table(("model", *(card.name for card, _ in cards)), table, title=title)


def _title(use: Use, build: int) -> str:
    return f"models on cards: b{build}, {use.ctx} tokens a slot, {use.kv} cache, {use.slots} slot(s)"


def cell_words(cell: Cell, archive: Answer) -> str:
    """The cell's answer; where it is OK and no archive of ours is for the card, that too."""
    ours = ", no build of ours" if cell.fit is Fit.OK and archive.fit is Fit.REFUSED else ""
    return f"{_fit_words(cell)}{ours}"


def _fit_words(cell: Cell) -> str:
    """The answer; for OK where the layers go, otherwise the rule that decides."""
    if cell.fit is not Fit.OK or cell.placement is None:
        return f"{cell.fit.value}: {next(answer.rule for answer in cell.answers if answer.fit is cell.fit)}"
    placement = cell.placement
    moe = f", --n-cpu-moe {placement.cpu_moe}" if placement.cpu_moe else ""
    layers = "whole" if placement.whole else f"{placement.gpu_layers} of {placement.layers} layers{moe}"
    return f"{cell.fit.value}: {layers}"


def tell_row(console: Console, row: Row, use: Use) -> None:
    """Reasons that hold on every card once, then each card's own, then command lines."""
    console.result(f"\n{row.subject.name}")
    shared = [one for one in row.cells[0].answers if all(one in cell.answers for cell in row.cells)]
    for answer in shared:
        _tell_answer(console, answer, "")
    for cell in row.cells:
        for answer in cell.answers:
            if answer not in shared:
                _tell_answer(console, answer, f"{cell.card}: ")
    for command, names in _by_command(row.cells).items():
        console.result(f"    {', '.join(names)}:\n      {shlex.join(command)}")
    if row.subject.target and any(cell.command for cell in row.cells):
        for rule in rules_of(use, speculation_type(row.subject.target, row.subject.draft)):
            console.result(f"    rule: {rule}")


def _by_command(cells: Iterable[Cell]) -> dict[tuple[str, ...], list[str]]:
    """Cards by the command line that they share."""
    names: dict[tuple[str, ...], list[str]] = {}
    for cell in cells:
        if cell.command:
            names.setdefault(cell.command, []).append(cell.card)
    return names


def _tell_answer(console: Console, answer: Answer, where: str) -> None:
    if answer.fit is not Fit.OK or answer.rule in TOLD:
        console.result(f"  {answer.fit.value:11} {where}{answer}")
    if answer.hint:
        console.result(f"              next: {answer.hint}")


def tell_bands(console: Console, rows: Iterable[Row], measured: dict[str, float]) -> None:
    """Published figures of the models shown, each with the measured one beside it where there is one."""
    found = [(row.subject.name, band) for row in rows for band in row.bands]
    table = [
        (name, band.metric, str(band), _beside_words(band, measured), band.context, band.source)
        for name, band in found
    ]
    if table:
        headings = ("model", "figure", "published", "measured", "holds for", "source")
        console.table(headings, table, title="published figures")
    for metric in sorted(set(measured) - {band.metric for _, band in found}):
        console.result(f"nothing published to stand beside {metric} {measured[metric]:g}")


def _beside_words(band: Band, measured: dict[str, float]) -> str:
    if band.metric not in measured:
        return "not measured"
    value = measured[band.metric]
    return f"{value:g}, {Beside(band=band, measured=value).words}"


def _published(name: str, band: Band, measured: dict[str, float]) -> dict[str, object]:
    value = measured.get(band.metric)
    words = Beside(band=band, measured=value).words if value is not None else None
    return {"subject": name, **band.model_dump(mode="json"), "measured": value, "beside": words}


def _document(
    rows: Iterable[Row], cards: Iterable[Card], archives: Iterable[Answer], build: int
) -> dict[str, object]:
    return {
        "build": f"b{build}",
        "cards": [
            {**card.model_dump(), "archive": archive.to_json()} for card, archive in zip(cards, archives, strict=True)
        ],
        "cells": [cell.to_json() for row in rows for cell in row.cells],
    }
