"""One more build against the stored one: equal bytes pass, every sabotage is named, and nothing passes by absence."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ci.builds.elf import sections
from ci.builds.native import build
from ci.builds.request import BuildRequest, key_of
from ci.builds.store import BUILD_JSON, Build, put
from ci.console import Console
from ci.errors import EXIT_FAIL, EXIT_OK, NotComparable, UsageProblem
from ci.git import Git
from ci.home import Home
from ci.stage import Context, Options
from ci.verbs import rebuild
from ci.verbs.rebuild import Comparison, Request, checked_against, rebuild_check, show, stored_for
from tests.helpers.tiny_project import FILES, commit_tree, compiled, request, wrapped_compiler

CXX = Path(shutil.which("c++") or "")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path, checkout=tmp_path)


@pytest.fixture
def wanted(home: Home) -> BuildRequest:
    _, tree = commit_tree(home.history)
    return request(tree)


def store(home: Home, wanted: BuildRequest) -> Build:
    return build(Git(path=home.history), wanted, home, Console())


def check(home: Home, wanted: BuildRequest) -> Comparison:
    return checked_against(Context(home=home, console=Console(), options=Options()), wanted, stored_for(home, wanted))


def sabotaged(home: Home, wanted: BuildRequest, copy: Path, *, flip: str = "", drop: str = "") -> Build:
    """The stored build with one byte of a program's section changed, or without a file, and a list that fits."""
    made = store(home, wanted)
    shutil.copytree(made.path, copy)
    (copy / BUILD_JSON).unlink()
    if flip:
        program = copy / "llama-server"
        content = bytearray(program.read_bytes())
        content[sections(program)[flip].offset + 1] ^= 1
        program.write_bytes(content)
    if drop:
        (copy / drop).unlink()
    return put(home, key_of(wanted, made.compiler), {path.name: path for path in copy.iterdir()})


def test_one_more_build_has_the_same_bytes_and_no_cache_had_a_part_in_it(
    home: Home,
    wanted: BuildRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATH", f"{wrapped_compiler(tmp_path / 'bin', CXX, '').parent}:{CXX.parent}:/usr/bin:/bin")
    made = store(home, wanted)
    cached = sorted(str(path) for path in home.ccache.rglob("*"))
    sources = sorted(name for name in FILES if name.endswith(".cpp"))
    assert (compiled(tmp_path / "bin"), bool(cached)) == (sources, True)

    comparison = check(home, wanted)
    assert (comparison.identical, comparison.fresh_digest) == (True, made.digest)
    assert compiled(tmp_path / "bin") == sorted(2 * sources)
    assert sorted(str(path) for path in home.ccache.rglob("*")) == cached
    assert [path.name for path in home.store.iterdir()] == [made.key]
    assert show(Console(), [comparison]) == EXIT_OK
    assert capsys.readouterr().out.splitlines()[-1] == "identical=yes"


@pytest.mark.parametrize("section", [".text", ".rodata"])
def test_one_changed_byte_is_named_by_file_and_section(
    home: Home, wanted: BuildRequest, tmp_path: Path, section: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sabotaged(home, wanted, tmp_path / "copy", flip=section)
    comparison = check(home, wanted)
    (found,) = comparison.differences
    assert (found.file, found.where, "byte 0x1" in found.what) == ("llama-server", section, True)
    assert show(Console(), [comparison]) == EXIT_FAIL
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "identical=no"
    assert any("llama-server" in line and section in line for line in said[:-1])


def test_a_file_that_only_one_side_has_is_named(home: Home, wanted: BuildRequest, tmp_path: Path) -> None:
    sabotaged(home, wanted, tmp_path / "copy", drop="libtiny.so.1")
    comparison = check(home, wanted)
    assert [(one.file, one.what) for one in comparison.differences] == [("libtiny.so.1", "only in the fresh build")]
    assert not comparison.identical


def test_the_worse_of_two_decides(home: Home, wanted: BuildRequest, capsys: pytest.CaptureFixture[str]) -> None:
    good = Comparison(stored=store(home, wanted), fresh_digest="", differences=())
    good = replace(good, fresh_digest=good.stored.digest)
    bad = replace(good, fresh_digest="0" * 64)
    assert (good.identical, bad.identical) == (True, False)
    assert show(Console(), [bad, good]) == EXIT_FAIL
    assert show(Console(), []) == EXIT_FAIL
    assert capsys.readouterr().out.splitlines()[-1] == "identical=no"


def test_a_build_of_another_toolchain_is_not_comparable(home: Home, wanted: BuildRequest) -> None:
    made = store(home, wanted)
    files = {name: made.path / name for name in made.files}
    put(home, key_of(wanted, "c++ (Debian) 1.0"), files)
    shutil.rmtree(made.path)
    with pytest.raises(NotComparable, match=r"another toolchain: not comparable\n.*1\.0\n.*now: ") as caught:
        stored_for(home, wanted)
    assert caught.value.hint == "invoke build --target tiny"


def test_a_build_of_another_recipe_is_not_comparable(
    home: Home, wanted: BuildRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(home, wanted)
    monkeypatch.setattr("ci.builds.recipe.RECIPE_VERSION", 99)
    with pytest.raises(NotComparable, match="another recipe"):
        stored_for(home, wanted)


def test_a_damaged_build_and_none_at_all_are_told_apart(home: Home, wanted: BuildRequest) -> None:
    with pytest.raises(NotComparable, match="stock b7 for tiny: no such build is stored"):
        stored_for(home, wanted)
    made = store(home, wanted)
    (made.path / "llama-server").write_bytes(b"other")
    with pytest.raises(NotComparable, match="is damaged"):
        stored_for(home, wanted)


def test_without_records_nothing_is_proven(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild, "find_record", lambda stage, context: None)
    with pytest.raises(NotComparable, match="no build is stored") as caught:
        rebuild_check(home, Console(), Request(target="sm75", lane="cu13"))
    assert caught.value.hint == "invoke build --target sm75 --lane cu13"


def test_an_unknown_variant_is_refused(home: Home) -> None:
    with pytest.raises(UsageProblem, match="fast"):
        rebuild_check(home, Console(), Request(variant="fast"))
