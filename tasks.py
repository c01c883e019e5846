"""Every verb of the project. Thin: parse the command line, call `ci`, print an outcome, exit with its code."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from invoke.context import Context as Invocation
from invoke.tasks import task

from ci.builds.shelf import KEEP
from ci.console import Console
from ci.errors import EXIT_DEFECT, EXIT_OK, EnvironmentProblem, Interrupted, SpeedforkError, UsageProblem
from ci.home import Home
from ci.models import pinning
from ci.verbs import audit as auditing
from ci.verbs import compat as matching
from ci.verbs import convert_draft as converting
from ci.verbs import gpu_check as card_check
from ci.verbs import inspect_model as inspecting
from ci.verbs import models as shelving
from ci.verbs import (
    pipeline,
    publish,
    rebase,
    rebase_words,
    rebuild,
    rebuild_files,
    series,
    store,
    toolchain,
    upstream,
)
from ci.verbs import speculators as catalogue

CHECKOUT = Path(__file__).parent
DISK = "check that SPEEDFORK_HOME is a folder that can be written, then run the command again"
JSON = "one JSON document on standard output; words go to standard error"
SUITE = {
    "stock": "build directory of stock",
    "speed": "build directory of the speed build",
    "profile": "quick or full",
    "json": JSON,
}
"""Options of the verbs that run a suite on two builds."""


def edge(invocation: Invocation, json: bool, command: Callable[[Home, Console], int]) -> None:
    """Run a command and leave with its exit code; the one place that turns errors into text."""
    console = Console(json_output=json)
    try:
        refuse_remainder(str(getattr(invocation, "remainder", "") or ""))
        code = command(Home.find(CHECKOUT, os.environ), console)
        sys.stdout.flush()
    except SpeedforkError as error:
        code = told(console, error)
    except BrokenPipeError:  # whoever read our output has gone; there is nobody left to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = EXIT_OK
    except OSError as error:
        code = told(
            console, EnvironmentProblem(f"{error.filename or 'a file'}: {error.strerror or error}", hint=DISK)
        )
    except KeyboardInterrupt:
        code = told(console, Interrupted("interrupted"))
    except Exception as error:  # noqa: BLE001 - whatever is left is a defect of ours, shown whole
        console.defect()
        console.document({"error": "Defect", "message": repr(error), "next": "report it with the traceback"})
        code = EXIT_DEFECT
    sys.exit(code)


def told(console: Console, error: SpeedforkError) -> int:
    """Print an error for people and machines; its exit code."""
    console.error(error)
    console.document({**error.facts, "error": type(error).__name__, "message": error.message, "next": error.hint})
    return error.exit_code


def refuse_remainder(words: str) -> None:
    """Refuse words after a bare `--`: they belong to nox, and invoke would drop them without a word."""
    if words:
        raise UsageProblem(f"words after -- are not read: {words}", hint="leave the -- away: it belongs to ./noxw -s")


@task(
    auto_shortflags=False,
    help={
        "build": "build to fetch, such as b11393 (repeatable); default: the series' base and the newest pinned one",
        "all": "fetch every pinned build",
        "remote": "a git remote (URL or path) instead of the archives; builds that are here are compared with it",
        "json": JSON,
    },
    iterable=["build"],
)
def sync_upstream(
    c: Invocation,
    build: list[str],
    all_: bool = False,
    remote: str = "",
    json: bool = False,
) -> None:
    """Bring upstream builds into the local history, verified against their pins; says what archives may lack."""
    edge(c, json, lambda home, console: upstream.sync(home, console, build, all_builds=all_, remote=remote))


@task(auto_shortflags=False, help={"json": JSON}, name="upstream")
def upstream_(c: Invocation, json: bool = False) -> None:
    """Upstream builds known and fetched, the newest, the series' base, and how far behind it is."""
    edge(c, json, upstream.show)


