"""Deliberately wrong archives of real programs: each rule finds its own fault, and nothing else is found."""

import json
import shutil
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ci.builds.audit.auditing import audit_archive
from ci.builds.audit.values import AuditReport, Finding
from ci.builds.recipe import recipe_for
from ci.builds.store import BUILD_JSON, BuildKey, put
from ci.builds.target import Target
from ci.files import sha256_file
from ci.home import Home
from ci.outcome import Verdict
from tests.helpers.bundles import LANE, PROMISE, TARGET, TEXTS
from tests.helpers.made_elf import SOUND, made_device_library, made_library, made_old_library, made_program

LABEL = "b7-speed.1"
SAYS = f'#include <stdio.h>\nint main(void) {{ puts("version: 7 (build 7, commit {LABEL})"); return 0; }}'
SM75 = replace(TARGET, promise=replace(PROMISE, glibc="2.60", glibcxx="3.4.30"))
SM120 = replace(TARGET, promise=replace(PROMISE, sass=("sm_120a",), glibc="2.60", glibcxx="3.4.30"))

Change = Callable[[Path], object]
"""What is done to the folder of files before it is described and packed."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a small sound archive: a program, its library, a plug-in with device code, licences."""
    folder = tmp_path_factory.mktemp("sound")
    made_program(folder / "llama-server", SAYS, flags=(*SOUND, *_with(folder, "libllama.so.0")))
    made_device_library(folder / "libggml-cuda.so", ("sm_75",), ("sm_75",))
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def _with(folder: Path, soname: str) -> tuple[str, ...]:
    library = made_library(folder / soname, "int of_llama(void) { return 7; }", soname=soname)
    return ("-Wl,--no-as-needed", str(library))


@pytest.fixture
def folder(files: Path, tmp_path: Path) -> Path:
    return shutil.copytree(files, tmp_path / "files")


def packed(
    folder: Path, *extra: tarfile.TarInfo, modes: Mapping[str, int] | None = None, described: bool = True
) -> Path:
    """An archive of the folder with its `build.json`, plus members that are no plain files."""
    source = _described(folder) if described else folder
    archive = folder.parent / "llama-b7-speed.1-bin-linux-sm75-cu13-x64.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for path in sorted(source.iterdir()):
            info = tar.gettarinfo(path, f"llama-b7/{path.name}")
            info.mode = (modes or {}).get(path.name, info.mode)
            with path.open("rb") as stream:
                tar.addfile(info, stream)
        for info in extra:
            tar.addfile(info)
    return archive


def _described(folder: Path) -> Path:
    key = BuildKey(
        variant="speed",
        label=LABEL,
        number=7,
        tree="ab" * 20,
        recipe=recipe_for(TARGET, label=LABEL, number=7),
        compiler="cc",
        target="sm75",
        lane="cu13",
        platform="x64",
        minimum_driver=LANE.minimum_driver,
    )
    home = Home(root=folder.parent / "home", checkout=folder)
    return put(home, key, {path.name: path for path in folder.iterdir()}).path


def audited(archive: Path, target: Target | None = SM75, **more: object) -> AuditReport:
    scratch = archive.parent / "scratch"
    report = audit_archive(archive, target, scratch=scratch, trust=lambda _: True, **more)  # type: ignore[arg-type]  # any keyword
    assert not scratch.exists()
    return report


def faults(report: AuditReport) -> dict[str, Finding]:
    """The worst finding of each rule that does not pass."""
    return {finding.rule: finding for finding in report.worst if finding.verdict is not Verdict.PASS}


def only(report: AuditReport, *rules: str) -> Finding:
    """The finding of the first of these rules, when exactly they fail."""
    found = faults(report)
    assert set(found) == set(rules), found
    assert report.verdict is Verdict.FAIL
    return found[rules[0]]


def test_a_sound_archive_passes(folder: Path) -> None:
    report = audited(packed(folder))
    assert faults(report) == {}
    assert report.verdict is Verdict.PASS
    assert report.subject == "sm75-cu13"
    assert report.files["libggml-cuda.so"]["sass"] == {"sm_75": 2}
    assert {f.rule: f.found for f in report.findings}["version"] == f"version: 7 (build 7, commit {LABEL})"


def test_120_is_not_120a(folder: Path) -> None:
    made_device_library(folder / "libggml-cuda.so", ("sm_120",), ("sm_120",))
    finding = only(audited(packed(folder), SM120), "sass")
    assert (finding.file, finding.found, finding.expected) == ("libggml-cuda.so", "sm_120 x2", "sm_120a")
    made_device_library(folder / "libggml-cuda.so", ("sm_120a",), ("sm_120a",))
    assert audited(packed(folder), SM120).verdict is Verdict.PASS


