"""One cell a model and card: every rule's answer, the placement that fits, and the command line."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

from ci.builds.arch import Capability
from ci.models.compat.answers import Answer, Fit, combined
from ci.models.compat.architectures import architecture_answers
from ci.models.compat.attention import TYPE_RULE, attention_answers
from ci.models.compat.blocks import longest_draft
from ci.models.compat.builds import speculation_answer
from ci.models.compat.cache import cut_head
from ci.models.compat.cards import type_answers
from ci.models.compat.drafts import DRAFT_ARCHS, ROLES, draft_answers, speculation_type
from ci.models.compat.files import file_answers
from ci.models.compat.memory import GIB, MIB, RESERVE, Part, Placement, part_of, place, smaller_context
from ci.models.compat.serving import drafted, k_answer, server_words
from ci.models.compat.use import KV_TYPES, Use
from ci.models.header.types import TENSOR_TYPES
from ci.models.header.values import ModelHeader
from ci.outcome import JsonValue

MEMORY = "memory"
DRAFT_KV = "f16"  # what llama-server keeps a draft's keys and values in


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is put on a card.

    Attributes:
        name: an id, or the file's name.
        target: header of the model; None where its file is not here.
        draft: header of its draft.
        absent: why target or draft are not here; with what would bring them.
        size: bytes of the target's files, as pinned or published; 0 where nobody says.
    """

    name: str
    target: ModelHeader | None = None
    draft: ModelHeader | None = None
    absent: tuple[Answer, ...] = ()
    size: int = 0


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A model on a card.

    Attributes:
        subject: name of the model.
        card: name of the card.
        answers: of all rules that could be asked.
        placement: what goes onto the card; None where that cannot be told, or nothing fits.
        command: words of the command line; empty unless every answer is OK.
    """

    subject: str
    card: str
    answers: tuple[Answer, ...]
    placement: Placement | None = None
    command: tuple[str, ...] = ()

    @property
    def fit(self) -> Fit:
        """All answers together."""
        return combined(self.answers)

    def to_json(self) -> dict[str, JsonValue]:
        """Plain JSON form."""
        placement = dataclasses.asdict(self.placement) if self.placement else None
        answers = [answer.to_json() for answer in self.answers]
        return {
            "model": self.subject,
            "card": self.card,
            "fit": self.fit.value,
            "answers": answers,
            "placement": placement,
            "command": list(self.command),
        }


@dataclass(frozen=True, kw_only=True)
class Place:
    """A card as the rules see it.

    Attributes:
        name: of the card.
        capability: None where nobody says it.
        memory: bytes.
    """

    name: str
    capability: Capability | None
    memory: int


def common_answers(subject: Subject, use: Use, build: int) -> tuple[Answer, ...]:
    """What does not depend on a card: whether the files load, the draft is the target's, and the build knows it."""
    if subject.target is None:
        return subject.absent
    if subject.draft is None and subject.target.arch in DRAFT_ARCHS:
        return (
            Answer(
                rule=ROLES,
                fit=Fit.REFUSED,
                reason="the file is a draft: name its target with --model, and it with --draft",
            ),
        )
    kind = speculation_type(subject.target, subject.draft)
    cut = cut_head(subject.target, TENSOR_TYPES[KV_TYPES[use.kv]])
    cache = [_cut_answer(use.kv, cut)] if cut else []
    models = [subject.target, *([subject.draft] if subject.draft else [])]
    files = [answer for model in models for answer in (*file_answers(model), *architecture_answers(model))]
    pair = draft_answers(subject.target, subject.draft) if subject.draft else ()
    spoken = (speculation_answer(kind, build), k_answer(use, kind, _longest(subject))) if kind else ()
    return (*subject.absent, *files, *pair, *spoken, *cache, *_attention(subject.target, subject.draft, use))


def _attention(target: ModelHeader, draft: ModelHeader | None, use: Use) -> tuple[Answer, ...]:
    both = (*attention_answers(target, use.kv), *(attention_answers(draft, DRAFT_KV) if draft else ()))
    return tuple(dict.fromkeys(both))


def _cut_answer(kv: str, width: int) -> Answer:
    block = TENSOR_TYPES[KV_TYPES[kv]].block
    reason = f"a head is no whole number of {kv} blocks: llama-server stops while loading; --kv f16 has no blocks"
    return Answer(rule=TYPE_RULE, fit=Fit.REFUSED, reason=reason, found=str(width), expected=f"a multiple of {block}")


