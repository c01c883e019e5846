"""A llama-server of ours from start to stop: a port of its own, proof of identity, a log file, TERM-wait-KILL.

How we know that the server which answers is the one that we started: it reports the model alias that was made up for
this start, the path of our model, and our child is alive. Everything else is refused, never measured.
"""

import contextlib
import re
import secrets
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ci.errors import ForeignServer, ServerDied, ServerLate, ServerProblem, ServerUnlike
from ci.llama.client import Client, Health, Props
from ci.llama.reply import Reply, Request
from ci.llama.spec import LOOPBACK, SERVER_PROGRAM, Scenario, server_argv
from ci.process import Running, scrubbed_env

DEADLINE_S = 120.0
POLL_S = 0.05
PORT_TRIES = 4
PORT_TAKEN = "couldn't bind HTTP server socket"
DEGRADED = re.compile(
    r"""context\ size\ reduced | exceeds\ the\ training\ context | need\ to\ reduce\ device\ memory
      | out\ of\ memory | failed\ to\ allocate
      | speculative\ decoding\ (?:not\ supported|will\ be\ disabled) | failed\ to\ initialize\ speculative
      | failed\ to\ (?:load|decode|create|init)\S*\ [^\n]*draft | failed\ to\ create\ MTP\ context
      | draft\ limit\ was\ reduced | clamping\ to | no\ confidence\ head | vocabs\ are\ not\ compatible
      | must\ match\ target\ model | llama_process\S*\ (?:returned|failed) | backend\ offload\ failed""",
    re.VERBOSE | re.IGNORECASE,
)
OFFLOADED = re.compile(r"offloaded (\d+)/(\d+) layers")
NO_DEVICE = "no usable GPU found"