def test_ptx_only(folder: Path) -> None:
    made_device_library(folder / "libggml-cuda.so", ("compute_75",))
    assert only(audited(packed(folder)), "sass", "ptx").found == "PTX only: compute_75 x1"


def test_one_unit_of_many_without_an_image(folder: Path) -> None:
    made_device_library(folder / "libggml-cuda.so", ("sm_75",), ("sm_75",), ("compute_75",))
    finding = only(audited(packed(folder)), "sass", "ptx")
    assert (finding.found, finding.expected) == ("sm_75 in 2 images", "one in each of 3 compiled units")


def test_too_many_cards(folder: Path) -> None:
    made_device_library(folder / "libggml-cuda.so", ("sm_75", "sm_120"))
    assert only(audited(packed(folder)), "sass").words == "too much: sm_120"


def test_no_device_code_anywhere(folder: Path) -> None:
    made_library(folder / "libggml-cuda.so")
    assert only(audited(packed(folder)), "sass").found == "no device code anywhere"


@pytest.mark.parametrize("name", ["libcuda.so.1", "libhelp.so"])
def test_a_stand_in_for_the_driver_ships(folder: Path, name: str) -> None:
    made_library(folder / name, "int cuInit(void) { return 0; }", soname="libcuda.so.1")
    finding = only(audited(packed(folder)), "driver")
    assert (finding.file, finding.found) == (name, "it is named libcuda.so.1")


def glibc_too_new(folder: Path) -> None:
    new = made_old_library(folder.parent / "system", soname="libc.so.6", version="GLIBC_2.99", symbol="brand_new")
    source = "void brand_new(void); void g(void) { brand_new(); }"
    made_library(folder / "libllama.so.0", source, flags=(*SOUND, "-nostdlib", str(new)), soname="libllama.so.0")


def library(source: str = "", *flags: str) -> Change:
    return lambda folder: made_library(
        folder / "libllama.so.0", source, flags=(*SOUND, *flags), soname="libllama.so.0"
    )


def missing_library(folder: Path) -> None:
    gomp = made_library(folder.parent / "system/libgomp.so.1", soname="libgomp.so.1")
    library("", "-Wl,--no-as-needed", str(gomp))(folder)


def linked(*flags: str) -> Change:
    return lambda folder: made_library(folder / "libllama.so.0", flags=flags, soname="libllama.so.0")


@pytest.mark.parametrize(
    ("change", "rule", "found"),
    [
        (missing_library, "needed", "libgomp.so.1 is not found"),
        (
            library('const char *file = "/src/llama.cpp/src/llama.cpp";'),
            "build-paths",
            "/src/llama.cpp/src/llama.cpp",
        ),
        (library("", "-Wl,-z,execstack"), "hardening", "executable stack"),
        (library("", "-Wl,-z,norelro"), "hardening", "none RELRO"),
        (linked("-s", "-Wl,-z,relro,-z,lazy"), "hardening", "partial RELRO"),
        (library('__asm__(".text\\n.globl g\\ng: .quad g\\n");', "-Wl,-z,notext"), "hardening", "text relocations"),
        (linked(*SOUND[:2]), "stripped", "symbols or debug information"),
        (linked(*SOUND[:1], "-s", "-Wl,-rpath,/place/build/bin"), "runpath", "RUNPATH /place/build/bin"),
        (linked(*SOUND[:1], "-s", "-Wl,-rpath,$ORIGIN:"), "runpath", "RUNPATH $ORIGIN:"),
        (linked(*SOUND[:1], "-s", "-Wl,--disable-new-dtags,-rpath,/x/y"), "runpath", "RPATH /x/y"),
        (lambda folder: (folder / "libggml-cuda.so").unlink(), "parts", "not in the archive"),
        (lambda folder: (folder / "LICENSE").unlink(), "licences", "not in the archive"),
    ],
)
def test_a_wrong_file(folder: Path, change: Change, rule: str, found: str) -> None:
    change(folder)
    also = ("sass",) if rule == "parts" else ()
    assert only(audited(packed(folder)), rule, *also).found == found


def test_a_c_library_too_new(folder: Path) -> None:
    glibc_too_new(folder)
    finding = only(audited(packed(folder)), "glibc", "version")
    assert (finding.file, finding.found) == ("libllama.so.0", "GLIBC_2.99 for brand_new")
    assert "it does not run here" in faults(audited(packed(folder)))["version"].found


def test_a_program_that_stands_at_one_place(folder: Path) -> None:
    made_program(folder / "llama-server", SAYS, flags=(*SOUND, "-no-pie"))
    assert only(audited(packed(folder)), "hardening").found == "no PIE"


def test_a_program_that_does_not_find_its_library(folder: Path) -> None:
    made_program(folder / "llama-server", SAYS, flags=(*SOUND[:1], "-s", *_with(folder, "libllama.so.0")))
    report = audited(packed(folder))
    assert faults(report)["needed"].found == "libllama.so.0 is not found"
    assert faults(report)["version"].verdict is Verdict.UNPROVEN


