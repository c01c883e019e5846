"""One arm of a comparison: start a server on a build, ask all prompts, keep tokens and counters."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ci.builds.store import Build
from ci.law import Counters
from ci.llama.client import Client, Request
from ci.llama.server import LlamaServer
from ci.llama.spec import Scenario
from ci.parity.greedy import Candidates, Drafted, Fork, Text, Tokens, forks_of
from ci.parity.policy import N_PROBS
from ci.parity.prompts import Prompt

AT_ONCE = 2
"""Arms running side by side: token ids do not depend on what else runs, and two cores are always there."""

Prompts = Mapping[str, Tokens]


@dataclass(frozen=True, kw_only=True)
class Arm:
    """What one arm said.

    Attributes:
        texts: in the order of the prompts.
        prompts: token ids by prompt id.
        counters: draft counters by prompt id.
        build_info: what the server reported.
    """

    texts: tuple[Text, ...]
    prompts: Prompts
    counters: Mapping[str, Counters]
    build_info: str

    @property
    def drafted(self) -> Drafted:
        return Drafted(
            drafted=sum(c.drafted for c in self.counters.values()),
            accepted=sum(c.accepted for c in self.counters.values()),
        )


@dataclass(frozen=True, kw_only=True)
class Draw:
    """How the tokens of an arm are chosen; greedy unless told otherwise.

    Attributes:
        temperature: 0 is greedy.
        top_k: window size; 0 is the whole vocabulary.
        seed: of the first prompt; each further one has the next.
    """

    temperature: float = 0.0
    top_k: int = 0
    seed: int = 1


GREEDY = Draw()


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where arms run: log folder and a pool of workers."""

    log_dir: Path
    pool: ThreadPoolExecutor

    def submit(
        self,
        build: Build,
        scenario: Scenario,
        prompts: Prompts | Sequence[Prompt],
        n_predict: int,
        draw: Draw = GREEDY,
    ) -> "Future[Arm]":
        return self.pool.submit(run_arm, build, scenario, prompts, n_predict, draw, self.log_dir)


def run_arm(
    build: Build,
    scenario: Scenario,
    prompts: Prompts | Sequence[Prompt],
    n_predict: int,
    draw: Draw,
    log_dir: Path,
) -> Arm:
    texts: list[Text] = []
    counters: dict[str, Counters] = {}
    with LlamaServer.start(build.path, scenario, log_dir=log_dir, expect_build=build.label) as server:
        ids = as_ids(server.client, prompts)
        for index, (prompt, tokens) in enumerate(ids.items()):
            reply = server.client.complete(
                Request(
                    prompt=tokens,
                    n_predict=n_predict,
                    temperature=draw.temperature,
                    top_k=draw.top_k,
                    seed=draw.seed + index,
                )
            )
            texts.append(Text(prompt=prompt, tokens=reply.tokens, asked=n_predict))
            timings = reply.timings
            counters[prompt] = Counters(drafted=timings.draft_n, accepted=timings.draft_n_accepted)
        server.require_as_asked()
        info = server.props.build_info
    return Arm(texts=tuple(texts), prompts=ids, counters=counters, build_info=info)


def as_ids(client: Client, prompts: Prompts | Sequence[Prompt]) -> Prompts:
    if isinstance(prompts, Mapping):
        return prompts
    return {prompt.id: client.tokenize(prompt.text) for prompt in prompts}


def scored_forks(left: Arm, right: Arm, sides: Sequence[tuple[Build, Scenario]], log_dir: Path) -> tuple[Fork, ...]:
    """The forks of two arms with the candidates of both sides, asked again after the common text."""
    forks = forks_of(left.texts, right.texts)
    if not forks:
        return ()
    said = {text.prompt: text.tokens for text in left.texts}
    contexts = [(*left.prompts[fork.prompt], *said[fork.prompt][: fork.index]) for fork in forks]
    columns = [candidates(build, scenario, contexts, log_dir) for build, scenario in sides]
    return tuple(fork.scored(*row) for fork, row in zip(forks, zip(*columns, strict=True), strict=True))


def candidates(build: Build, scenario: Scenario, contexts: Sequence[Tokens], log_dir: Path) -> list[Candidates]:
    with LlamaServer.start(build.path, scenario, log_dir=log_dir, expect_build=build.label) as server:
        replies = [
            server.client.complete(Request(prompt=context, n_predict=1, n_probs=N_PROBS)) for context in contexts
        ]
    return [reply.top[0] if reply.top else () for reply in replies]