def free_port() -> int:
    """A TCP port on the loopback address that was free a moment ago (the start verifies that it still was)."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True, kw_only=True)
class LlamaServer:
    """A running server that proved to be ours. Made by :meth:`start`; gone when its block ends.

    Attributes:
        scenario: what it was asked to run.
        client: speaks to it, and refuses replies of any other server.
        props: what it says about itself.
        log_path: everything that it prints.
        pid: process id.
        port: TCP port on the loopback address.
    """

    scenario: Scenario
    client: Client
    props: Props
    log_path: Path
    pid: int
    port: int

    @property
    def degraded(self) -> tuple[str, ...]:
        """Log lines saying that the server runs something smaller than asked; empty when it does as asked."""
        models = 1 if self.scenario.draft is None else 2
        log = self.log_path.read_text("utf-8", "replace")
        return degraded_lines(log, gpu_layers=self.scenario.device.layers, models=models)

    @property
    def build_info(self) -> str:
        """The build that it says it is, `bNNNN-<commit>`."""
        return self.props.build_info

    def cpu_s(self) -> float:
        """CPU seconds that the process has used so far, all its threads, in nanosecond steps.

        The id of another process's clock is in Linux's own encoding, as clock_getcpuclockid gives it: the complement
        of the process id above three bits, of which 2 means scheduler time.
        """
        return time.clock_gettime((~self.pid << 3) | 2)

    def complete(self, request: Request) -> Reply:
        """Ask it; see :meth:`ci.llama.client.Client.complete`."""
        return self.client.complete(request)

    def require_as_asked(self) -> None:
        """Refuse to measure a server that runs something smaller than asked.

        Raises:
            ServerUnlike: quotes the log lines.
        """
        if self.degraded:
            raise ServerUnlike(f"{self.log_path}: the server changed the work:\n    " + "\n    ".join(self.degraded))

    @classmethod
    @contextlib.contextmanager
    def start(
        cls,
        build: Path,
        scenario: Scenario,
        *,
        log_dir: Path,
        env: Mapping[str, str] | None = None,
        deadline_s: float = DEADLINE_S,
        expect_build: str | None = None,
        pick_port: Callable[[], int] = free_port,
    ) -> Iterator["LlamaServer"]:
        """Start a server, wait until it is ready and proved ours, stop it when the block ends.

        Args:
            build: flat folder with the program and its libraries.
            scenario: what to run.
            log_dir: where its log goes.
            env: variables beside the scrubbed environment; the caller's LLAMA_ARG_* never pass otherwise.
            deadline_s: seconds until it must be ready.
            expect_build: build label that it must report, such as `b11434-speed.1`; None accepts any.
            pick_port: gives a port to try.

        Raises:
            ServerProblem: the program is missing, or the port was taken on every try.
            ServerDied: ended while loading; with its exit code or signal and the end of its log.
            ServerLate: not ready before the deadline.
            ForeignServer: something else answers on its port.
            ServerUnlike: slots or context are not those asked for.
        """
        _require_files(build, scenario)
        extra = {**scenario.device.env, **(env or {})}
        log_dir.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            child, client, port = _started(
                stack, build, scenario, log_dir, scrubbed_env(extra=extra), deadline_s, pick_port
            )
            props = client.props()
            require_ours(props, scenario, alias=str(client.model), expect_build=expect_build)
            require_alive(child)
            yield cls(scenario=scenario, client=client, props=props, log_path=child.log, pid=child.pid, port=port)


def _require_files(build: Path, scenario: Scenario) -> None:
    for path in (build / SERVER_PROGRAM, scenario.model, *([scenario.draft] if scenario.draft else [])):
        if not path.is_file():
            raise ServerProblem(
                f"{path}: no such file, needed for scenario {scenario.name!r}", hint="./noxw -s build-cpu"
            )


def _started(
    stack: contextlib.ExitStack,
    build: Path,
    scenario: Scenario,
    log_dir: Path,
    env: Mapping[str, str],
    deadline_s: float,
    pick_port: Callable[[], int],
) -> tuple[Running, Client, int]:
    """A server that is ready; tries another port when the first one was taken between choice and use."""
    for _ in range(PORT_TRIES):
        port, alias = pick_port(), f"speedfork-{secrets.token_hex(8)}"
        argv = server_argv(scenario, build, port, alias=alias)
        attempt = contextlib.ExitStack()
        with attempt:
            child = attempt.enter_context(Running(argv, env=env, log=log_dir / f"{scenario.name}-{alias}.log"))
            client = attempt.enter_context(Client(f"http://{LOOPBACK}:{port}", model=alias))
            if _ready(child, client, deadline_s):
                stack.push(attempt.pop_all())
                return child, client, port
    raise ServerProblem(f"no free port in {PORT_TRIES} tries for scenario {scenario.name!r}: each was taken at once")


def _ready(child: Running, client: Client, deadline_s: float) -> bool:
    """Wait until the child serves: True; False when its port was taken by something else."""
    until = time.monotonic() + deadline_s
    while True:
        health = client.health()
        if child.exit_code() is not None and PORT_TAKEN in child.log_tail():
            return False
        require_alive(child)
        if health is Health.READY and _is_bound(child, client):
            return True
        if time.monotonic() >= until:
            raise ServerLate(f"not ready after {deadline_s:g} s ({health.value}); {_log_of(child)}")
        time.sleep(POLL_S)


def _is_bound(child: Running, client: Client) -> bool:
    """Whether the READY came from our child: a foreign server is ready while ours still finds its port taken.

    Raises:
        ForeignServer: our child lives on, yet another server answers.
    """
    try:
        foreign = client.props().model_alias != client.model
        reason = f"{client.base_url} is served by another llama-server"
    except ForeignServer as strange:
        foreign, reason = True, strange.message
    if not foreign:
        return True
    time.sleep(1.0)  # ours is about to say "couldn't bind"
    if child.exit_code() is None:
        raise ForeignServer(f"{reason}; {_log_of(child)}")
    return False


def require_alive(child: Running) -> None:
    """Refuse to go on with a child that ended.

    Raises:
        ServerDied: with its exit code or signal and the end of its log.
    """
    code = child.exit_code()
    if code is not None:
        how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        raise ServerDied(f"llama-server ended by itself ({how}); {_log_of(child)}")


def _log_of(child: Running) -> str:
    lines = "".join(f"\n    {line}" for line in child.log_tail().splitlines()) or "\n    (nothing)"
    return f"log {child.log}:{lines}"


def require_ours(props: Props, scenario: Scenario, *, alias: str, expect_build: str | None) -> None:
    """Compare what a server says about itself with what was asked.

    Raises:
        ForeignServer: alias, model path or build are not ours.
        ServerUnlike: slots or context are not those asked for.
    """
    identity = {"model_alias": (props.model_alias, alias), "model_path": (props.model_path, str(scenario.model))}
    for field, (found, wanted) in identity.items():
        if found != wanted:
            raise ForeignServer(f"another server answers: /props {field} is {found!r}, expected {wanted!r}")
    if expect_build is not None and not names_build(props.build_info, expect_build):
        raise ForeignServer(
            f"another build answers: /props build_info is {props.build_info!r}, expected {expect_build!r}"
        )
    sizes = {"total_slots": (props.total_slots, scenario.slots), "n_ctx": (props.n_ctx, scenario.ctx)}
    for field, (number, asked) in sizes.items():
        if number != asked:
            raise ServerUnlike(f"scenario {scenario.name!r}: /props {field} is {number}, asked for {asked}")


def names_build(build_info: str, label: str) -> bool:
    """Whether a server's `build_info` is that of a build of ours: `<tag>-<label>`, exactly.

    llama.cpp reports `b<number>-<commit>`; our builds, stock too, have their label for a commit, and a label begins
    with the tag: `b11434-b11434` and `b11434-b11434-speed.1`. An upstream commit id is somebody else's build.
    """
    return build_info == f"{label.partition('-')[0]}-{label}"


def degraded_lines(log: str, *, gpu_layers: int, models: int = 1) -> tuple[str, ...]:
    """Lines of a server log which say that context, layers or speculation are less than asked.

    Args:
        log: the log so far.
        gpu_layers: layers asked for on the device; a log that does not say how many are there is less than asked.
        models: how many models were loaded: each says its layers.
    """
    lines = log.splitlines()
    found = [line for line in lines if DEGRADED.search(line) or _fewer_layers(line, gpu_layers)]
    if not gpu_layers:
        return tuple(found)
    said = sum(OFFLOADED.search(line) is not None for line in lines)
    silent = f"{said} of {models} models say how many of their layers are on the device"
    return (*found, *(line for line in lines if NO_DEVICE in line), *([silent] if said < models else []))


def _fewer_layers(line: str, gpu_layers: int) -> bool:
    found = OFFLOADED.search(line)
    return found is not None and int(found[1]) < min(gpu_layers, int(found[2]))
