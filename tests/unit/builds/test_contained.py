"""What a container build gets from us before anything runs: cache, limits, environment, owner."""

import tarfile
from pathlib import Path

import pytest

from ci.builds.contained import DEADLINE_S, Maker, _as_roots, build_env, deadline_of, launchers, owner_of
from ci.builds.engine import Engine, EngineFacts
from ci.builds.recipe import SOURCE_DATE_EPOCH
from ci.builds.target import find_target
from ci.builds.toolchain.image import ToolchainImage
from ci.console import Console
from ci.errors import UsageProblem
from ci.home import Home
from tests.helpers.fake_engine import FakeEngine

GB = 1_000_000_000
TOOLCHAIN = ToolchainImage(
    id="sha256:1", digest="a" * 64, lane="cu13", identity="tools", nvcc_archs=(), base="sha256:2", cuda_from=""
)


def test_each_card_has_a_name_space_of_its_own_in_the_cache() -> None:
    spaces = [launchers(find_target(name, lane="cu13"))[-1] for name in ("sm75", "sm90", "sm120")]
    assert [space.rpartition("namespace=")[2] for space in spaces] == ["75-real", "90-real", "120a-real"]


def test_a_fresh_build_neither_reads_nor_fills_the_cache() -> None:
    cached, fresh = build_env(fresh=False), build_env(fresh=True)
    assert fresh["CCACHE_DISABLE"] == "1"
    assert "CCACHE_DISABLE" not in cached
    assert (cached["CCACHE_DIR"], cached["CCACHE_COMPILERCHECK"]) == ("/ccache", "content")
    assert not {"CCACHE_DIR", "CCACHE_STATSLOG"} & set(fresh)


def test_a_deadline_is_whole_seconds() -> None:
    assert deadline_of({}) == deadline_of({"SPEEDFORK_DEADLINE_S": ""}) == DEADLINE_S
    assert deadline_of({"SPEEDFORK_DEADLINE_S": "90"}) == 90


@pytest.mark.parametrize("words", ["0", "-1", "soon", "1.5", " 9", "٢", "604801"])
def test_another_deadline_is_refused(words: str) -> None:
    with pytest.raises(UsageProblem, match="SPEEDFORK_DEADLINE_S") as caught:
        deadline_of({"SPEEDFORK_DEADLINE_S": words})
    assert caught.value.hint == f"export SPEEDFORK_DEADLINE_S={DEADLINE_S}"


def test_nobody_removes_the_containers_of_another_home_or_target(tmp_path: Path) -> None:
    homes = [Home(root=tmp_path / name, checkout=tmp_path) for name in ("one", "two")]
    targets = [find_target("sm75", lane=lane) for lane in ("cu13", "cu12")]
    assert len({owner_of(home, target) for home in homes for target in targets}) == 4


@pytest.mark.parametrize(("mode", "expected"), [(0o600, 0o644), (0o777, 0o755), (0o4777, 0o755), (0o666, 0o644)])
def test_sources_are_roots_and_nobody_else_may_write_them(mode: int, expected: int) -> None:
    member = tarfile.TarInfo("src/x.cu")
    member.mode, member.uid, member.uname, member.mtime = mode, 1000, "me", 1.5
    sent = _as_roots(member)
    assert (sent.mode, sent.uid, sent.gid, sent.uname, sent.mtime) == (expected, 0, 0, "root", SOURCE_DATE_EPOCH)


def engine_of(address: str, memory: int) -> Engine:
    engine = FakeEngine({}, answer=lambda _: (0, ()))
    object.__setattr__(engine, "facts", EngineFacts(version="20", cpus=64, memory=memory, address=address))
    return engine


def test_memory_and_jobs_are_those_of_the_engines_machine(tmp_path: Path) -> None:
    home, far = Home(root=tmp_path, checkout=tmp_path), engine_of("tcp://far:2375", 100 * GB)
    maker = Maker.of(home, Console(), far, TOOLCHAIN, {})
    assert (maker.memory, maker.jobs, maker.keep) == (90 * GB, 64, False)
    small = Maker.of(home, Console(), engine_of("tcp://far:2375", 4 * GB), TOOLCHAIN, {"KEEP_CONTAINER": "1"})
    assert (small.jobs, small.keep) == (2, True)


def test_an_engine_here_shares_this_machines_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ci.builds.contained.usable_memory", lambda: 3 * GB)
    home = Home(root=tmp_path, checkout=tmp_path)
    maker = Maker.of(home, Console(), engine_of("unix:///var/run/docker.sock", 100 * GB), TOOLCHAIN, {})
    assert (maker.memory, maker.jobs) == (3 * GB, 2)