@task(
    auto_shortflags=False,
    help={
        "build": "the build whose source archive to pin, such as b11500",
        "dry-run": "show the entry and leave ci/config/upstream.toml as it is",
        "json": JSON,
    },
)
def pin_upstream(c: Invocation, build: str = "", dry_run: bool = False, json: bool = False) -> None:
    """Find a build's source archive on the package index, and pin its digest and its git tree."""
    edge(c, json, lambda home, console: upstream.pin(home, console, build=build, dry_run=dry_run))


@task(
    auto_shortflags=False,
    help={
        "onto": "the build to move to, such as b11434; default: the newest pinned one, or the base if that is newer",
        "dry-run": "say what would happen and change nothing",
        "matrix": "only show every patch, alone and after its predecessors, on every known build: table and picture",
        "accept-partial": "id of a patch of which upstream has a part, and whose rest you have read (repeatable)",
        "continue": "take over what you made of the conflict in its worktree, and go on",
        "abort": "forget the move that waits for you; patches/ and history are as they were",
        "skip": "id of a patch to leave out of this move (repeatable); its file goes to patches/retired/",
        "json": JSON,
    },
    iterable=["accept_partial", "skip"],
)
def rebase_upstream(
    c: Invocation,
    accept_partial: list[str],
    skip: list[str],
    onto: str = "",
    dry_run: bool = False,
    matrix: bool = False,
    continue_: bool = False,
    abort: bool = False,
    json: bool = False,
) -> None:
    """Move the series in patches/ onto a newer upstream build.

    A conflict is exit code 3: it names patch, sides and the build that caused it, and opens a worktree for you.
    """
    asked = rebase_words.Request(
        onto=onto,
        dry_run=dry_run,
        matrix=matrix,
        accept_partial=tuple(accept_partial),
        go_on=continue_,
        abort=abort,
        skip=tuple(skip),
    )
    edge(c, json, lambda home, console: rebase.rebase(home, console, asked))


@task(
    auto_shortflags=False,
    iterable=["model"],
    help={
        "model": "model id (repeatable); default: the models that the suites use",
        "all-pinned": "every pinned model of ci/config/models.toml",
        "verify": "hash files again that are here and were verified before",
        "dry-run": "say what is here and how much would come; change nothing",
        "json": JSON,
    },
)
def fetch_models(
    c: Invocation,
    model: list[str],
    all_pinned: bool = False,
    verify: bool = False,
    dry_run: bool = False,
    json: bool = False,
) -> None:
    """Bring pinned models here, verified before they get their names; what is here needs no network.

    A download that broke off goes on where it was. HF_ENDPOINT names another Hugging Face hub or a mirror; HF_TOKEN
    is sent to that host only.
    """
    wish = shelving.Wish(names=tuple(model), all_pinned=all_pinned, verify=verify, dry_run=dry_run)
    edge(c, json, lambda home, console: shelving.fetch_models(home, console, wish))


@task(
    auto_shortflags=False,
    help={
        "model": "id of an entry in ci/config/models.toml",
        "revision": "branch, tag or commit of a Hugging Face repository; default: main. Pins again what is pinned",
        "file": "the file in the repository, or the path of a local model. Pins again what is pinned",
        "dry-run": "print the entry and leave ci/config/models.toml as it is",
        "json": JSON,
    },
)
def pin_model(
    c: Invocation, model: str = "", revision: str = "", file: str = "", dry_run: bool = False, json: bool = False
) -> None:
    """Fix the bytes of a model: commit, sizes and digests as the hub states them, or of a file that is hashed.

    Gates use pinned models only. The other lines and the comments of ci/config/models.toml stay as they are.
    """
    asked = pinning.Asked(model=model, revision=revision, file=file)
    edge(c, json, lambda home, console: shelving.pin_model(home, console, asked, dry_run=dry_run))


