"""Generated histories against plain git: values, import and export, rebase.

150 histories each, always the same ones for the same code (`derandomize`, no example database), so that a run of the
tests says the same everywhere. `nox -s fuzz-series` draws thousands of others.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings

from tests.helpers.generated import History, Speed, histories
from tests.helpers.generated_pools import AUTHORS, BODIES, ENDINGS
from tests.helpers.generated_repository import Built, build
from tests.helpers.histories import Entry
from tests.helpers.series_laws import Seen, check_import, check_mail, check_rebase, check_values

STABLE = settings(
    max_examples=150,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)


def hold(law: Callable[[Built, Path], object], history: History, root: Path) -> object:
    """A law on one history, in a directory of its own."""
    with tempfile.TemporaryDirectory(dir=root) as place:
        return law(build(history, Path(place)), Path(place))


@STABLE
@given(history=histories())
def test_patch_files_are_read_as_git_reads_them(history: History, tmp_path: Path) -> None:
    hold(check_values, history, tmp_path)


@STABLE
@given(history=histories())
def test_import_is_git_am_and_export_is_stable(history: History, tmp_path: Path) -> None:
    hold(check_import, history, tmp_path)


def test_rebase_is_git_rebase(tmp_path: Path) -> None:
    seen: list[Seen] = []

    @STABLE
    @given(history=histories())
    def law(history: History) -> None:
        one = hold(check_rebase, history, tmp_path)
        assert isinstance(one, Seen)
        event(f"{one}")
        seen.append(one)

    law()
    total = sum(seen[1:], seen[0])
    for share in (total.conflicts, total.absorbed, total.merged, total.spliced):
        assert share > total.examples // 20, total


def test_a_file_moved_aside_in_a_merge_keeps_its_name(tmp_path: Path) -> None:
    lines = b"one\ntwo\nthree\n"
    speed = Speed(id="speed", files={b"a.c": Entry(lines + b"speed\n")})
    for upstream in ({b"a.c": Entry(b"target", "120000")}, {b"a.c/inner": Entry(b"x\n")}):
        hold(check_rebase, History(base={b"a.c": Entry(lines)}, upstream=upstream, speed=(speed,)), tmp_path)


def test_a_patch_that_turns_a_folder_into_a_file_is_imported_whole(tmp_path: Path) -> None:
    base = {b"d/inner": Entry(b"one\n"), b"a.c": Entry(b"a\n")}
    speed = Speed(id="speed", files={b"d": Entry(b"two\n"), b"a.c": Entry(b"a\n")})
    hold(check_import, History(base=base, upstream=base, speed=(speed,)), tmp_path)


@pytest.mark.parametrize("body", [*BODIES, *ENDINGS])
def test_messages_are_the_ones_that_git_reads(tmp_path: Path, body: bytes) -> None:
    speed = Speed(id="speed", files={b"a.c": Entry(b"b\n")}, body=body)
    built = build(History(base={b"a.c": Entry(b"a\n")}, upstream={b"a.c": Entry(b"a\n")}, speed=(speed,)), tmp_path)
    check_mail(built.git, built.raws[0], tmp_path)


@pytest.mark.parametrize("author", AUTHORS)
def test_authors_are_the_ones_that_git_reads(tmp_path: Path, author: bytes) -> None:
    speed = Speed(id="speed", files={b"a.c": Entry(b"b\n")}, author=author)
    built = build(History(base={b"a.c": Entry(b"a\n")}, upstream={b"a.c": Entry(b"a\n")}, speed=(speed,)), tmp_path)
    check_mail(built.git, built.raws[0], tmp_path)
