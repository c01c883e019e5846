"""What to ask and what counts as an answer: requests as values, replies parsed once, doubtful ones refused.

A reply that must not become a sample raises ReplyProblem with the reason: a cached prompt, too few tokens, missing or
impossible timings, options that the server did not follow.
"""

import math
from dataclasses import dataclass
from typing import Any

from ci.config import Field, Model, parse
from ci.errors import ConfigProblem, ReplyProblem
from ci.outcome import JsonMap, JsonValue

NEUTRAL_SAMPLERS: JsonMap = {
    "typical_p": 1.0,
    "top_n_sigma": -1.0,
    "xtc_probability": 0.0,
    "repeat_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "dry_multiplier": 0.0,
    "dynatemp_range": 0.0,
    "mirostat": 0,
}
ECHOED = ("n_predict", "temperature", "seed", "top_k", "top_p", "min_p", "ignore_eos")
ECHO_TOLERANCE = 1e-6  # the server keeps samplers' parameters as 32-bit floats


@dataclass(frozen=True, kw_only=True)
class Request:
    """One completion request; samplers that are not named here are neutral.

    Attributes:
        prompt: text, or token ids.
        n_predict: most tokens to generate.
        temperature: 0 is greedy.
        seed: of the samplers.
        top_k: window size; 0 is the whole vocabulary.
        top_p: nucleus; 1 keeps everything.
        min_p: relative floor; 0 keeps everything.
        ignore_eos: forbid end tokens (adds logit biases: another host path, so never used for speed).
        full_length: refuse a reply that ended before `n_predict` tokens.
        n_probs: log-probabilities of that many best tokens per position.
        id_slot: the slot that answers.
    """

    prompt: str | tuple[int, ...]
    n_predict: int
    temperature: float = 0.0
    seed: int = 1
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    ignore_eos: bool = False
    full_length: bool = False
    n_probs: int = 0
    id_slot: int = 0

    def to_json(self) -> dict[str, JsonValue]:
        """Body of `POST /completion`. The prompt cache is always off: a cached prompt changes times and numerics."""
        return {
            **NEUTRAL_SAMPLERS,
            "prompt": self.prompt if isinstance(self.prompt, str) else list(self.prompt),
            "n_predict": self.n_predict,
            "temperature": self.temperature,
            "seed": self.seed,
            "top_k": self.top_k,
            "top_p": self.top_p,
            "min_p": self.min_p,
            "ignore_eos": self.ignore_eos,
            "n_probs": self.n_probs,
            "id_slot": self.id_slot,
            "cache_prompt": False,
            "return_tokens": True,
            "stream": False,
        }


class Lenient(Model, extra="ignore"):
    """Base of reply types: the server may say more than we read."""


