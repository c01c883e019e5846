"""The fork of `docs/rehearsal.md`: four commits on upstream b11292, and what a person makes of their one conflict.

`python -m tests.helpers.rehearsal fork PLACE` makes the fork out of the history in the state directory;
`python -m tests.helpers.rehearsal edit FILE` settles the conflict in FILE.
"""

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from ci.git import Git
from ci.home import Home
from tests.helpers.histories import Past
from tests.helpers.synthetic import borrowed

BASE, AIM = "b11292", "b11434"
BRANCH = "speed"
AUTHOR = {"GIT_AUTHOR_NAME": "Fork Maker", "GIT_AUTHOR_EMAIL": "maker@example.org"}

WARM = """\
#pragma once

#include "speculative.h"

// one draft that nobody reads: the weights of the draft model are in memory before the first request
inline void common_speculative_warm(common_speculative * spec, llama_seq_id seq_id, const llama_tokens & prompt) {
    llama_tokens drafted;

    const common_speculative_draft_params params = {
        /* .drafting = */ true,
        /* .n_max    = */ 1,
        /* .pos0     = */ (llama_pos) prompt.size(),
        /* .id_last  = */ prompt.back(),
        /* .prompt   = */ &prompt,
        /* .result   = */ &drafted,
    };

    common_speculative_get_draft_params(spec, seq_id) = params;
    common_speculative_draft(spec);
}
"""


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit of the fork: each edit puts `new` where `old` stands once; of a new file `old` is empty.

    `trailers` are what a maintainer writes in place of the TODO values.
    """

    message: str
    path: str
    edits: tuple[tuple[str, str], ...]
    trailers: tuple[tuple[str, str], ...]


def promised(feature: str, numerics: str, retire: str) -> tuple[tuple[str, str], ...]:
    """The trailers of a patch."""
    return (
        ("Speed-Feature", feature),
        ("Speed-Numerics", numerics),
        ("Speed-Targets", "cpu"),
        ("Requires-Upstream", BASE),
        ("Upstream-Status", "Pending"),
        ("Retire-When", retire),
    )


CLEAN = Commit(
    message="Fill the candidates in one pass\n\nThe loop asks the vector for its storage once, not once a token.\n",
    path="common/sampling.cpp",
    edits=(
        (
            "            cur.resize(n_vocab);\n",
            "            cur.resize(n_vocab);\n            auto * out = cur.data();\n",
        ),
        ("                cur[token_id] = llama_token_data{", "                out[token_id] = llama_token_data{"),
    ),
    trailers=promised("host-path", "bitwise", "upstream fills them so"),
)
ABSORBED = Commit(
    message="Say that the draw is not used\n",
    path="src/llama-sampler.cpp",
    edits=(
        ("        dist(ctx->rng);\n        cur_p->data", "        (void) dist(ctx->rng);\n        cur_p->data"),
        ("    dist(sctx->rng);\n    ++sctx", "    (void) dist(sctx->rng);\n    ++sctx"),
    ),
    trailers=promised("exactness", "bitwise", "upstream says so"),
)
CONFLICTING = Commit(
    message="Leave single columns to vec_dot\n\nThe tiled product gains nothing on one column.\n",
    path="ggml/src/ggml-cpu/ggml-cpu.c",
    edits=(("    if (src1_cont) {\n", "    if (src1_cont && ne11 > 1) {\n"),),
    trailers=promised("batched-elementwise", "tolerance logits, NMSE 1e-6", "upstream leaves them to vec_dot"),
)
DRIFTING = Commit(
    message="Draft once before the first request\n",
    path="common/speculative-warm.h",
    edits=(("", WARM),),
    trailers=promised("spec-sched", "bitwise", "upstream drafts before the first request"),
)
COMMITS = (CLEAN, ABSORBED, CONFLICTING, DRIFTING)
SETTLED = b"    if (!params->use_ref && src1_cont && ne11 > 1) {\n"


def make_fork(history: Git, place: Path) -> Git:
    """A bare repository whose branch `speed` holds the commits on upstream's build; objects are borrowed."""
    git = borrowed(history, place / "history.git")
    past = Past(place)
    tip = git.commit_of(BASE) or ""
    for at, commit in enumerate(COMMITS):
        env = {**AUTHOR, "GIT_AUTHOR_DATE": f"2026-10-05T09:0{at}:00+0000"}
        tip = past.commit(past.tree(edited(past, commit), start=tip), [tip], commit.message, env=env)
    git.update_ref(f"refs/heads/{BRANCH}", tip, None)
    return git


def edited(past: Past, commit: Commit) -> dict[str, bytes]:
    """The commit's file, with the edits."""
    new_file = commit.edits[0][0] == ""
    text = "" if new_file else past.content(BASE, commit.path).decode()
    for old, new in commit.edits:
        assert new_file or text.count(old) == 1, (commit.path, old)
        text = text.replace(old, new, 1)
    return {commit.path: text.encode()}


def settle(path: Path) -> None:
    """Put upstream's condition and the fork's together, in place of the conflict."""
    path.write_bytes(re.sub(rb"<{7} .*?\n>{7} [^\n]*\n", lambda _: SETTLED, path.read_bytes(), flags=re.DOTALL))


if __name__ == "__main__":
    what, where = sys.argv[1:]
    if what == "edit":
        settle(Path(where))
    else:
        home = Home.find(Path.cwd(), os.environ)
        sys.stdout.write(f"{make_fork(Git(path=home.history), Path(where).absolute()).path}\n")