def test_a_cut_library_takes_the_proof_away(folder: Path) -> None:
    whole = (folder / "libllama.so.0").read_bytes()
    (folder / "libllama.so.0").write_bytes(whole[: len(whole) // 2])
    found = faults(audited(packed(folder)))
    assert (found["readable"].verdict, found["readable"].file) == (Verdict.FAIL, "libllama.so.0")
    assert found["glibc"].verdict is found["sass"].verdict is Verdict.UNPROVEN


def member(name: str, kind: bytes = tarfile.SYMTYPE, to: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, to, 0o777 if kind == tarfile.SYMTYPE else 0o644
    return info


@pytest.mark.parametrize(
    ("extra", "rule"),
    [
        (member("llama-b7/libx.so", to="libgone.so"), "links"),
        (member("llama-b7/libx.so", to="/usr/lib/libx.so"), "links"),
        (member("llama-b7/libx.so", to="../../libx.so"), "links"),
        (member("llama-b7/libcuda.so.1", to="libllama.so.0"), "driver"),
        (member("../evil", tarfile.REGTYPE), "members"),
        (member("llama-b7/pipe", tarfile.FIFOTYPE), "members"),
        (member("elsewhere/x", tarfile.SYMTYPE, to="y"), "members"),
    ],
)
def test_a_wrong_member(folder: Path, extra: tarfile.TarInfo, rule: str) -> None:
    found = faults(audited(packed(folder, extra)))
    assert found[rule].verdict is Verdict.FAIL
    if not extra.name.startswith("elsewhere"):  # with two top folders there is no telling which is the build
        assert set(found) == {rule}


def test_a_good_link_passes(folder: Path) -> None:
    assert audited(packed(folder, member("llama-b7/libllama.so", to="libllama.so.0"))).verdict is Verdict.PASS


@pytest.mark.parametrize(("name", "mode"), [("llama-server", 0o644), ("llama-server", 0o4755), ("LICENSE", 0o666)])
def test_a_wrong_mode(folder: Path, name: str, mode: int) -> None:
    found = faults(audited(packed(folder, modes={name: mode})))
    assert (found["modes"].file, found["modes"].found) == (name, f"{mode:04o}")


def test_files_that_are_not_those_of_build_json(folder: Path) -> None:
    packed(folder)
    store = next((folder.parent / "home/store").iterdir())
    (store / "LICENSE").write_text(f"{TEXTS['LICENSE']} or not", encoding="utf-8")
    finding = only(audited(packed(store, described=False)), "build.json", "version")
    assert finding.found.strip().startswith("LICENSE: sha256")


def test_an_archive_without_build_json(folder: Path) -> None:
    found = faults(audited(packed(folder, described=False)))
    assert found["build.json"].verdict is Verdict.FAIL
    assert found["version"].found == "not run: nothing tells whose program it is"


def test_a_damaged_build_json(folder: Path) -> None:
    (folder / BUILD_JSON).write_text('{"format": 1, "label": "\\u001b[31m"}', encoding="utf-8")
    found = faults(audited(packed(folder, described=False)))
    assert found["build.json"].verdict is Verdict.FAIL
    assert found["build.json"].found.isprintable()


def test_another_version(folder: Path) -> None:
    made_program(folder / "llama-server", SAYS.replace(LABEL, "b7-speed.2"))
    assert only(audited(packed(folder)), "version").found.endswith("b7-speed.2)")


def test_a_version_that_somebody_else_asked_for_counts(folder: Path) -> None:
    assert only(audited(packed(folder), version="version: 7 (b6)"), "version").found == "version: 7 (b6)"


def test_another_target_than_asked_for(folder: Path) -> None:
    assert only(audited(packed(folder), replace(SM75, name="sm90")), "build.json").found == "sm75-cu13"


def test_the_target_of_build_json_is_taken_when_none_is_named(folder: Path) -> None:
    report = audited(packed(folder), None)
    assert report.subject == "sm75-cu13"
    assert faults(report)["parts"].found == "not in the archive"


def test_findings_of_others_count(folder: Path) -> None:
    start = Finding(rule="start", verdict=Verdict.UNPROVEN, found="no engine", expected="one completion")
    report = audited(packed(folder), extra=(start,))
    assert (report.verdict, report.findings[-1]) == (Verdict.UNPROVEN, start)


def test_a_strangers_program_is_never_started(folder: Path) -> None:
    witness = folder.parent / "witness"
    source = f'#include <stdio.h>\nint main(void) {{ fopen("{witness}", "w"); return 0; }}'
    made_program(folder / "llama-server", source)
    archive = packed(folder)
    report = audit_archive(archive, SM75, scratch=archive.parent / "scratch")
    assert faults(report)["version"].found == "not run: these files are not of this machine's own store"
    assert not witness.exists()
    audited(archive)
    assert witness.exists(), "the same program writes it when it is trusted"


def test_a_strangers_program_below_a_description_of_ours_is_never_started(folder: Path) -> None:
    packed(folder)
    store = next((folder.parent / "home/store").iterdir())
    witness = folder.parent / "witness"
    (store / "llama-server").write_text(f"#!/bin/sh\necho {LABEL} >{witness}\n", encoding="utf-8")
    found = faults(audited(packed(store, described=False)))
    assert found["version"].verdict is Verdict.UNPROVEN
    assert not witness.exists()


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a": "' + "x" * 1_000_001 + '"}'], ids=["deep", "long"])
def test_a_description_that_nobody_should_read(folder: Path, content: str) -> None:
    (folder / BUILD_JSON).write_text(content, encoding="utf-8")
    assert faults(audited(packed(folder, described=False)))["build.json"].verdict is Verdict.FAIL


@pytest.mark.parametrize("name", ["n" * 300, "n\ud800", "n\0", "\x1b[31m"])
def test_a_description_with_a_name_that_no_file_can_have(folder: Path, name: str) -> None:
    about = json.loads((_described(folder) / BUILD_JSON).read_text(encoding="utf-8"))
    about["files"][name] = {"sha256": "0" * 64, "size": 1}
    (folder / BUILD_JSON).write_text(json.dumps(about), encoding="utf-8")
    assert faults(audited(packed(folder, described=False)))["build.json"].verdict is Verdict.FAIL


def test_a_top_folder_that_others_may_change(folder: Path) -> None:
    top = tarfile.TarInfo("llama-b7")
    top.type, top.mode = tarfile.DIRTYPE, 0o777
    assert only(audited(packed(folder, top)), "modes").file == "."


def test_a_strangers_archive_is_reported_and_not_passed(folder: Path) -> None:
    report = audited(packed(folder, described=False), None)
    found = faults(report)
    assert report.verdict is Verdict.UNPROVEN
    assert found["sass"].found == "libggml-cuda.so: sm_75 x2"
    assert found["glibc"].found.startswith("GLIBC_2.")
    assert {rule for rule in ("links", "modes", "runpath", "driver", "hardening") if rule in found} == set()


def _for_another_machine(library: Path) -> None:
    """The machine stands in two bytes of the header: 183 is AArch64."""
    content = library.read_bytes()
    library.write_bytes(content[:18] + b"\xb7\0" + content[20:])


def companion_files(folder: Path) -> Path:
    folder.mkdir()
    for name in LANE.companions:
        made_library(folder / name, flags=("-s", "-Wl,--disable-new-dtags,-rpath,$ORIGIN"), soname=name)
    (folder / "LICENSE-nvidia").write_text("NVIDIA End User License Agreement", encoding="utf-8")
    return folder


def described_companion(folder: Path) -> Path:
    """With the `companion.json` that fits the files."""
    files = {path.name: {"sha256": sha256_file(path), "size": path.stat().st_size} for path in folder.iterdir()}
    about = {"lane": LANE.name, "minimum_driver": LANE.minimum_driver, "files": files}
    (folder / "companion.json").write_text(json.dumps(about), encoding="utf-8")
    return folder


def test_a_companion_archive(tmp_path: Path) -> None:
    own = described_companion(companion_files(tmp_path / "cudart"))
    report = audited(packed(own, described=False), None, companions=LANE)
    assert (report.verdict, report.subject) == (Verdict.PASS, "companion libraries of cu13")


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        (lambda folder: (folder / "libcublas.so.13").unlink(), {"parts"}),
        (lambda folder: made_library(folder / "libnvblas.so.13"), {"parts"}),
        (lambda folder: made_library(folder / "libcuda.so.1"), {"parts", "driver"}),
        (lambda folder: (folder / "LICENSE-nvidia").unlink(), {"licences"}),
        (lambda folder: made_library(folder / "libcudart.so.13", soname="libcudart.so.12"), {"parts"}),
        (lambda folder: _for_another_machine(folder / "libcudart.so.13"), {"machine"}),
    ],
)
def test_a_wrong_companion_archive(tmp_path: Path, change: Change, rules: set[str]) -> None:
    own = companion_files(tmp_path / "cudart")
    change(own)
    described_companion(own)
    assert set(faults(audited(packed(own, described=False), None, companions=LANE))) == rules


def test_a_companion_library_that_was_changed_afterwards(tmp_path: Path) -> None:
    own = described_companion(companion_files(tmp_path / "cudart"))
    (own / "LICENSE-nvidia").write_text("NVIDIA End User License Agreement, changed", encoding="utf-8")
    found = faults(audited(packed(own, described=False), None, companions=LANE))
    assert found["companion.json"].found == "LICENSE-nvidia has other bytes"
