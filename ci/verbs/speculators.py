"""speculators: which drafts are known to exist, and which models of a fleet have none."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ci.console import Console
from ci.errors import ConfigProblem
from ci.models.fleet import FLEET_FILE, Card, load_fleet
from ci.models.lock import ModelEntry, Role, load_models
from ci.models.speculators import Speculator, load_speculators, speculators_for
from ci.suggest import did_you_mean

NONE, UNSAID = "none known", "not noted"
HEADINGS = ("speculator", "kind", "drafts for", "form", "size", "published", "source")


def speculators(console: Console, fleet: str = "") -> int:
    """Print the catalogue, and what each model that the fleet serves has.

    Args:
        console: where to print.
        fleet: the fleet's file; empty for the example fleet.

    Raises:
        ConfigProblem: a file is malformed, or the fleet serves a model that models.toml does not have.
    """
    file = Path(fleet) if fleet else FLEET_FILE
    known = load_speculators()
    served = {entry.id: _of(entry, known) for entry in served_by(load_fleet(file), load_models(), file)}
    console.table(HEADINGS, [_row(one) for one in known], title="known speculators")
    rows = [(name, _words(found, "dspark"), _words(found, "mtp")) for name, found in served.items()]
    console.table(("model", "DSpark", "MTP layers"), rows, title=f"models that {file.name} serves")
    without = [name for name, found in served.items() if not any(one.kind == "dspark" for one in found)]
    console.result(f"without a DSpark speculator: {', '.join(without) or 'none of them'}")
    console.document(
        {
            "speculators": [{**one.model_dump(mode="json"), "source": one.found_at} for one in known],
            "models": {name: [one.name for one in found] for name, found in served.items()},
            "without_dspark": without,
        }
    )
    return 0


def served_by(cards: Iterable[Card], entries: Mapping[str, ModelEntry], file: Path) -> tuple[ModelEntry, ...]:
    """The models that any of the cards serves; a card that says nothing serves every target there is.

    Raises:
        ConfigProblem: a card serves what models.toml does not have.
    """
    every = [
        entry.id for entry in entries.values() if entry.role in (Role.TARGET, Role.SMALL) and not entry.is_checkpoint
    ]
    names = dict.fromkeys(name for card in cards for name in (every if card.serves is None else card.serves))
    for name in names:
        if name not in entries:
            meant = did_you_mean(name, entries)
            raise ConfigProblem(
                f"{file}: serves {name!r}, which models.toml does not have{meant}", hint=f"edit {file}"
            )
    return tuple(entries[name] for name in names)


def _of(entry: ModelEntry, known: Sequence[Speculator]) -> tuple[Speculator, ...]:
    return speculators_for((entry.id, entry.pair), known)


def _row(one: Speculator) -> tuple[str, ...]:
    size = f"{one.size_gb:g} GB" if one.size_gb else UNSAID
    return one.name, one.kind, one.target, one.form, size, str(one.date or UNSAID), one.found_at


def _words(found: Iterable[Speculator], kind: str) -> str:
    return ", ".join(one.name for one in found if one.kind == kind) or NONE
