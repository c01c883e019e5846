"""Finish the release folder: manifest, notes, report, sums."""

import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from ci.builds.package import SUMS_FILE, archive_name, source_archive_name, verify_sums, write_sums
from ci.builds.store import Build, load_build
from ci.config import parse
from ci.digest import sha256_bytes
from ci.errors import ConfigProblem
from ci.files import sha256_file, write_atomic
from ci.home import Home
from ci.machine import fingerprint
from ci.outcome import JsonMap
from ci.release.document import load_evidence, read_manifest, write_manifest
from ci.release.manifest import (
    SOURCE_TARGET,
    ArchiveEntry,
    BuildRef,
    Fixed,
    Gate,
    Manifest,
    Measured,
    ModelEntry,
    PatchEntry,
    StageTime,
    SuiteEvidence,
    UpstreamPin,
    fixed_digest,
)
from ci.release.notes import render_notes
from ci.release.places import without_places
from ci.report.page import render_page
from ci.report.summary import summarise
from ci.series.order import load_series
from ci.series.patch import Patch
from ci.stage import Context, Outcome, Stage, StageResult
from ci.stages import values
from ci.stages.prove import Suite

MANIFEST, NOTES, REPORT = "manifest.json", "notes.md", "report.html"
WRITER = Suite(
    name="release",
    folder="",
    sources=("ci/release/*", "ci/report/*", "ci/stages/release.py"),
)


def plan(context: Context) -> JsonMap:
    """The archives, the evidence, and the sources of whoever writes about them."""
    packed = context.value(values.Packed)
    return {
        "archives": {name: sha256_file(packed.folder / name) for name in packed.archives},
        "evidence": {path.name: sha256_file(path) if path.is_file() else None for path in evidence_files(context)},
        "series": load_series(context.home.patches).digest,
        "rebased": context.value(values.Rebased).model_dump(mode="json"),
        "gates": [gate.to_json() for outcome in context.outcomes for gate in outcome.gates],
        "writer": WRITER.code_digest(context.home.checkout),
        "folder": str(packed.folder),
    }


def evidence_files(context: Context) -> tuple[Path, Path]:
    """Parity's and throughput's evidence."""
    return context.value(values.ParityProof).evidence, context.value(values.ThroughputProof).evidence


def run(context: Context) -> StageResult:
    """Write everything, sums last; notes and report tell what the manifest's file says.

    Raises:
        ConfigProblem: the manifest contradicts itself, or does not read back.
        DigestMismatch: a file changed while the folder was being made.
    """
    packed = context.value(values.Packed)
    (packed.folder / SUMS_FILE).unlink(missing_ok=True)  # a folder without sums is visibly unfinished
    write_manifest(packed.folder / MANIFEST, Manifest(fixed=fixed_part(context), measured=measured_part(context)))
    manifest = read_manifest(packed.folder / MANIFEST)
    write_atomic(packed.folder / NOTES, render_notes(manifest).encode())
    write_atomic(packed.folder / REPORT, render_page(manifest).encode())
    names = (*packed.archives, MANIFEST, NOTES, REPORT)
    sums = write_sums(packed.folder, names)
    verify_sums(packed.folder)
    value = values.Released(
        folder=packed.folder, fixed_digest=fixed_digest(manifest.fixed), headline=summarise(manifest).headline
    )
    return StageResult(value=value, made=(*(packed.folder / name for name in names), sums))


def fixed_part(context: Context) -> Fixed:
    """The deterministic part: the same inputs give the same bytes."""
    synced, rebased = context.value(values.Synced), context.value(values.Rebased)
    stock, speed = builds_of(context)
    series = load_series(context.home.patches)
    carried = {patch.id: patch for patch in rebased.patches}
    return Fixed(
        release=rebased.release,
        upstream=UpstreamPin(tag=synced.onto, tree=synced.onto_tree),
        base_tag=synced.base,
        speed_tree=rebased.tree,
        recipe=speed.recipe,
        compiler=speed.compiler,
        patches=tuple(patch_entry(patch, carried[patch.id]) for patch in series.patches),
        archives=archive_entries(context.value(values.Packed), stock, speed, rebased),
        models=tuple(
            ModelEntry(id=name, sha256=digest)
            for name, digest in sorted(context.value(values.Shelved).digests.items())
        ),
    )


