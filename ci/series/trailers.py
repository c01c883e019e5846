"""What a patch says about itself: the trailers of its commit message, read and checked.

`read_trailers` follows the rule of `git interpret-trailers` (git-interpret-trailers(1)); the tests hold the two
against each other. `parse_trailers` turns the pairs into a value or into a list of everything that is wrong.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from ci.errors import UsageProblem
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

GIT_MADE = ("Signed-off-by: ", "(cherry picked from commit ")
"""Lines that let git accept a paragraph in which only a quarter of the lines are trailers."""

BLANKS = " \t\r\n"
"""What git counts as white space; Python's own notion is wider."""

Pairs = tuple[tuple[str, str], ...]
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


def read_trailers(message: str) -> Pairs:
    """The trailers of a commit message as (key, value), in order, folded values joined by one space."""
    pairs: list[tuple[str, str]] = []
    foldable = False
    for line in _trailer_lines(message.split("\n")):
        colon = _separator(line)
        if line[0] in BLANKS:
            if foldable:
                key, value = pairs[-1]
                pairs[-1] = (key, f"{value} {line.lstrip(BLANKS)}")
            continue
        foldable = colon >= 1
        if foldable:
            pairs.append((line[:colon].strip(BLANKS), line[colon + 1 :]))
    return tuple((key, value.strip(BLANKS)) for key, value in pairs)


def _trailer_lines(lines: list[str]) -> list[str]:
    """The lines of the last paragraph when it is one of trailers, else nothing."""
    body = [line for line in lines if not line.startswith("#")]
    while body and not body[-1].strip(BLANKS):
        body.pop()
    blanks = [at for at, line in enumerate(body) if not line.strip(BLANKS)]
    paragraph = body[blanks[-1] + 1 :] if blanks else []  # the first paragraph is the title
    return paragraph if _is_trailer_paragraph(paragraph) else []


def _is_trailer_paragraph(paragraph: list[str]) -> bool:
    trailers = others = folded = 0
    for line in reversed(paragraph):  # from the end: a fold belongs to what stands above it
        if line.startswith(GIT_MADE) or (_separator(line) >= 1):
            trailers, folded = trailers + 1, 0
        elif line[0] in BLANKS:
            folded += 1
        else:
            others, folded = others + 1 + folded, 0
    others += folded
    if any(line.startswith(GIT_MADE) for line in paragraph):
        return trailers * 3 >= others
    return trailers > 0 and others == 0


def _separator(line: str) -> int:
    """Index of the colon that ends the key (letters, digits, dashes, then blanks), or -1."""
    match = re.match(r"[A-Za-z0-9-]+[ \t]*:", line)
    return match.end() - 1 if match else -1


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


def _value_faults(pairs: Pairs) -> Iterable[str]:
    for key, value in dict.fromkeys(pairs):
        if key in READERS:
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
            yield f"{key}: unknown trailer{_did_you_mean(key, (*REQUIRED, *OPTIONAL, *PEOPLE))}"


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), list(by_lower), n=1)
    return f", did you mean {by_lower[close[0]]!r}?" if close else ""


def _read_id(text: str) -> str:
    if not ID_PATTERN.fullmatch(text):
        raise _Fault(f"{text!r} is not an id (small letters, digits and dashes, not a dash first, at most 64)")
    return text


def _word_of(kind: type[Word], text: str) -> Word:
    try:
        return kind(text)
    except ValueError:
        words = [member.value for member in kind]
        raise _Fault(f"{text!r} is not one of {', '.join(words)}{_did_you_mean(text, words)}") from None


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