@task(
    auto_shortflags=False,
    iterable=["quantise"],
    help={
        "draft": "folder of the published DSpark checkpoint (safetensors), or its id in models.toml",
        "target": "folder of the target's checkpoint, or its id: only its config.json and tokenizer are read",
        "quantise": "a type that llama-quantize knows, such as Q4_K_M (repeatable); default: one file of 16 bits",
        "onto": "upstream build whose converter to take, with the series on it; default: the newest pinned one",
        "out": "name of the product, where it is one; default: out/drafts/<folder>[-<type>].gguf",
        "dry-run": "look at both checkpoints and say what a conversion would take; change nothing",
        "json": JSON,
    },
)
def convert_draft(
    c: Invocation,
    quantise: list[str],
    draft: str = "",
    target: str = "",
    onto: str = "",
    out: str = "",
    dry_run: bool = False,
    json: bool = False,
) -> None:
    """Make GGUF files of a draft that is published as safetensors only, by the speed tree's own converter.

    The converter's environment (torch, transformers) is made once, in the state directory; --dry-run says its size.
    A file gets its name only when its header is that of the checkpoint's draft. Code of a repository is never run.
    """
    asked = converting.Request(
        draft=draft, target=target, quantise=tuple(quantise), onto=onto, out=out, dry_run=dry_run
    )
    edge(c, json, lambda home, console: converting.convert_draft(home, console, asked))


@task(
    auto_shortflags=False,
    help={
        "target": "what to build for: cpu by this machine's compiler; sm75, sm120, sm90 in a container",
        "lane": "CUDA toolkit of a target that has several: cu13 (the usual one) or cu12",
        "onto": "upstream build to stand on; default: the newest pinned one",
        "jobs": "parallel compilers; default: from cores and memory",
        "json": JSON,
    },
)
def build(
    c: Invocation, target: str = "cpu", lane: str = "", onto: str = "", jobs: str = "", json: bool = False
) -> None:
    """Build stock and speed by one recipe; answered from the store when their inputs are known.

    Targets of a lane are built in a container, packed into out/builds/ and audited there. KEEP_CONTAINER=1 leaves the
    container for you to look at; SPEEDFORK_DEADLINE_S and SPEEDFORK_JOBS bound the build.
    """
    asked = pipeline.Request(target=target, lane=lane, onto=onto, jobs=jobs)
    edge(c, json, lambda home, console: pipeline.build(home, console, asked))


@task(
    auto_shortflags=False,
    iterable=["file"],
    help={
        "file": "an archive, anybody's (repeat for more)",
        "target": "what it should be; default: what it says itself",
        "lane": "the toolkit of that target; alone: it should be that lane's companion archive",
        "json": JSON,
    },
)
def audit(c: Invocation, file: list[str], target: str = "", lane: str = "", json: bool = False) -> None:
    """What is in an archive, and does it keep its promise? Device code, floors, libraries, licences, hardening.

    Nobody else's program is started: only files of our own store may run here.
    """
    edge(c, json, lambda home, console: auditing.audit(home, console, file, target, lane))


@task(auto_shortflags=False, help=SUITE)
def parity(c: Invocation, stock: str = "", speed: str = "", profile: str = "quick", json: bool = False) -> None:
    """Do two builds say the same, token for token? Without directories: the current stock and speed builds."""
    edge(c, json, lambda home, console: pipeline.prove(home, console, "parity", stock, speed, profile))


@task(auto_shortflags=False, help=SUITE)
def throughput(c: Invocation, stock: str = "", speed: str = "", profile: str = "quick", json: bool = False) -> None:
    """Is the speed build faster? Paired and randomised. Without directories: the current builds."""
    edge(c, json, lambda home, console: pipeline.prove(home, console, "throughput", stock, speed, profile))


@task(
    auto_shortflags=False,
    help={
        "patch": "Speed-Id of the patch; default: every patch with a switch",
        "profile": "quick or full",
        "json": JSON,
    },
)
def measure_switch(c: Invocation, patch: str = "", profile: str = "full", json: bool = False) -> None:
    """What one patch is worth: its switch on against off in one binary, with an interval."""
    from ci.verbs import measure  # scipy behind it would cost every other verb a second at its start

    edge(c, json, lambda home, console: measure.switches(home, console, patch=patch, profile=profile))


