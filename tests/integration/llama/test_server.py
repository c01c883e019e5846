"""Starting, proving and stopping a server, against a stand-in that misbehaves on request."""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ci import process
from ci.errors import ForeignServer, ReplyProblem, ServerDied, ServerLate, ServerProblem, ServerUnlike
from ci.llama.client import Client, Health
from ci.llama.reply import Request
from ci.llama.server import LlamaServer, free_port
from ci.llama.spec import Scenario
from tests.helpers.fake_build import fake_build

ASK = Request(prompt=(8,), n_predict=6)


@pytest.fixture
def build(tmp_path: Path) -> Path:
    return fake_build(tmp_path / "build")


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    return Scenario(name="fake", model=model, ctx=512)


@contextlib.contextmanager
def started(build: Path, scenario: Scenario, mode: str = "ok", **env: str) -> Iterator[LlamaServer]:
    settings: Mapping[str, str] = {"FAKE_MODE": mode, **env}
    log_dir = build.parent / "logs"
    with LlamaServer.start(build, scenario, log_dir=log_dir, env=settings, deadline_s=20) as server:
        yield server


@contextlib.contextmanager
def stranger() -> Iterator[int]:
    """A program of someone else's that answers 200 and ok to everything."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "15")
            self.end_headers()
            self.wfile.write(b'{"status":"ok"}')

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def gone(pid: int) -> bool:
    """Whether a process has ended (a zombie that init has not reaped yet counts as ended)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_gone(pid: int) -> bool:
    for _ in range(100):
        if gone(pid):
            return True
        time.sleep(0.05)
    return False


def test_a_server_that_starts_answers_and_leaves_nothing(build: Path, scenario: Scenario) -> None:
    with started(build, scenario) as server:
        assert server.complete(ASK).tokens == (8, 9, 10, 11, 12, 13)
        assert server.client.tokenize("abc") == (1, 2, 3)
        assert (server.degraded, server.build_info) == ((), "b11434-b11434")
        server.require_as_asked()
    assert gone(server.pid)
    assert Client(f"http://127.0.0.1:{server.port}").health() is Health.SILENT
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", server.port))


def test_a_loading_server_is_waited_for(build: Path, scenario: Scenario) -> None:
    with started(build, scenario, "loading") as server:
        assert server.client.health() is Health.READY


def test_settings_of_the_caller_do_not_leak(build: Path, scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "die")
    monkeypatch.setenv("LLAMA_ARG_CTX_SIZE", "64")
    with LlamaServer.start(build, scenario, log_dir=build.parent / "logs") as server:
        environ = Path(f"/proc/{server.pid}/environ").read_text()
    assert "LLAMA_ARG" not in environ


def test_death_while_loading_tells_the_code_and_the_log(build: Path, scenario: Scenario) -> None:
    with pytest.raises(ServerDied, match=r"(?s)exit code 1.*tensor 'x' is missing"), started(build, scenario, "die"):
        pass


def test_death_by_a_signal_names_it(build: Path, scenario: Scenario) -> None:
    with pytest.raises(ServerDied, match="signal SIGSEGV"), started(build, scenario, "crash"):
        pass


def test_never_ready_ends_at_the_deadline_and_the_child_is_gone(build: Path, scenario: Scenario) -> None:
    env = {"FAKE_MODE": "deaf"}
    start = LlamaServer.start(build, scenario, log_dir=build.parent / "logs", env=env, deadline_s=0.5)
    with pytest.raises(ServerLate, match="loading"), start:
        pass
    assert not serving(build)


def serving(build: Path) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(build).encode() in (folder / "cmdline").read_bytes() and not gone(int(folder.name)):
                found.append(folder.name)
    return found


@pytest.mark.parametrize("mode", ["stubborn", "chatty"])
def test_a_server_that_ignores_term_or_floods_its_log_is_stopped(
    build: Path, scenario: Scenario, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process.stop_group, "__kwdefaults__", {"grace": 0.5})
    with started(build, scenario, mode) as server:
        assert len(server.complete(ASK).tokens) == 6
    assert gone(server.pid)
    assert (server.log_path.stat().st_size > 1_000_000) is (mode == "chatty")