class Timings(Lenient):
    """The server's own clock and counters for one request; milliseconds and tokens.

    `predicted_ms` runs from the first generated token to the last, so it covers `predicted_n - 1` tokens.
    """

    cache_n: int = Field(ge=0)
    prompt_n: int = Field(ge=0)
    prompt_ms: float = Field(ge=0)
    predicted_n: int = Field(ge=1)
    predicted_ms: float = Field(ge=0)
    draft_n: int = Field(default=0, ge=0)
    draft_n_accepted: int = Field(default=0, ge=0)

    @property
    def ms_per_token(self) -> float:
        """Milliseconds per token after the first; NaN when there is only one."""
        return self.predicted_ms / (self.predicted_n - 1) if self.predicted_n > 1 else math.nan

    @property
    def rounds(self) -> int:
        """Decode rounds: every round emits one token beside the accepted drafts."""
        return self.predicted_n - self.draft_n_accepted


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An answer that counts.

    Attributes:
        tokens: generated ids.
        content: their text.
        stop_type: `limit`, `eos` or `word`.
        timings: the server's clock and counters.
        top: per position (id, log-probability) pairs, best first; empty without `n_probs`, and empty after the first
            position in speculative runs (the server fills no more).
    """

    tokens: tuple[int, ...]
    content: str
    stop_type: str
    timings: Timings
    top: tuple[tuple[tuple[int, float], ...], ...] = ()


class _Candidate(Lenient):
    id: int
    logprob: float


class _Position(Lenient):
    top_logprobs: tuple[_Candidate, ...] = ()


class _Body(Lenient):
    tokens: tuple[int, ...]
    content: str
    stop_type: str
    model: str = ""
    truncated: bool = False
    tokens_predicted: int
    timings: Timings
    generation_settings: dict[str, Any]
    completion_probabilities: tuple[_Position, ...] = ()


def parse_reply(data: JsonMap, request: Request, *, model: str | None = None) -> Reply:
    """Turn the JSON of a completion into a Reply.

    Args:
        data: the decoded body.
        request: what was asked.
        model: the alias that the answering server must report; None accepts any.

    Raises:
        ReplyProblem: the reply must not count as a sample; says why.
    """
    try:
        body = parse(_Body, data, source="reply of llama-server")
    except ConfigProblem as malformed:
        raise ReplyProblem(malformed.message) from malformed
    faults = [
        *_foreign(body, model),
        *_count_faults(body, request),
        *_time_faults(body),
        *_echo_faults(body, request),
    ]
    if faults:
        raise ReplyProblem("reply of llama-server does not count: " + "; ".join(faults))
    top = tuple(tuple((c.id, c.logprob) for c in position.top_logprobs) for position in body.completion_probabilities)
    return Reply(tokens=body.tokens, content=body.content, stop_type=body.stop_type, timings=body.timings, top=top)


def _foreign(body: _Body, model: str | None) -> list[str]:
    return [f"it came from model {body.model!r}, expected {model!r}"] if model not in (None, body.model) else []


def _count_faults(body: _Body, request: Request) -> list[str]:
    count, timings = len(body.tokens), body.timings
    faults = []
    if count == 0:
        faults.append("it has no tokens")
    if not count == body.tokens_predicted == timings.predicted_n:
        faults.append(
            f"{count} token ids, tokens_predicted {body.tokens_predicted}, predicted_n {timings.predicted_n} disagree"
        )
    if count > request.n_predict:
        faults.append(f"{count} tokens, asked for at most {request.n_predict}")
    if count < request.n_predict and (request.full_length or request.ignore_eos or body.stop_type != "eos"):
        faults.append(f"{count} tokens of {request.n_predict} (stop_type {body.stop_type!r})")
    if body.truncated:
        faults.append("the context ran full (truncated)")
    return faults


def _time_faults(body: _Body) -> list[str]:
    timings = body.timings
    faults = []
    if timings.cache_n:
        faults.append(f"{timings.cache_n} prompt tokens came from a cache although cache_prompt was off")
    if timings.prompt_n == 0:
        faults.append("prompt_n is 0: no prompt was processed")
    if timings.predicted_n > 1 and timings.predicted_ms == 0:
        faults.append(f"predicted_ms is 0 for {timings.predicted_n} tokens")
    if timings.draft_n_accepted > timings.draft_n:
        faults.append(f"draft_n_accepted {timings.draft_n_accepted} is above draft_n {timings.draft_n}")
    if body.stop_type == "limit" and timings.draft_n_accepted >= timings.predicted_n:  # an end token may cut a round
        faults.append(f"draft_n_accepted {timings.draft_n_accepted} of only {timings.predicted_n} tokens")
    return faults


def _echo_faults(body: _Body, request: Request) -> list[str]:
    asked, echoed = request.to_json(), body.generation_settings
    return [
        f"{name}: asked for {asked[name]}, the server used {echoed.get(name)!r}"
        for name in ECHOED
        if not _same(asked[name], echoed.get(name))
    ]


def _same(asked: float, used: object) -> bool:
    return isinstance(used, int | float) and math.isclose(asked, used, rel_tol=ECHO_TOLERANCE, abs_tol=ECHO_TOLERANCE)
