"""What a patch says about itself: the vocabulary of its trailers, checked.

`parse_trailers` turns the pairs of `ci.series.message` into a value, or into a list of everything that is wrong.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from ci.errors import UsageProblem
from ci.series.message import Pairs
from ci.suggest import did_you_mean
from ci.upstream.tags import BuildTag

TARGETS = ("cpu", "sm75", "sm90", "sm120")

ID_PATTERN = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")

REQUIRED = (
    "Speed-Id",
    "Speed-Feature",
    "Speed-Numerics",
    "Speed-Targets",
    "Requires-Upstream",
    "Upstream-Status",
    "Retire-When",
)
OPTIONAL = ("Speed-Switch", "Drift-Ack")
REPEATABLE = ("Drift-Ack",)

PEOPLE = (
    "Acked-by",
    "Cc",
    "Co-authored-by",
    "Fixes",
    "Helped-by",
    "Link",
    "Reported-by",
    "Reviewed-by",
    "Signed-off-by",
    "Suggested-by",
    "Tested-by",
)
"""Trailers of general use: allowed, repeatable, not interpreted."""

KNOWN = frozenset(key.lower() for key in (*REQUIRED, *OPTIONAL, *PEOPLE))

TODO = "TODO"
"""Stands where an import has to ask: a value that no check lets pass."""

Word = TypeVar("Word", bound=StrEnum)


class Feature(StrEnum):
    """Which part of speculative decoding a patch speeds up."""

    HOST_PATH = "host-path"
    EXACTNESS = "exactness"
    DRAFT_SAMPLING = "draft-sampling"
    RATIO_ACCEPTANCE = "ratio-acceptance"
    SAMPLER_OP = "sampler-op"
    MOE_FUSION = "moe-fusion"
    WEIGHT_FUSION = "weight-fusion"
    BATCHED_ELEMENTWISE = "batched-elementwise"
    SPEC_SCHED = "spec-sched"
    METRICS = "metrics"


class NumericsKind(StrEnum):
    """What a patch may change in the numbers, strictest first."""

    BITWISE = "bitwise"
    DISTRIBUTION = "distribution"
    TOLERANCE = "tolerance"
    REPAIR = "repair"


class StatusKind(StrEnum):
    """Where a patch stands on its way upstream."""

    PENDING = "Pending"
    SUBMITTED = "Submitted"
    ACCEPTED = "Accepted"
    INAPPROPRIATE = "Inappropriate"


@dataclass(frozen=True, kw_only=True)
class Numerics:
    """The numeric promise: its kind and, for `tolerance` and `repair`, what and how much."""

    kind: NumericsKind
    detail: str = ""

    def __str__(self) -> str:
        """As written in the trailer."""
        return f"{self.kind} {self.detail}".rstrip()


@dataclass(frozen=True, kw_only=True)
class UpstreamStatus:
    """The state upstream and its evidence: a URL, a build or a reason."""

    kind: StatusKind
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class DriftAck:
    """A silent upstream change to a declaration, looked at and accepted as of a build."""

    declaration: str
    build: BuildTag


@dataclass(frozen=True, kw_only=True)
class Trailers:
    """The checked vocabulary of one patch."""

    id: str
    feature: Feature
    numerics: Numerics
    targets: tuple[str, ...]
    requires_upstream: BuildTag
    upstream_status: UpstreamStatus
    retire_when: str
    switch: str | None = None
    drift_ack: tuple[DriftAck, ...] = ()


class _Fault(Exception):
    """One value that is not what its trailer allows."""


def parse_trailers(pairs: Pairs) -> Trailers | tuple[str, ...]:
    """Check the vocabulary: the value, or every fault in words."""
    faults = (*_structure_faults(pairs), *_value_faults(pairs))
    if faults:
        return faults
    first = dict(reversed(pairs))
    return Trailers(
        id=_read_id(first["Speed-Id"]),
        feature=_read_feature(first["Speed-Feature"]),
        numerics=_read_numerics(first["Speed-Numerics"]),
        targets=_read_targets(first["Speed-Targets"]),
        switch=first.get("Speed-Switch"),
        requires_upstream=BuildTag.parse(first["Requires-Upstream"]),
        upstream_status=_read_status(first["Upstream-Status"]),
        retire_when=first["Retire-When"],
        drift_ack=tuple(_read_ack(value) for key, value in pairs if key == "Drift-Ack"),
    )


def is_todo(value: str) -> bool:
    """Whether a value is still to be written, wholly (`TODO: ask`) or behind its first word (`tolerance TODO`)."""
    return re.match(rf"{TODO}\b|\S+ {TODO}$", value) is not None


def _value_faults(pairs: Pairs) -> Iterable[str]:
    for key, value in dict.fromkeys(pairs):
        if key in READERS and is_todo(value):
            yield f"{key}: {TODO}: write {WANTED[key]}"
        elif key in READERS:
            try:
                READERS[key](value)
            except (_Fault, UsageProblem) as fault:
                yield f"{key}: {fault.args[0]}"


def _structure_faults(pairs: Pairs) -> Iterable[str]:
    keys = [key for key, _ in pairs]
    if not keys:
        yield "no trailers: the message must end with one paragraph of 'Key: value' lines, with a blank line above"
        return
    for key in REQUIRED:
        if key not in keys:
            yield f"{key}: missing trailer"
    for key in dict.fromkeys(keys):
        if key in (*REQUIRED, *OPTIONAL):
            if keys.count(key) > 1 and key not in REPEATABLE:
                yield f"{key}: stands {keys.count(key)} times, may stand once"
        elif key.lower() not in (known.lower() for known in PEOPLE):
            yield f"{key}: unknown trailer{did_you_mean(key, (*REQUIRED, *OPTIONAL, *PEOPLE))}"


def _read_id(text: str) -> str:
    if not ID_PATTERN.fullmatch(text):
        raise _Fault(f"{text!r} is not an id (small letters, digits and dashes, not a dash first, at most 64)")
    return text


def _word_of(kind: type[Word], text: str) -> Word:
    try:
        return kind(text)
    except ValueError:
        words = [member.value for member in kind]
        raise _Fault(f"{text!r} is not one of {', '.join(words)}{did_you_mean(text, words)}") from None


def _read_feature(text: str) -> Feature:
    return _word_of(Feature, text)


def _read_numerics(text: str) -> Numerics:
    word, _, detail = text.partition(" ")
    kind = _word_of(NumericsKind, word)
    wants_detail = kind in (NumericsKind.TOLERANCE, NumericsKind.REPAIR)
    if wants_detail != bool(detail):
        raise _Fault(f"{text!r}: {kind} {'must say what' if wants_detail else 'takes no further words'}")
    return Numerics(kind=kind, detail=detail.strip())


def _read_targets(text: str) -> tuple[str, ...]:
    names = tuple(text.split())
    strange = [name for name in names if name not in TARGETS]
    if strange or not names:
        raise _Fault(f"{text!r} holds {strange or 'nothing'}; targets are {', '.join(TARGETS)}")
    if len(set(names)) != len(names):
        raise _Fault(f"{text!r} names a target twice")
    return names


def _read_status(text: str) -> UpstreamStatus:
    word, _, detail = text.partition(" ")
    kind = _word_of(StatusKind, word)
    if kind is StatusKind.PENDING and detail:
        raise _Fault(f"{text!r}: Pending takes no further words")
    if kind is StatusKind.SUBMITTED and not re.fullmatch(r"https?://\S+", detail):
        raise _Fault(f"{text!r}: Submitted must give a URL")
    if kind is StatusKind.ACCEPTED:
        BuildTag.parse(detail)
    if kind is StatusKind.INAPPROPRIATE and not detail:
        raise _Fault(f"{text!r}: Inappropriate must say why")
    return UpstreamStatus(kind=kind, detail=detail)


def _read_words(text: str) -> str:
    if not text:
        raise _Fault("is empty")
    return text


def _read_switch(text: str) -> str:
    if not text or any(letter.isspace() for letter in text):
        raise _Fault(f"{text!r} is not the name of one environment variable or option")
    return text


def _read_ack(text: str) -> DriftAck:
    declaration, _, build = text.rpartition(" ")
    try:
        return DriftAck(declaration=_read_words(declaration.strip()), build=BuildTag.parse(build))
    except (_Fault, UsageProblem):
        raise _Fault(f"{text!r} is not '<declaration> <build>'") from None


READERS: Mapping[str, Callable[[str], object]] = {
    "Speed-Id": _read_id,
    "Speed-Feature": _read_feature,
    "Speed-Numerics": _read_numerics,
    "Speed-Targets": _read_targets,
    "Speed-Switch": _read_switch,
    "Requires-Upstream": BuildTag.parse,
    "Upstream-Status": _read_status,
    "Retire-When": _read_words,
    "Drift-Ack": _read_ack,
}

WANTED: Mapping[str, str] = {
    "Speed-Id": "a name in small letters, digits and dashes; the file has it, too",
    "Speed-Feature": f"one of {', '.join(Feature)}",
    "Speed-Numerics": "one of bitwise, distribution, tolerance <what, how much>, repair <what>",
    "Speed-Targets": f"where it has an effect, one or more of {', '.join(TARGETS)} (blanks between)",
    "Speed-Switch": "the variable or option that turns it off, or remove the line",
    "Requires-Upstream": "the first upstream build that it can stand on, such as b11434",
    "Upstream-Status": "one of Pending, Submitted <url>, Accepted <build>, Inappropriate <why>",
    "Retire-When": "what makes it unnecessary",
    "Drift-Ack": "'<declaration> <build>', or remove the line",
}
"""What to write in place of a TODO."""
