"""The native builder on a tiny real CMake project in a real git repository."""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from ci.builds.native import build
from ci.builds.store import BUILD_JSON, Build, load_build
from ci.console import Console
from ci.errors import BuildFailed, Busy, CompilerKilled, CompilerUnfit, SourceTreeProblem, ToolMissing, UsageProblem
from ci.files import exclusive
from ci.home import Home
from ci.process import Running, run, scrubbed_env
from tests.helpers.tiny_project import commit_tree, compiled, request, wrapped_compiler

CXX = Path(shutil.which("c++") or "")


def home_at(root: Path) -> Home:
    return Home(root=root, checkout=root)


def environ_with(folder: Path) -> dict[str, str]:
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def stored(home: Home) -> list[str]:
    return [path.name for path in home.store.iterdir()] if home.store.is_dir() else []


def said_by(made: Build) -> list[str]:
    return run((made.path / "llama-server",), env={"PATH": ""}).text.splitlines()


def test_a_build_is_a_flat_folder_that_runs_on_its_own(tmp_path: Path) -> None:
    git, tree = commit_tree(tmp_path / "git")
    made = build(git, request(tree, label="b7-speed.1", variant="speed"), home_at(tmp_path / "home"), Console())
    assert sorted(made.files) == [
        "LICENSE",
        "LICENSE-kit-sub",
        "LICENSE-words",
        "libplugin.so",
        "libtiny.so.1",
        "llama-server",
    ]
    assert not [path for path in made.path.iterdir() if path.is_symlink() or path.is_dir()]
    assert (made.variant, made.label, made.tag, made.tree, made.target) == ("speed", "b7-speed.1", "b7", tree, "tiny")
    assert load_build(made.path, check=True) == made
    assert said_by(made)[0] == "version: 0.1 (build 7, commit b7-speed.1)"


def test_the_same_inputs_give_the_same_bytes_in_any_folder(tmp_path: Path) -> None:
    git, tree = commit_tree(tmp_path / "git")
    made = [
        build(git, request(tree), home_at(tmp_path / name), Console()) for name in ("a", "longer home, with space")
    ]
    assert made[0].files == made[1].files
    assert (made[0].path / BUILD_JSON).read_bytes() == (made[1].path / BUILD_JSON).read_bytes()
    assert made[0].path.name == made[1].path.name == made[0].key