@task(
    auto_shortflags=False,
    iterable=["pair", "mode"],
    help={
        "pair": "an exact pair, may be repeated: SMALL, LARGE, HYBRID, SECOND_ORDER, MOE; default: all",
        "mode": "a way to draft, may be repeated: plain, dspark, dspark-p-min, simple, simple-sampled, control",
        "build": "stock or speed",
        "profile": "quick (51,200 tokens a row, minutes) or full (two temperatures, two seed sets, four times that)",
        "json": JSON,
    },
)
def check_pairs(
    c: Invocation,
    pair: list[str],
    mode: list[str],
    build: str = "stock",
    profile: str = "quick",
    json: bool = False,
) -> None:
    """Does a server keep the known laws of exact pairs? Texts and draft counters beside their closed forms.

    Builds stock and speed first when they are not in the store. Everything takes about ten minutes, one pair two.
    """
    from ci.verbs import check_pairs as checking  # scipy behind it would cost every other verb a second at its start

    edge(
        c,
        json,
        lambda home, console: checking.check(home, console, pairs=pair, modes=mode, build=build, profile=profile),
    )


@task(
    auto_shortflags=False,
    help={
        "onto": "upstream build to move the series onto; default: the newest pinned one",
        "profile": "quick (12 prompts x 64 tokens, 8 pairs) or full (32 x 128, 16 pairs or more)",
        "from": "run this stage and all after it again, whatever the records say",
        "only": "run just this stage; the ones before it must have valid records",
        "jobs": "parallel compilers; default: from cores and memory",
        "dry-run": "check everything that can be checked, show what would run, run nothing",
        "json": JSON,
    },
    name="pipeline",
)
def pipeline_(
    c: Invocation,
    onto: str = "",
    profile: str = "quick",
    from_: str = "",
    only: str = "",
    jobs: str = "",
    dry_run: bool = False,
    json: bool = False,
) -> None:
    """The main job: sync, models, rebase, build, parity, throughput, package, release.

    Finished stages are kept: run it again after a fault, a kill or a change, and it continues there.
    """
    asked = pipeline.Request(onto=onto, profile=profile, redo_from=from_, only=only, jobs=jobs, dry_run=dry_run)
    edge(c, json, lambda home, console: pipeline.run(home, console, asked))


@task(
    auto_shortflags=False,
    help={
        "remote": "the fork: an https:// or ssh:// address, or a path; default: $SPEEDFORK_REMOTE",
        "onto": "publish the series on this build; default: the one that patches/ stands on",
        "branch": "the fork's branch; default: speed",
        "replace": "whole id of the commit on that branch that may go, although it is unknown here",
        "dry-run": "look at the fork, say what would change there, push nothing",
        "json": JSON,
    },
)
def publish_series(
    c: Invocation,
    remote: str = "",
    onto: str = "",
    branch: str = publish.DEFAULT_BRANCH,
    replace: str = "",
    dry_run: bool = False,
    json: bool = False,
) -> None:
    """Push the speed branch and the annotated release tag to the fork: both or neither, nothing forced blindly."""
    asked = publish.Request(remote=remote, onto=onto, branch=branch, replace=replace, dry_run=dry_run)
    edge(c, json, lambda home, console: publish.publish(home, console, asked))


@task(auto_shortflags=False, help={"json": JSON}, name="series")
def series_(c: Invocation, json: bool = False) -> None:
    """The series at a glance: base and its distance, each patch's promise, size, age and upstream status."""
    edge(c, json, series.show)