def judge(subject: Subject, onto: Place, use: Use, common: Iterable[Answer]) -> Cell:
    """The cell of a model and a card.

    Args:
        subject: the model.
        onto: the card.
        use: how it is served.
        common: what `common_answers` said of this subject.
    """
    if subject.target is None:
        answers = (*common, *_by_size(subject.size, onto.memory))
        return Cell(subject=subject.name, card=onto.name, answers=answers)
    models = [subject.target, *([subject.draft] if subject.draft else [])]
    types = [answer for model in models for answer in type_answers(model, onto.capability)]
    within = _within(use, subject.target)
    memory, placement = _memory(subject, subject.target, onto.memory, within)
    if placement and within != use:
        memory = dataclasses.replace(
            memory, reason=f"{memory.reason}; {within.ctx} tokens a slot, all it was trained for"
        )
    cell = Cell(subject=subject.name, card=onto.name, answers=(*common, *types, memory), placement=placement)
    if cell.fit is not Fit.OK or placement is None:
        return cell
    return dataclasses.replace(cell, command=_command(subject, subject.target, within, placement))


def _command(subject: Subject, target: ModelHeader, use: Use, placement: Placement) -> tuple[str, ...]:
    kind = speculation_type(target, subject.draft)
    file = subject.draft.path if subject.draft else None
    k = drafted(use, kind, _longest(subject))
    return server_words(target.path, file, use, placement, spec_type=kind, k=k)


def _longest(subject: Subject) -> int | None:
    return longest_draft(subject.draft) if subject.draft else None


def _within(use: Use, target: ModelHeader) -> Use:
    """No context beyond what the model was trained on: the server would cap it too."""
    trained = target.integer("{arch}.context_length")
    return dataclasses.replace(use, ctx=min(use.ctx, trained)) if trained and trained > 0 else use


def _by_size(size: int, memory: int) -> tuple[Answer, ...]:
    """What a published size alone allows to say: never that it fits."""
    if not size:
        return ()
    room = memory - RESERVE
    over = size > room
    words = "more than the card has room for: it needs --n-cpu-moe or fewer --gpu-layers" if over else "room enough"
    reason = f"its files have {_gib(size)}, {words}; the rest needs the files themselves"
    return (Answer(rule=MEMORY, fit=Fit.UNKNOWN, reason=reason, found=_gib(size), expected=f"at most {_gib(room)}"),)


def _memory(subject: Subject, target: ModelHeader, memory: int, use: Use) -> tuple[Answer, Placement | None]:
    parts = _parts(subject, target, use)
    if isinstance(parts, str):
        return Answer(rule=MEMORY, fit=Fit.UNKNOWN, reason=parts), None
    room = memory - RESERVE
    placement = _placed(parts, room)
    if placement:
        reason = f"{_gib(placement.card)} of {_gib(memory)}, {_gib(RESERVE)} left free; {_where(placement)}"
        return Answer(rule=MEMORY, fit=Fit.OK, reason=reason), placement
    smaller = smaller_context(lambda ctx: _fits(subject, target, dataclasses.replace(use, ctx=ctx), room), use.ctx)
    offer = f"it fits with --ctx {smaller}" if smaller else "no smaller context helps"
    needed = _gib(sum(part.whole for part in parts))
    reason = f"not even one layer fits beside caches, draft and buffers at {use.ctx} tokens a slot; {offer}"
    return Answer(rule=MEMORY, fit=Fit.REFUSED, reason=reason, found=needed, expected=f"at most {_gib(room)}"), None


def _parts(subject: Subject, target: ModelHeader, use: Use) -> tuple[Part, ...] | str:
    """Target, then draft; in words, why a size cannot be told."""
    kind = speculation_type(target, subject.draft)
    k = drafted(use, kind, _longest(subject))
    outputs = use.slots * (k + 1)
    first = part_of(target, use, kv=use.kv, drafted=k, outputs=outputs)
    if isinstance(first, str):
        return f"the target: {first}"
    if subject.draft is None:  # layers of its own draft in a second context with buffers of its own
        return (dataclasses.replace(first, compute=2 * first.compute) if kind else first,)
    second = part_of(subject.draft, use, kv=DRAFT_KV, drafted=0, spec_type=kind, outputs=outputs)
    return f"the draft: {second}" if isinstance(second, str) else (first, second)


def _placed(parts: tuple[Part, ...], room: int) -> Placement | None:
    return place(parts[0], sum(part.whole for part in parts[1:]), room)


def _fits(subject: Subject, target: ModelHeader, use: Use, room: int) -> bool:
    parts = _parts(subject, target, use)
    return not isinstance(parts, str) and _placed(parts, room) is not None


def _where(placement: Placement) -> str:
    if placement.whole:
        return "every layer on the card"
    experts = f", the experts of {placement.cpu_moe} layers on the host" if placement.cpu_moe else ""
    return f"{placement.gpu_layers} of {placement.layers} layers on the card{experts} ({_gib(placement.host)} there)"


def _gib(size: int) -> str:
    return f"{size / GIB:.2f} GiB" if size >= GIB // 10 else f"{size / MIB:.1f} MiB"
