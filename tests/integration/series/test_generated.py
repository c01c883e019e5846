"""Generated histories against plain git: values, import and export, rebase.

150 histories each, always the same ones for the same code (`derandomize`, no example database), so that a run of the
tests says the same everywhere. `nox -s fuzz-series` draws thousands of others.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, event, given, settings

from tests.helpers.generated import History, histories
from tests.helpers.generated_repository import Built, build
from tests.helpers.series_laws import Seen, check_import, check_rebase, check_values

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