def test_grandchildren_are_stopped_too(build: Path, scenario: Scenario, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with started(build, scenario, "family", FAKE_PIDS=str(pids)):
        family = [int(pid) for pid in pids.read_text().split()]
        assert not any(gone(pid) for pid in family)
    assert all(wait_gone(pid) for pid in family)


def test_an_error_inside_the_block_stops_the_server(build: Path, scenario: Scenario) -> None:
    with pytest.raises(KeyboardInterrupt), started(build, scenario) as server:
        raise KeyboardInterrupt
    assert gone(server.pid)


def test_a_taken_port_is_left_for_another_and_the_stranger_lives(build: Path, scenario: Scenario) -> None:
    with stranger() as taken:
        ports = iter([taken, taken, free_port()])
        log_dir = build.parent / "logs"
        with LlamaServer.start(build, scenario, log_dir=log_dir, pick_port=lambda: next(ports)) as server:
            assert server.port != taken
            assert server.complete(ASK).tokens[0] == 8
        assert Client(f"http://127.0.0.1:{taken}").health() is Health.READY


def test_a_port_that_is_always_taken_is_an_error(build: Path, scenario: Scenario) -> None:
    with stranger() as taken:
        start = LlamaServer.start(build, scenario, log_dir=build.parent / "logs", pick_port=lambda: taken)
        with pytest.raises(ServerProblem, match="no free port in 4 tries"), start:
            pass


def test_a_server_with_the_same_model_on_the_port_is_not_taken_for_ours(build: Path, scenario: Scenario) -> None:
    with started(build, scenario) as older:
        start = LlamaServer.start(build, scenario, log_dir=build.parent / "logs", pick_port=lambda: older.port)
        with pytest.raises(ServerProblem, match="no free port"), start:
            pass
        assert older.complete(ASK).tokens


def test_a_stranger_beside_our_waiting_child_is_refused(build: Path, scenario: Scenario) -> None:
    (build / "llama-server").write_text("#!/bin/sh\nexec sleep 600\n")
    with stranger() as taken:
        start = LlamaServer.start(build, scenario, log_dir=build.parent / "logs", pick_port=lambda: taken)
        with pytest.raises(ForeignServer, match="no llama-server"), start:
            pass


@pytest.mark.parametrize(
    ("mode", "kind", "words"),
    [
        ("model", ForeignServer, "model_path is '/elsewhere/model.gguf'"),
        ("slots", ServerUnlike, "total_slots is 4, asked for 1"),
        ("context", ServerUnlike, "n_ctx is 256, asked for 512"),
    ],
)
def test_a_server_unlike_the_request_is_refused(
    build: Path, scenario: Scenario, mode: str, kind: type[ServerProblem], words: str
) -> None:
    with pytest.raises(kind, match=words), started(build, scenario, mode):
        pass


def test_another_build_is_refused(build: Path, scenario: Scenario) -> None:
    start = LlamaServer.start(build, scenario, log_dir=build.parent / "logs", expect_build="b11434-speed.1")
    with pytest.raises(ForeignServer, match=r"expected 'b11434-speed.1'"), start:
        pass


def test_a_shrunk_context_in_the_log_invalidates_the_run(build: Path, scenario: Scenario) -> None:
    with started(build, scenario, "shrunk") as server, pytest.raises(ServerUnlike, match="context size reduced"):
        server.require_as_asked()


def test_an_empty_reply_does_not_count(build: Path, scenario: Scenario) -> None:
    with started(build, scenario, "empty") as server, pytest.raises(ReplyProblem):
        server.complete(ASK)


def test_a_reply_of_another_server_does_not_count(build: Path, scenario: Scenario) -> None:
    with (
        started(build, scenario) as server,
        Client(server.client.base_url, model="speedfork-else") as other,
        pytest.raises(ReplyProblem, match="expected 'speedfork-else'"),
    ):
        other.complete(ASK)


@pytest.mark.parametrize("name", ["llama-server", "model"])
def test_missing_files_are_named_before_anything_starts(build: Path, scenario: Scenario, name: str) -> None:
    missing = build / name if name == "llama-server" else scenario.model
    missing.unlink()
    with pytest.raises(ServerProblem, match=f"{missing}: no such file"), started(build, scenario):
        pass


def test_a_silent_port_is_a_server_problem() -> None:
    client = Client(f"http://127.0.0.1:{free_port()}")
    assert client.health() is Health.SILENT
    with pytest.raises(ServerProblem, match="no answer"):
        client.complete(ASK)


def test_a_stranger_is_not_asked_to_complete(build: Path) -> None:
    assert os.access(build / "llama-server", os.X_OK)
    with stranger() as port, pytest.raises(ReplyProblem), Client(f"http://127.0.0.1:{port}", model="m") as client:
        client.complete(ASK)
