"""The architecture as a test: who may import whom, and one door per library."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ci"

FOUNDATION = {"ci.errors", "ci.outcome", "ci.digest", "ci.config", "ci.gittree", "ci.law"}
"""Pure modules at the bottom that anything may import."""

DOORS = {"ci.process", "ci.dialogue", "ci.files", "ci.git", "ci.index", "ci.home", "ci.console", "ci.template"}
"""Adapters at the bottom that other adapters may import."""

SHELL = {"ci.pipeline", "ci.stage", "ci.records"}
"""With everything in `ci.stages` and `ci.verbs`: they wire the feature packages together."""

ADAPTERS = {
    "ci.builds.archive",
    "ci.builds.companion",
    "ci.builds.compare",
    "ci.builds.bare",
    "ci.builds.box",
    "ci.builds.compiler",
    "ci.builds.contained",
    "ci.builds.engine",
    "ci.builds.engine_errors",
    "ci.builds.audit.auditing",
    "ci.builds.audit.companions",
    "ci.builds.audit.opened",
    "ci.builds.elf",
    "ci.builds.harvest",
    "ci.builds.licences",
    "ci.builds.native",
    "ci.builds.package",
    "ci.builds.request",
    "ci.builds.store",
    "ci.builds.toolchain.assemble",
    "ci.builds.toolchain.base",
    "ci.builds.toolchain.image",
    "ci.builds.tree",
    "ci.gpu.bootstrap",
    "ci.gpu.carry",
    "ci.gpu.probe",
    "ci.llama.client",
    "ci.llama.server",
    "ci.machine",
    "ci.models.convert.checkpoint",
    "ci.models.convert.converting",
    "ci.models.convert.environment",
    "ci.models.convert.programs",
    "ci.models.convert.source",
    "ci.models.exact_pair",
    "ci.models.fetch",
    "ci.models.pin_hub",
    "ci.models.pinning",
    "ci.models.shelf",
    "ci.models.side_by_side",
    "ci.models.sources.asking",
    "ci.models.sources.hub",
    "ci.models.sources.hub_settings",
    "ci.models.sources.transfer",
    "ci.models.sources.wheel",
    "ci.models.header.reading",
    "ci.models.header.shards",
    "ci.release.document",
    "ci.release.notes",
    "ci.report.page",
    "ci.series.byhand.collecting",
    "ci.series.byhand.rebase_state",
    "ci.series.byhand.rerere",
    "ci.series.byhand.resolutions",
    "ci.series.byhand.worktree",
    "ci.series.drift.drifting",
    "ci.series.drift.pending",
    "ci.series.engine.fold",
    "ci.series.engine.importing",
    "ci.series.engine.merging",
    "ci.series.engine.objects",
    "ci.series.engine.picking",
    "ci.series.engine.probing",
    "ci.series.engine.proved",
    "ci.series.engine.scratch",
    "ci.series.engine.workshop",
    "ci.series.export",
    "ci.series.intake.importer",
    "ci.series.intake.linear",
    "ci.series.intake.mails",
    "ci.series.order",
    "ci.series.publishing.publish",
    "ci.series.queue",
    "ci.series.replay",
    "ci.series.review",
    "ci.upstream.fastimport",
    "ci.upstream.fidelity",
    "ci.upstream.fork",
    "ci.upstream.mirror",
    "ci.upstream.pinning",
    "ci.upstream.quarantine",
    "ci.upstream.snapshot",
    "ci.upstream.source",
}
"""Feature modules that own an outside thing; every other feature module is pure."""

DOOR_OF = {
    "subprocess": {"ci.process", "ci.dialogue"},
    "huggingface_hub": {"ci.models.sources.hub"},
    "httpx2": {"ci.models.sources.hub"},
    "requests": {
        "ci.llama.client",
        "ci.index",
        "ci.models.sources.asking",
        "ci.builds.box",
        "ci.builds.engine",
        "ci.builds.engine_errors",
    },
    "urllib3": {"ci.models.sources.asking"},
    "pydantic": {"ci.config"},
    "pydantic_core": {"ci.config"},
    "pygit2": {"ci.series.engine.objects"},
    "rich": {"ci.console"},
    "gguf": {"ci.models.exact_pair"},
    "pypi_simple": {"ci.index"},
    "jinja2": {"ci.template"},
    "matplotlib": {"ci.report.plots"},
    "filelock": {"ci.files"},
    "elftools": {"ci.builds.elf"},
    "docker": {"ci.builds.box", "ci.builds.engine", "ci.builds.engine_errors"},
    "tree_sitter": {"ci.series.drift.declarations"},
    "tree_sitter_c": {"ci.series.drift.declarations"},
    "tree_sitter_cpp": {"ci.series.drift.declarations"},
    "tree_sitter_cuda": {"ci.series.drift.declarations"},
}

OUTSIDE = {
    "subprocess",
    "requests",
    "gguf",
    "pygit2",
    "pypi_simple",
    "socket",
    "shutil",
    "tempfile",
    "urllib",
    "http",
}
"""Libraries that reach outside the process: no pure module imports them."""


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


ALL = dict(modules())
NAMES = sorted(ALL)


def own(found: set[str]) -> set[str]:
    return {name for name in found if name in ALL and name != "ci"}


def is_shell(name: str) -> bool:
    return name in SHELL or name.startswith(("ci.stages", "ci.verbs"))


def is_pure(name: str) -> bool:
    return not (is_shell(name) or name in DOORS or name in ADAPTERS)


def feature(name: str) -> str:
    return name.split(".")[1] if name.count(".") > 1 else ""


@pytest.mark.parametrize("name", NAMES)
def test_nothing_below_imports_the_shell(name: str) -> None:
    if not is_shell(name):
        assert not {other for other in own(imports(ALL[name])) if is_shell(other)}


@pytest.mark.parametrize("name", NAMES)
def test_pure_modules_import_pure_modules_only(name: str) -> None:
    if is_pure(name):
        found = imports(ALL[name])
        assert not {other for other in own(found) if not is_pure(other)}
        assert not {library for library in found if library.split(".")[0] in OUTSIDE}


@pytest.mark.parametrize("name", NAMES)
def test_adapters_use_doors_pure_modules_and_their_own_package(name: str) -> None:
    if name in ADAPTERS:
        foreign = {other for other in own(imports(ALL[name])) if feature(other) != feature(name)}
        assert not {other for other in foreign if other not in DOORS and not is_pure(other)}


@pytest.mark.parametrize("library", sorted(DOOR_OF))
def test_each_library_has_one_door(library: str) -> None:
    users = {name for name, path in ALL.items() if library in {found.split(".")[0] for found in imports(path)}}
    assert users <= DOOR_OF[library]


def test_every_named_module_exists() -> None:
    assert set(ALL) >= (FOUNDATION | DOORS | SHELL | ADAPTERS)


def test_packages_are_found_by_setuptools() -> None:
    folders = {path.parent for path in ALL.values()}
    assert {folder for folder in folders if not (folder / "__init__.py").is_file()} == set()