def builds_of(context: Context) -> tuple[Build, Build]:
    """The builds that were packed: stock and speed."""
    built = context.value(values.Built)
    return load_build(built.stock), load_build(built.speed)


def patch_entry(patch: Patch, carried: values.Carried) -> PatchEntry:
    """A speed commit's story for the manifest."""
    trailers = patch.trailers
    return PatchEntry(
        id=patch.id,
        subject=patch.subject,
        about=patch.about,
        feature=trailers.feature,
        numerics=str(trailers.numerics),
        switch=trailers.switch,
        targets=trailers.targets,
        state="absorbed" if carried.state == "absorbed" else "applied",
        resolutions=carried.resolutions,
        sha256=sha256_bytes(patch.raw),
    )


def archive_entries(
    packed: values.Packed, stock: Build, speed: Build, rebased: values.Rebased
) -> tuple[ArchiveEntry, ...]:
    """The files to download, each found by its own name."""
    contents = {
        archive_name(speed): (speed.target, speed.label, speed.digest),
        archive_name(stock): (stock.target, stock.label, stock.digest),
        source_archive_name(rebased.release): (SOURCE_TARGET, rebased.release, rebased.tree),
    }
    return tuple(
        ArchiveEntry(
            name=name,
            size=(packed.folder / name).stat().st_size,
            sha256=sha256_file(packed.folder / name),
            target=target,
            label=label,
            content_digest=content,
        )
        for name, (target, label, content) in ((name, contents[name]) for name in packed.archives)
    )


def measured_part(context: Context) -> Measured:
    """What was found out, on this machine, now; folders of this machine go by their names."""
    rebased = context.value(values.Rebased)
    measured = Measured(
        profile=context.options.profile,
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        machine=dict(fingerprint()),
        suites=(*suites_of(context), archive_suite(context)),
        stages=tuple(stage_time(outcome) for outcome in context.outcomes),
        drift=rebased.drift,
        absorbed_in={patch.id: patch.build for patch in rebased.patches if patch.build},
    )
    clean = without_places(measured.model_dump(mode="json"), places_of(context.home))
    return parse(Measured, clean, source="what was measured")


def places_of(home: Home) -> Mapping[str, str]:
    """The names of this machine's folders by path, as given and with links resolved; the most telling name wins."""
    named = {
        "~": Path.home(),
        "<tmp>": Path(tempfile.gettempdir()),
        "<checkout>": home.checkout,
        "<home>": home.root,
    }
    return {
        str(spelled): name
        for name, path in named.items()
        for spelled in (path, path.resolve())
        if spelled != Path(spelled.anchor)
    }


def suites_of(context: Context) -> Iterator[SuiteEvidence]:
    """The evidence that can be read; a suite without is UNPROVEN in every summary."""
    for path in evidence_files(context):
        try:
            yield load_evidence(path)
        except ConfigProblem as problem:
            context.console.say(f"  {problem.message}", style="yellow")


def archive_suite(context: Context) -> SuiteEvidence:
    """The package stage's own gates, in the form of a suite's evidence."""
    gates = [gate for outcome in context.outcomes if outcome.stage == "package" for gate in outcome.gates]
    stock, speed = (BuildRef(label=build.label, digest=build.digest) for build in builds_of(context))
    return SuiteEvidence(
        suite="package",
        profile=context.options.profile,
        stock=stock,
        speed=speed,
        gates=tuple(Gate(**gate.to_json()) for gate in gates),
    )


def stage_time(outcome: Outcome) -> StageTime:
    """One line of the report's table of stages."""
    return StageTime(
        stage=outcome.stage, outcome=outcome.status.value, verdict=outcome.verdict, seconds=outcome.seconds
    )


STAGE = Stage(name="release", about="manifest, notes, report, sums", value=values.Released, plan=plan, run=run)
