"""rebase-upstream --matrix: every patch on every known build, as a table and a picture."""

from pathlib import Path

from ci.console import Console
from ci.errors import EXIT_CONFLICT, EXIT_OK
from ci.files import write_atomic
from ci.git import Git
from ci.home import Home
from ci.outcome import JsonMap
from ci.report.matrix_table import LEGEND, matrix_grids, matrix_title
from ci.report.plots import matrix_picture
from ci.series.byhand.resolutions import FOLDER, load_store
from ci.series.culprit import STOPS, Culprit, culprit
from ci.series.engine.probing import matrix_of
from ci.series.matrix import Matrix
from ci.series.order import Series
from ci.series.replay import builds_between
from ci.upstream.snapshot import load_lock
from ci.upstream.tags import BuildTag


def show(home: Home, console: Console, series: Series, onto: BuildTag) -> int:
    """Print the matrix and draw it; nothing is moved. Conflicts on the aim are exit code 3."""
    git = Git(path=home.history)
    builds = builds_between(git, series.base.tag, onto)
    with console.task("probing") as task:
        matrix = matrix_of(
            git,
            series,
            builds,
            work=home.work / "rebase",
            progress=task.update,
            resolutions=load_store(home.patches / FOLDER),
        )
    picture = home.out / f"matrix-{series.base.tag}-{onto}.svg"
    write_atomic(picture, matrix_picture(matrix))
    origins = origins_of(matrix)
    tell(console, matrix, origins, picture, missing=missing_between(series.base.tag, onto, matrix))
    console.document(document(matrix, origins, picture))
    return EXIT_CONFLICT if any(row.cumulative[-1] in STOPS for row in matrix.rows) else EXIT_OK


def origins_of(matrix: Matrix) -> dict[str, Culprit]:
    """Since when each patch that does not simply apply is in the state that it has on the aim."""
    found = ((row.patch_id, culprit(matrix.builds, row.cumulative)) for row in matrix.rows)
    return {patch_id: origin for patch_id, origin in found if origin}


def missing_between(base: BuildTag, onto: BuildTag, matrix: Matrix) -> tuple[BuildTag, ...]:
    """Pinned builds between base and aim that are not in the history."""
    return tuple(tag for tag in sorted(load_lock().by_tag()) if base < tag < onto and tag not in matrix.builds)


def tell(
    console: Console,
    matrix: Matrix,
    origins: dict[str, Culprit],
    picture: Path,
    *,
    missing: tuple[BuildTag, ...],
) -> None:
    """The tables, what the words mean, since when, and where the picture is."""
    title = matrix_title(matrix)
    for grid in matrix_grids(matrix):
        console.table(grid.headings, grid.rows, title=title)
        title = ""
    console.result(LEGEND)
    for patch_id, origin in origins.items():
        console.result(f"{patch_id}: {origin.state.value} {origin.words}")
    console.result(f"picture: {picture}")
    if missing:
        names = " ".join(f"--build {tag}" for tag in missing)
        console.result(
            f"{len(missing)} pinned build(s) between them are not fetched\nnext: invoke sync-upstream {names}"
        )
    else:
        console.result(f"next: invoke rebase-upstream --onto {matrix.builds[-1]}")


def document(matrix: Matrix, origins: dict[str, Culprit], picture: Path) -> JsonMap:
    """The machine's answer: one cell a build and patch."""
    return {
        "builds": [str(build) for build in matrix.builds],
        "patches": [
            {
                "id": row.patch_id,
                "alone": [cell.value for cell in row.alone],
                "cumulative": [cell.value for cell in row.cumulative],
                "since": origins[row.patch_id].to_json() if row.patch_id in origins else None,
            }
            for row in matrix.rows
        ],
        "picture": str(picture),
    }