def test_no_folder_date_or_foreign_commit_reaches_the_binaries(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    git, tree = commit_tree(checkout)
    git("commit", "--quiet", "-m", "the user's own commit")
    made = build(git, request(tree), home_at(checkout / ".speedfork"), Console())
    assert said_by(made)[1] == "./first.cpp | Nov 14 2023 22:13:20 | seen []"
    assert not [path.name for path in made.path.iterdir() if str(tmp_path).encode() in path.read_bytes()]


def test_a_stored_build_is_not_made_again(tmp_path: Path) -> None:
    git, tree = commit_tree(tmp_path / "git")
    home = home_at(tmp_path / "home")
    first = build(git, request(tree), home, Console())
    shutil.rmtree(home.work)
    shutil.rmtree(home.ccache)
    assert build(git, request(tree), home, Console()) == first
    assert not home.work.exists()


def test_a_damaged_stored_build_is_made_again(tmp_path: Path) -> None:
    git, tree = commit_tree(tmp_path / "git")
    home = home_at(tmp_path / "home")
    first = build(git, request(tree), home, Console())
    (first.path / "llama-server").write_bytes(b"broken")
    assert build(git, request(tree), home, Console()) == first
    assert load_build(first.path, check=True) == first


def test_stock_and_speed_share_every_unchanged_object(tmp_path: Path) -> None:
    wrapped_compiler(tmp_path / "bin", CXX, "")
    home, environ = home_at(tmp_path / "home"), environ_with(tmp_path / "bin")
    git, stock_tree = commit_tree(tmp_path / "git")
    stock = build(git, request(stock_tree), home, Console(), environ=environ)
    before = compiled(tmp_path / "bin")
    git, speed_tree = commit_tree(tmp_path / "git", {"first.cpp": 'const char * first() { return "fast"; }\n'})
    speed = build(git, request(speed_tree, variant="speed"), home, Console(), environ=environ)
    assert {"first.cpp", "second.cpp", "main.cpp"} <= set(before)
    assert compiled(tmp_path / "bin").count("first.cpp") == before.count("first.cpp") + 1
    assert compiled(tmp_path / "bin").count("main.cpp") == before.count("main.cpp")
    assert stock.files["llama-server"] == speed.files["llama-server"]
    assert stock.files["libtiny.so.1"] != speed.files["libtiny.so.1"]
    assert len(stored(home)) == 2


def test_compiler_errors_are_quoted_and_nothing_is_stored(tmp_path: Path) -> None:
    git, tree = commit_tree(tmp_path / "git", {"second.cpp": "const char * second() { return missing_name; }\n"})
    home = home_at(tmp_path / "home")
    with pytest.raises(BuildFailed, match=r"second\.cpp\.o\n.*missing_name.*not declared") as caught:
        build(git, request(tree), home, Console())
    log = home.work / "build" / "tiny" / "compile.log"
    assert str(log) in caught.value.hint
    assert "missing_name" in log.read_text(encoding="utf-8")
    assert len(caught.value.message.splitlines()) < 10
    assert stored(home) == []


def test_linker_errors_are_quoted(tmp_path: Path) -> None:
    git, tree = commit_tree(tmp_path / "git", {"first.cpp": "int other() { return 1; }\n"})
    with pytest.raises(BuildFailed, match=r"llama-server\n(.*\n)*.*undefined reference to .first\(\)"):
        build(git, request(tree), home_at(tmp_path / "home"), Console())


def test_a_cmake_error_is_quoted(tmp_path: Path) -> None:
    git, tree = commit_tree(tmp_path / "git", {"CMakeLists.txt": 'message(FATAL_ERROR "tiny wants\n  more")\n'})
    with pytest.raises(BuildFailed, match=r"CMake refuses the sources\n +CMake Error at .*\n.*tiny wants"):
        build(git, request(tree), home_at(tmp_path / "home"), Console())


def test_a_program_that_is_not_built_is_named(tmp_path: Path) -> None:
    lists = "cmake_minimum_required(VERSION 3.14)\nproject(t C CXX)\nadd_custom_target(llama-server)\n"
    git, tree = commit_tree(
        tmp_path / "git", {"CMakeLists.txt": lists + "file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/bin)\n"}
    )
    with pytest.raises(BuildFailed, match="made no llama-server"):
        build(git, request(tree), home_at(tmp_path / "home"), Console())


def test_a_killed_compiler_is_reported_as_out_of_memory(tmp_path: Path) -> None:
    wrapped_compiler(tmp_path / "bin", CXX, 'if source == "second.cpp": os.kill(os.getpid(), signal.SIGKILL)')
    git, tree = commit_tree(tmp_path / "git")
    home = home_at(tmp_path / "home")
    environ = {**environ_with(tmp_path / "bin"), "SPEEDFORK_JOBS": "4"}
    with pytest.raises(CompilerKilled, match=r"out of memory.*second\.cpp\.o, with 4 job") as caught:
        build(git, request(tree), home, Console(), environ=environ)
    assert "SPEEDFORK_JOBS=2" in caught.value.hint
    assert stored(home) == []


def test_without_a_compiler_the_message_says_what_to_install(tmp_path: Path) -> None:
    git, tree = commit_tree(tmp_path / "git")
    home = home_at(tmp_path / "home")
    with pytest.raises(ToolMissing, match=r"'c\+\+'") as caught:
        build(git, request(tree), home, Console(), environ={"PATH": ""})
    assert caught.value.hint == "apt-get install g++"
    assert not home.work.exists()


def test_a_compiler_without_cpp17_is_refused_before_the_sources_are_written(tmp_path: Path) -> None:
    rule = 'if "--version" not in words and "-dumpmachine" not in words: sys.exit("error: filesystem: No such file")'
    wrapped_compiler(tmp_path / "bin", CXX, rule)
    git, tree = commit_tree(tmp_path / "git")
    home = home_at(tmp_path / "home")
    with pytest.raises(CompilerUnfit, match=r"C\+\+17 program: .*filesystem: No such file"):
        build(git, request(tree), home, Console(), environ=environ_with(tmp_path / "bin"))
    assert not (home.work / "build" / "tiny" / "src").exists()


def test_an_unknown_tree_is_named(tmp_path: Path) -> None:
    git, _ = commit_tree(tmp_path / "git")
    with pytest.raises(SourceTreeProblem, match="no tree " + "1" * 40):
        build(git, request("1" * 40), home_at(tmp_path / "home"), Console())


def test_an_impossible_number_of_jobs_is_refused(tmp_path: Path) -> None:
    git, tree = commit_tree(tmp_path / "git")
    with pytest.raises(UsageProblem, match="SPEEDFORK_JOBS='many'"):
        build(
            git,
            request(tree),
            home_at(tmp_path / "home"),
            Console(),
            environ={**os.environ, "SPEEDFORK_JOBS": "many"},
        )


def test_a_second_build_beside_the_first_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ci.builds.native.ORPHAN_WAIT_S", 0.0)
    git, tree = commit_tree(tmp_path / "git")
    home = home_at(tmp_path / "home")
    with exclusive(home.work / "build" / "tiny.lock"), pytest.raises(Busy):
        build(git, request(tree), home, Console())


DRIVER = """
import sys
from pathlib import Path
from ci.builds.native import build
from ci.console import Console
from ci.git import Git
from ci.home import Home
from tests.helpers.tiny_project import request
home = Home(root=Path(sys.argv[2]), checkout=Path(sys.argv[2]))
build(Git(path=Path(sys.argv[1])), request(sys.argv[3]), home, Console())
"""


def test_a_build_killed_half_way_ends_with_the_same_digest_and_keeps_its_objects(tmp_path: Path) -> None:
    hold = 'while source == "second.cpp" and (folder / "hold").exists(): time.sleep(0.05)'
    tools = tmp_path / "bin"
    wrapped_compiler(tools, CXX, hold)
    (tools / "hold").touch()
    git, tree = commit_tree(tmp_path / "git")
    home, environ = home_at(tmp_path / "home"), {**environ_with(tools), "SPEEDFORK_JOBS": "1"}
    argv = (sys.executable, "-c", DRIVER, str(git.path), str(home.root), tree)
    with Running(
        argv, env={**scrubbed_env(), **environ}, log=tmp_path / "log", cwd=Path(__file__).parents[3]
    ) as first:
        while compiled(tools).count("second.cpp") == 0 and first.exit_code() is None:
            time.sleep(0.05)
        os.kill(first.pid, signal.SIGKILL)
    assert stored(home) == []
    earlier = set(compiled(tools)) - {"second.cpp"}
    (tools / "hold").unlink()
    resumed = build(git, request(tree), home, Console(), environ=environ)
    assert [compiled(tools).count(name) for name in earlier] == [1] * len(earlier)
    elsewhere = build(git, request(tree), home_at(tmp_path / "other"), Console(), environ=environ)
    assert resumed.files == elsewhere.files
    assert resumed.digest == elsewhere.digest
