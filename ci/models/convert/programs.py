"""The two programs of a conversion, upstream's converter and llama-quantize: how they are run and understood."""

import contextlib
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from ci.console import Task
from ci.errors import ConversionFailed, DiskFull, UsageProblem
from ci.process import Completed, failure_of, run, scrubbed_env
from ci.redact import quoted_lines
from ci.suggest import did_you_mean

QUANTIZER = "llama-quantize"
LOOK_S = 1.0
"""Seconds between two looks at a growing file."""
QUOTED = 12
"""Lines of a program's last words."""
ANY_CODE = range(-64, 256)
TYPE = re.compile(r"^ *\d+ +or +(\w+) *:", re.MULTILINE)
COUNTED = re.compile(r"\[ *(?P<done>\d+)/ *(?P<of>\d+)\] +(?P<name>\S+)")
UNFIT = re.compile(
    r"^warning: (?P<name>\S+) +- ncols +\d+ not divisible by +(?P<block>\d+) \(required for type +(?P<wanted>\w+)\)"
    r".*-> falling back to +(?P<became>\w+)",
    re.MULTILINE,
)


def convert(python: Path, script: Path, draft: Path, target: Path, into: Path, *, home: Path) -> None:
    """Run upstream's converter: 16-bit weights, tokenizer of the target, no network, nobody's settings.

    Args:
        python: of the converter's environment.
        script: upstream's, beside its own packages.
        draft: folder with the draft's data files.
        target: folder with the target's.
        into: the GGUF file to write.
        home: an empty folder that it may take for a person's.

    Raises:
        ConversionFailed: it refuses; quotes its last words.
        DiskFull: no room.
    """
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HOME": str(home), "HOME": str(home)}
    env = scrubbed_env(extra={**offline, "LC_ALL": "C.UTF-8"})
    argv = (python, "-s", script, draft, "--target-model-dir", target, "--outfile", into, "--outtype", "auto")
    _require(run(argv, env=env, ok_codes=ANY_CODE), f"{script.name}, run on {draft.name},")


def quantise(program: Path, source: Path, into: Path, kind: str, task: Task) -> tuple[str, ...]:
    """Run llama-quantize; `task` hears of every tensor.

    Returns:
        What it could not do as asked: tensors whose rows are no whole blocks of the type, in words.

    Raises:
        ConversionFailed: it refuses; quotes its last words.
        DiskFull: no room.
    """

    def show(line: str) -> None:
        counted = COUNTED.match(line)
        if counted:
            task.update(int(counted["done"]), int(counted["of"]), counted["name"])

    done = run((program, source, into, kind), ok_codes=ANY_CODE, on_line=show)
    _require(done, f"{program.name} to {kind}")
    return unfit_words(_said(done))


def unfit_words(said: str) -> tuple[str, ...]:
    """Tensors that became another type because their rows do not fit, one line for each kind of change."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for found in UNFIT.finditer(said):
        change = (found["wanted"].upper(), found["became"].upper(), found["block"])
        groups.setdefault(change, []).append(found["name"])
    return tuple(
        f"{len(names)} tensor(s) became {became}, not {wanted}: their rows are no whole blocks of {block} values "
        f"({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"
        for (wanted, became, block), names in groups.items()
    )


def check_types(program: Path, kinds: Sequence[str]) -> None:
    """Ask llama-quantize which types it knows, before anything long.

    Raises:
        UsageProblem: one of the types is not among them.
        ConversionFailed: it does not list any.
    """
    done = run((program, "--help"), ok_codes=ANY_CODE)
    known = TYPE.findall(_said(done))
    if not known:
        raise ConversionFailed(f"{program} --help lists no types:\n{_last_words(done)}")
    for kind in kinds:
        if kind not in known:
            guess = did_you_mean(kind, known)
            raise UsageProblem(f"{program.name} knows no type {kind!r}{guess}", hint=f"one of {', '.join(known)}")


@contextlib.contextmanager
def shown_growing(path: Path, expected: int, task: Task) -> Iterator[None]:
    """Show how far a file has grown while the block runs: the converter does not say it line by line.

    Args:
        path: being written, or not there yet.
        expected: its size in the end, about, in bytes.
        task: hears about it.
    """
    over = threading.Event()

    def look() -> None:
        while not over.wait(LOOK_S):
            with contextlib.suppress(FileNotFoundError):
                task.update(min(path.stat().st_size, expected), expected)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _require(done: Completed, what: str) -> None:
    if done.code == 0:
        return
    failure = failure_of(done)
    if isinstance(failure, DiskFull):
        raise failure
    how = f"was killed by signal {-done.code}" if done.code < 0 else f"ends with code {done.code}"
    raise ConversionFailed(f"{what} {how}:\n{_last_words(done)}")


def _said(done: Completed) -> str:
    return (done.stdout + b"\n" + done.stderr).decode("utf-8", "replace")


def _last_words(done: Completed) -> str:
    return quoted_lines([line for line in _said(done).splitlines() if line.strip()][-QUOTED:])