@task(
    auto_shortflags=False,
    help={
        "from": "the fork: an https:// or ssh:// address, or a path",
        "range": "A..B, such as b11434..main: the upstream build that the fork stands on, and its last commit "
        "(tags, branches or whole commit ids of the fork)",
        "replace": "put the imported series in the place of the one in patches/",
        "dry-run": "do everything but write patches/",
        "json": JSON,
    },
)
def import_series(
    c: Invocation,
    from_: str = "",
    range: str = "",  # noqa: A002 - the option's name
    replace: bool = False,
    dry_run: bool = False,
    json: bool = False,
) -> None:
    """Turn a fork's commits into patches/: authors and dates kept, missing trailers asked for as TODO."""
    asked = series.ImportRequest(remote=from_, range=range, replace=replace, dry_run=dry_run)
    edge(c, json, lambda home, console: series.import_(home, console, asked))


@task(
    auto_shortflags=False,
    help={"check": "write nothing; exit code 2 when a file is not as an export writes it", "json": JSON},
)
def export_series(c: Invocation, check: bool = False, json: bool = False) -> None:
    """Write each patch file anew from the commit that git makes of it; --check only compares."""
    edge(c, json, lambda home, console: series.export(home, console, check=check))


@task(
    auto_shortflags=False,
    help={
        "lane": "cu13 (CUDA from wheels) or cu12 (CUDA from an nvidia/cuda image)",
        "base": "a Debian 11 image; default: speedfork/debian:11, else debian:11",
        "image": "nvidia/cuda:...-devel-...@sha256:..., for a lane that takes CUDA from an image",
        "dry-run": "say what is there, or what would be made; make nothing",
        "json": JSON,
    },
    name="toolchain",
)
def toolchain_(
    c: Invocation,
    lane: str = toolchain.DEFAULT_LANE,
    base: str = "",
    image: str = "",
    dry_run: bool = False,
    json: bool = False,
) -> None:
    """The image that CUDA builds run in: made once per lane on any Docker Engine, then found again."""
    asked = toolchain.Request(lane=lane, base=base, image=image, dry_run=dry_run)
    edge(c, json, lambda home, console: toolchain.toolchain(home, console, asked))


@task(
    auto_shortflags=False,
    help={
        "prepare": "only make the folder to carry",
        "run": "only run a prepared folder, here",
        "collect": "judge the results that came home, a folder",
        "target": "what the builds are for",
        "lane": "CUDA toolkit of a target that has several",
        "stock": "build directory of stock; default: the one of the target in the store",
        "speed": "build directory of the speed build",
        "libraries": "folder of the toolkit's libraries (an unpacked cudart archive): the small ones are carried",
        "out": "the prepared folder; default: out/gpu-check",
        "python": "version of the other machine's Python",
        "json": JSON,
    },
)
def gpu_check(
    c: Invocation,
    prepare: bool = False,
    run: str = "",
    collect: str = "",
    target: str = "sm90",
    lane: str = "",
    stock: str = "",
    speed: str = "",
    libraries: str = "",
    out: str = "",
    python: str = "3.12",
    json: bool = False,
) -> None:
    """Check builds on a machine with a card and no network: prepare a folder, run it there, judge what comes home.

    Without --prepare, --run and --collect: prepare for this machine's Python, and run here.
    """
    asked = card_check.Request(
        target=target, lane=lane, stock=stock, speed=speed, libraries=libraries, out=out, python=python
    )
    steps = card_check.Steps(prepare=prepare, run=run, collect=collect)
    edge(c, json, lambda home, console: card_check.gpu_check(home, console, asked, steps))


@task(
    auto_shortflags=False,
    help={
        "target": "whose stored builds to compare with: cpu, sm75, sm120, sm90",
        "lane": "CUDA toolkit of a target that has several: cu13 (the usual one) or cu12",
        "onto": "upstream build that they stand on; default: the newest pinned one",
        "variant": "stock or speed; default: both, with --files speed",
        "files": "compile a few CUDA files twice and compare their objects: where a whole build takes too long",
        "jobs": "parallel compilers; default: from cores and memory",
        "json": JSON,
    },
)
def rebuild_check(
    c: Invocation,
    target: str = "cpu",
    lane: str = "",
    onto: str = "",
    variant: str = "",
    files: bool = False,
    jobs: str = "",
    json: bool = False,
) -> None:
    """Build once more without any cache and compare with the stored build: the last line is identical=yes or no."""
    asked = rebuild.Request(target=target, lane=lane, onto=onto, variant=variant, jobs=jobs)
    command = rebuild_files.rebuild_files if files else rebuild.rebuild_check
    edge(c, json, lambda home, console: command(home, console, asked))


