"""The engine's moods: slow answers, lost containers, a full disk; a build's end is its exit code, nothing else."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast
from unittest.mock import Mock

import docker
import pytest
import requests
from docker import errors as docker_errors
from docker.models.containers import Container

from ci.builds.box import Box, Job
from ci.builds.engine import Engine, EngineFacts
from ci.builds.engine_errors import refused
from ci.errors import BuildLate, DiskFull, EngineMissing, EngineProblem
from tests.helpers.archives import Member, tar_bytes

QUIET: Callable[[str], None] = lambda _: None  # noqa: E731 - a name for the tests


class FakeContainer:
    """A container whose state is read from a script: an exception to raise, or (status, exit code, killed)."""

    name = "made-up"

    def __init__(
        self, *states: Exception | tuple[str, int, bool], logs: list[bytes | Exception] | None = None
    ) -> None:
        self.states = list(states)
        self.said = logs or []
        self.attrs: dict[str, object] = {}
        self.stopped = self.removed = 0

    def reload(self) -> None:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if isinstance(state, Exception):
            raise state
        self.attrs = {"State": {"Status": state[0], "ExitCode": state[1], "OOMKilled": state[2]}}

    def logs(self, **_: object) -> bytes:
        said = self.said.pop(0) if self.said else b""
        if isinstance(said, Exception):
            raise said
        return said

    def stop(self, timeout: int) -> None:
        self.stopped += 1

    def remove(self, **_: object) -> None:
        self.removed += 1


def box_of(container: FakeContainer) -> Box:
    return Box(cast("Container", container), tethered=False)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ci.builds.box.POLL_S", 0.0)


@pytest.mark.parametrize(
    "slow",
    [
        requests.ReadTimeout("60 s"),
        requests.ConnectionError(requests.ReadTimeout("60 s")),
        requests.exceptions.ChunkedEncodingError("cut"),
        requests.exceptions.JSONDecodeError("cut", "{", 1),
    ],
    ids=["plain", "wrapped", "cut", "half"],
)
@pytest.mark.parametrize("code", [0, 1])
def test_an_engine_that_answers_late_is_asked_again_and_the_exit_code_decides(slow: Exception, code: int) -> None:
    container = FakeContainer(slow, ("running", 0, False), slow, ("exited", code, False))
    ended = box_of(container).follow(QUIET, deadline_s=60)
    assert (ended.code, ended.lines) == (code, ())
    assert container.stopped == 0


def test_output_that_cannot_be_read_now_is_read_later() -> None:
    line = b"2026-11-30T22:52:05.000000001Z hello\n"
    container = FakeContainer(
        ("running", 0, False),
        ("running", 0, False),
        ("exited", 0, False),
        logs=[requests.exceptions.ChunkedEncodingError("cut"), line, line],
    )
    heard: list[str] = []
    assert box_of(container).follow(heard.append, deadline_s=60).lines == ("hello",)
    assert heard == ["hello"]


def test_a_killed_container_says_so() -> None:
    ended = box_of(FakeContainer(("exited", 137, True))).follow(QUIET, deadline_s=60)
    assert (ended.code, ended.killed_for_memory) == (137, True)


def test_at_the_deadline_it_is_stopped_once_and_reported() -> None:
    container = FakeContainer(("running", 0, False))
    with pytest.raises(BuildLate, match="not over after 0 s: made-up was stopped"):
        box_of(container).follow(QUIET, deadline_s=0)
    assert container.stopped == 1


def test_a_container_that_is_gone_is_no_success() -> None:
    with pytest.raises(EngineProblem, match="no longer has the container made-up"):
        box_of(FakeContainer(docker_errors.NotFound("gone"))).follow(QUIET, deadline_s=60)


def test_an_engine_that_answers_nothing_any_more_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ci.builds.box.SILENCE_S", -1)
    with pytest.raises(EngineProblem, match="answers nothing about made-up"):
        box_of(FakeContainer(requests.ConnectionError("refused"))).follow(QUIET, deadline_s=60)


class CutContainer(FakeContainer):
    """A container whose files come as far as the connection holds."""

    def get_archive(self, path: str) -> tuple[Iterator[bytes], object]:
        whole = tar_bytes([Member(name=b"out/a", data=bytes(5000))])
        return iter([whole[:2000]]), {}


def test_files_that_do_not_come_whole_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(EngineProblem, match="not whole"):
        box_of(CutContainer(("exited", 0, False))).fetch("/out", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_full_engine_is_a_full_disk() -> None:
    full = docker_errors.APIError("500", explanation="write /x: no space left on device")
    assert isinstance(refused("copying", full), DiskFull)
    other = docker_errors.APIError("500", explanation="no such mount")
    assert isinstance(refused("copying", other), EngineProblem)


def test_no_engine_says_where_it_was_looked_for_and_how_to_get_one(tmp_path: Path) -> None:
    address = f"unix://{tmp_path}/none.sock"
    with pytest.raises(EngineMissing, match=address) as caught:
        Engine.connect({"DOCKER_HOST": address})
    assert "apt-get install docker.io" in caught.value.hint


def test_an_engine_that_is_not_for_this_user_is_not_installed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = docker_errors.DockerException("('Connection aborted.', PermissionError(13, 'Permission denied'))")
    monkeypatch.setattr(docker.DockerClient, "from_env", Mock(side_effect=refusal))
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("docker.sock")
    with pytest.raises(EngineMissing, match="Permission denied") as caught:
        Engine.connect({"DOCKER_HOST": f"unix://{tmp_path}/docker.sock"})
    assert "usermod -aG docker" in caught.value.hint


class FakeContainers:
    """Makes one container and remembers what was asked."""

    def __init__(self, container: FakeContainer) -> None:
        self.container = container
        self.asked: dict[str, object] = {}

    def create(self, **asked: object) -> FakeContainer:
        self.asked = asked
        return self.container


@pytest.mark.parametrize("keep", [False, True])
def test_a_container_is_gone_after_an_interrupt_unless_it_shall_stay(keep: bool) -> None:
    container = FakeContainer(("running", 0, False))
    containers = FakeContainers(container)
    client = type("Client", (), {"containers": containers})()
    engine = Engine(
        client=cast("docker.DockerClient", client),
        facts=EngineFacts(version="1", cpus=1, memory=1, address="unix:///x"),
    )
    job = Job(image="i", argv=("true",), owner="o", env={}, volumes={}, memory=5)
    with pytest.raises(KeyboardInterrupt), engine.container(job, keep=keep):
        raise KeyboardInterrupt
    assert (container.stopped, container.removed) == (1, 0 if keep else 1)
    asked = containers.asked
    assert (asked["network_mode"], asked["user"], asked["cap_drop"]) == ("none", "1000:1000", ["ALL"])
    assert (asked["mem_limit"], asked["security_opt"]) == (5, ["no-new-privileges"])


def test_a_container_that_cannot_be_stopped_well_is_removed_all_the_same() -> None:
    class Stubborn(FakeContainer):
        def stop(self, timeout: int) -> None:
            raise ValueError("closed already")

    container = Stubborn(("running", 0, False))
    client = type("Client", (), {"containers": FakeContainers(container)})()
    facts = EngineFacts(version="1", cpus=1, memory=1, address="unix:///x")
    engine = Engine(client=cast("docker.DockerClient", client), facts=facts)
    job = Job(image="i", argv=("true",), owner="o", env={}, volumes={})
    with pytest.raises(ValueError, match="closed already"), engine.container(job):
        pass
    assert container.removed == 1
