"""Wheels into a tar file: what goes where, and what is refused."""

import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.builds.toolchain.assemble import MTIME, write_context, write_label_context
from ci.builds.toolchain.lock import Parts
from ci.errors import ConfigProblem
from tests.helpers.wheels import TERMS, make_wheel, parts_of

CUDA = {
    "nvidia/cu13/bin/nvcc": b"nvcc",
    "nvidia/cu13/lib/libx.so.13": b"x",
    "nvidia/cu13/include/a/b.h": b"b",
    **TERMS,
}
TAKE = {"nvidia/cu13/": "cuda/"}


def context(folder: Path, parts: Parts, paths: Mapping[str, Path]) -> Path:
    path = folder / "context.tar"
    write_context(path, "FROM base\n", parts, paths)
    return path


def one(folder: Path, members: Mapping[str, bytes], **more: object) -> Path:
    project = str(more.get("project", "nvidia-cuda-nvcc"))
    modes = more.get("modes")
    assert modes is None or isinstance(modes, Mapping)
    wheel, path = make_wheel(folder, members, take=TAKE, project=project, modes=modes)
    return context(folder, parts_of(wheel, links={"cuda/lib64": "lib"}), {wheel.file: path})


def members(path: Path) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(path) as tar:
        return {member.name: member for member in tar.getmembers()}


def test_files_get_their_places_below_opt(tmp_path: Path) -> None:
    with tarfile.open(one(tmp_path, {**CUDA, "nvidia/__init__.py": b""})) as tar:
        contents = {m.name: content.read() for m in tar if (content := tar.extractfile(m)) and m.isfile()}
    stub = contents.pop("root/opt/stub/libcuda.c")
    assert b"int cuMemMap(void)" in stub
    assert contents == {
        "Dockerfile": b"FROM base\n",
        "root/opt/cuda/bin/nvcc": b"nvcc",
        "root/opt/cuda/lib/libx.so.13": b"x",
        "root/opt/cuda/include/a/b.h": b"b",
        "root/opt/cuda/licenses/nvidia-cuda-nvcc/License.txt": b"terms",
    }


def test_licences_of_tools_stand_beside_those_of_cuda(tmp_path: Path) -> None:
    assert "root/opt/licenses/ninja/License.txt" in members(one(tmp_path, CUDA, project="ninja"))


def test_owners_modes_and_dates_are_fixed(tmp_path: Path) -> None:
    wrapper = "nvidia/cu13/nvvm/x.sh"
    found = members(one(tmp_path, {**CUDA, wrapper: b""}, modes={wrapper: 0o100750}))
    assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in found.values()} == {(0, 0, "", "", MTIME)}
    modes = {name.removeprefix("root/opt/cuda/"): oct(m.mode) for name, m in found.items()}
    assert modes["bin/nvcc"] == modes["nvvm/x.sh"] == modes["include/a"] == "0o755"
    assert modes["lib/libx.so.13"] == "0o644"


def test_every_folder_comes_before_what_it_holds(tmp_path: Path) -> None:
    seen: set[str] = set()
    for name, member in members(one(tmp_path, CUDA)).items():
        folder = name.rpartition("/")[0]
        assert not folder or folder in seen
        if member.isdir():
            seen.add(name)


def test_links_are_links(tmp_path: Path) -> None:
    link = members(one(tmp_path, CUDA))["root/opt/cuda/lib64"]
    assert (link.issym(), link.linkname) == (True, "lib")


def test_one_file_of_a_wheel_can_be_taken(tmp_path: Path) -> None:
    tools = {"n-1.data/scripts/ninja": b"n", "n-1.data/scripts/ninja2": b"", **TERMS}
    wheel, path = make_wheel(tmp_path, tools, take={"n-1.data/scripts/ninja": "bin/ninja"}, project="ninja")
    names = members(context(tmp_path, parts_of(wheel), {wheel.file: path}))
    assert {name for name in names if name.startswith("root/opt/bin/")} == {"root/opt/bin/ninja"}
    assert names["root/opt/bin/ninja"].mode == 0o755


def test_the_same_parts_make_the_same_bytes(tmp_path: Path) -> None:
    first = one(tmp_path, CUDA).read_bytes()
    assert one(tmp_path, CUDA).read_bytes() == first


@pytest.mark.parametrize(
    "name",
    [
        "nvidia/cu13/../../../etc/passwd",
        "nvidia/cu13//etc/passwd",
        "nvidia/cu13/./x",
        "nvidia/cu13/a\\b",
        "x-1.dist-info/licenses/../../x",
    ],
)
def test_a_member_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigProblem, match="must not be unpacked"):
        one(tmp_path, {**CUDA, name: b""})
    assert not list(tmp_path.glob("context*"))


def test_a_link_in_a_wheel_is_refused(tmp_path: Path) -> None:
    name = "nvidia/cu13/lib/libx.so"
    with pytest.raises(ConfigProblem, match=r"libx\.so.*must not be unpacked"):
        one(tmp_path, {**CUDA, name: b"/etc/passwd"}, modes={name: 0o120777})


@given(st.lists(st.sampled_from(["a", "..", ".", "", "b c", "\\", "é"]), min_size=1, max_size=5))
def test_whatever_its_name_nothing_leaves_the_tree(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("wheel")
    try:
        path = one(folder, {**CUDA, "nvidia/cu13/" + "/".join(parts): b""})
    except ConfigProblem:
        assert set(parts) & {"..", ".", "", "\\"}
        return
    for name in members(path):
        assert name in ("Dockerfile", "root", "root/opt") or name.startswith("root/opt/")
        assert not {"..", ".", ""} & set(name.split("/"))


def test_two_wheels_with_the_same_file_are_refused(tmp_path: Path) -> None:
    first, first_path = make_wheel(tmp_path, CUDA, take=TAKE, project="nvidia-a")
    second, second_path = make_wheel(tmp_path, CUDA, take=TAKE, project="nvidia-b")
    with pytest.raises(ConfigProblem, match=r"two parts .*opt/cuda/bin/nvcc"):
        context(tmp_path, parts_of(first, second), {first.file: first_path, second.file: second_path})


@pytest.mark.parametrize(("gone", "words"), [("nvidia/", "nvidia/cu13/"), ("x-1", "licenses")])
def test_a_wheel_without_what_is_taken_is_refused(tmp_path: Path, gone: str, words: str) -> None:
    with pytest.raises(ConfigProblem, match=f"has no member .*{words}"):
        one(tmp_path, {name: content for name, content in CUDA.items() if not name.startswith(gone)})


def test_a_file_that_is_no_wheel_is_refused(tmp_path: Path) -> None:
    wheel, path = make_wheel(tmp_path, CUDA, take=TAKE)
    path.write_bytes(b"no zip archive")
    with pytest.raises(ConfigProblem) as damaged:
        context(tmp_path, parts_of(wheel), {wheel.file: path})
    assert str(path) in damaged.value.message
    assert damaged.value.hint == f"rm {path}"


def test_a_build_for_labels_adds_nothing(tmp_path: Path) -> None:
    write_label_context(tmp_path / "x.tar", "sha256:12")
    with tarfile.open(tmp_path / "x.tar") as tar:
        assert tar.getnames() == ["Dockerfile"]
        content = tar.extractfile("Dockerfile")
        assert content is not None
        assert content.read() == b"FROM sha256:12\n"