@task(
    auto_shortflags=False,
    help={
        "prune": "remove damaged builds, old ones that nothing points at, leftovers of killed runs, and caches and "
        "images of toolchains that no lane uses",
        "keep": "newest builds of each target and variant that stay in any case",
        "dry-run": "say what would be removed; remove nothing",
        "json": JSON,
    },
    name="store",
)
def store_(
    c: Invocation, prune: bool = False, keep: str = str(KEEP), dry_run: bool = False, json: bool = False
) -> None:
    """Stored builds, compiler caches and toolchain images: how large, how old, who needs them; --prune tidies up."""
    asked = store.Request(prune=prune, keep=keep, dry_run=dry_run)
    edge(c, json, lambda home, console: store.store(home, console, asked))


@task(
    auto_shortflags=False,
    help={
        "file": "a GGUF file; of a model in shards, any one of them",
        "model": "an id of ci/config/models.toml instead; it is fetched when it is not here",
        "json": JSON,
    },
)
def inspect_model(c: Invocation, file: str = "", model: str = "", json: bool = False) -> None:
    """What is in a GGUF model? Architecture, size, tensors by type, context, vocabulary, DSpark facts, oddities.

    Only the header is read, and only within bounds: a file from anybody may be looked at.
    """
    edge(c, json, lambda home, console: inspecting.inspect_model(home, console, file, model))


@task(
    auto_shortflags=False,
    iterable=["model", "draft", "card", "measured"],
    help={
        "model": "an id of ci/config/models.toml or a GGUF file (repeatable); default: every target there",
        "draft": "id or file of a draft, one for each --model; default: the draft that models.toml joins with it",
        "card": "a card of the fleet (repeatable); default: all",
        "fleet": "file with your cards; default: ci/config/fleet.toml, which explains its keys",
        "ctx": "context of one slot, tokens",
        "kv": "type of keys and values: f16, q8_0, q4_0, ...",
        "slots": "users at a time",
        "drafted": "drafted tokens a round; default: what the model card says",
        "build": "upstream build to judge by, such as b11434; default: the base of the series",
        "measured": "METRIC=NUMBER beside the published figure of the one --model: decode=480, acceptance=68 (in %)",
        "json": JSON,
    },
)
def compat(
    c: Invocation,
    model: list[str],
    draft: list[str],
    card: list[str],
    measured: list[str],
    fleet: str = "",
    ctx: int = 8192,
    kv: str = "f16",
    slots: int = 1,
    drafted: int = 0,
    build: str = "",
    json: bool = False,
) -> None:
    """Which model and draft run together, on which card? OK, REFUSED or CANNOT TELL, with reasons and command lines.

    Judged by tensors and metadata, never by file names; nothing is downloaded. With --model and --card the exit code
    is the answer: 0 OK, 4 REFUSED, 5 CANNOT TELL; a matrix of everything always exits with 0. Answer and exit code
    are about llama.cpp, the model and the card; whether an archive of ours is for the card is a table of its own.
    """
    asked = matching.Request(
        models=model,
        drafts=draft,
        cards=card,
        fleet=fleet,
        ctx=ctx,
        kv=kv,
        slots=slots,
        drafted=drafted,
        build=build,
        measured=measured,
    )
    edge(c, json, lambda home, console: matching.compat(home, console, asked))


@task(
    auto_shortflags=False,
    help={"fleet": "file with your cards; default: ci/config/fleet.toml, which explains its keys", "json": JSON},
)
def speculators(c: Invocation, fleet: str = "", json: bool = False) -> None:
    """Which speculators are known, and which models of the fleet lack one?"""
    edge(c, json, lambda _, console: catalogue.speculators(console, fleet))
