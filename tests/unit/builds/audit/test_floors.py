"""The floor over every file, compared as numbers; odd names are named."""

from dataclasses import replace

import pytest

from ci.builds.audit.floors import glibc, libstdcxx
from ci.builds.audit.values import Bundle
from ci.builds.elf_facts import SymbolVersion
from ci.outcome import Verdict
from tests.helpers.bundles import PROMISE, TARGET, sound, strange, the, verdict_of, with_elf


def asking(*versions: str, file: str = "libggml-base.so.0") -> Bundle:
    demands = tuple(SymbolVersion(library="libx.so", version=version, symbol=f"f_{version}") for version in versions)
    return with_elf(file, versions=demands)


def test_the_newest_of_all_files_is_named_with_its_symbol() -> None:
    (finding,) = glibc(asking("GLIBC_2.9", "GLIBC_2.31", "GLIBC_2.4"))
    assert finding.verdict is Verdict.PASS
    assert finding.found == "GLIBC_2.31 (f_GLIBC_2.31 in libggml-base.so.0)"
    assert finding.expected == "GLIBC_2.31 or older"


@pytest.mark.parametrize("version", ["GLIBC_2.32", "GLIBC_2.38", "GLIBC_3.0", "GLIBC_2.31.1", "GLIBC_ABI_DT_RELR"])
def test_a_newer_c_library(version: str) -> None:
    finding = the(glibc(asking("GLIBC_2.9", version)))
    assert finding.file == "libggml-base.so.0"
    assert finding.found == f"{version} for f_{version}"
    assert finding.words == "of libx.so"


def test_relative_relocations_are_fine_where_the_floor_has_them() -> None:
    bundle = replace(asking("GLIBC_ABI_DT_RELR"), target=replace(TARGET, promise=replace(PROMISE, glibc="2.36")))
    assert verdict_of(glibc(bundle)) is Verdict.PASS


@pytest.mark.parametrize("version", ["GLIBCXX_3.4.29", "GLIBCXX_3.4.32", "CXXABI_1.3.13", "GCC_12.0.0"])
def test_a_newer_libstdcxx(version: str) -> None:
    assert the(libstdcxx(asking("GLIBCXX_3.4.9", version))).found == f"{version} for f_{version}"


@pytest.mark.parametrize("version", ["GLIBCXX_3.4.28", "GLIBCXX_3.4.9", "CXXABI_1.3.12", "CXXABI_TM_1", "GCC_7.0.0"])
def test_as_old_as_promised(version: str) -> None:
    assert verdict_of(libstdcxx(asking(version))) is Verdict.PASS


def test_a_private_name_fits_no_other_system() -> None:
    for bundle in (asking("GLIBC_PRIVATE"), strange(asking("GLIBC_PRIVATE"))):
        assert "private" in the(glibc(bundle)).words


def test_an_odd_name_is_unproven_and_named() -> None:
    assert the(glibc(asking("GLIBC_NEXT")), Verdict.UNPROVEN).found == "GLIBC_NEXT for f_GLIBC_NEXT"
    assert the(libstdcxx(asking("CXXABI_ODD")), Verdict.UNPROVEN).found == "CXXABI_ODD for f_CXXABI_ODD"


def test_a_family_whose_floor_nobody_knows_is_unproven() -> None:
    target = replace(TARGET, promise=replace(PROMISE, glibcxx="9.9.9"))
    finding = the(libstdcxx(replace(asking("CXXABI_1.3.1"), target=target)), Verdict.UNPROVEN)
    assert finding.expected == "a known floor of CXXABI"


def test_versions_of_other_libraries_do_not_count() -> None:
    assert verdict_of(glibc(asking("libcudart.so.13", "OPENSSL_99"))) is Verdict.PASS


def test_no_floor_is_promised_for_the_machine_that_builds() -> None:
    target = replace(TARGET, promise=replace(PROMISE, glibc="", glibcxx=""))
    bundle = replace(asking("GLIBC_2.99"), target=target)
    (finding,) = glibc(bundle)
    assert (finding.verdict, finding.expected) == (Verdict.PASS, "the system that built it: no promise")
    assert finding.found.startswith("GLIBC_2.99")
    assert the(glibc(replace(asking("GLIBC_PRIVATE"), target=target))).verdict is Verdict.FAIL


def test_a_stranger_gets_figures() -> None:
    finding = the(glibc(strange(asking("GLIBC_2.38"))), Verdict.UNPROVEN)
    assert finding.found == "GLIBC_2.38 (f_GLIBC_2.38 in libggml-base.so.0)"
    assert the(libstdcxx(strange(sound())), Verdict.UNPROVEN).found == "no GLIBCXX; no CXXABI; no GCC"
