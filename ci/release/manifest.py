"""The release manifest: what a release is made of (`fixed`) and what was found out about it (`measured`).

`fixed` is the same wherever the same inputs are built with the same compiler and Python's zlib (which packs the
archives); its digest names the release's content.
`measured` holds verdicts, figures, times and the machine, and differs from run to run.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from ci.config import Field, Model, Sha256, parse
from ci.digest import digest_json
from ci.errors import ConfigProblem, UsageProblem
from ci.outcome import GateResult, JsonMap, JsonValue, Verdict
from ci.release.version import ReleaseId

SOURCE_TARGET = "source"
"""`target` of an archive that holds the patched sources instead of binaries."""

ObjectId = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,199}$")]
Text = Annotated[str, Field(min_length=1)]


class UpstreamPin(Model):
    """The upstream build a release stands on: tag and git tree (and its real commit, where known)."""

    tag: Text
    tree: ObjectId
    commit: ObjectId | None = None


class PatchEntry(Model):
    """One speed commit of the release: `subject` and `about` are its message without trailers.

    `state` says whether the commit is in the release, or was left out because upstream already contains it.
    `resolutions` are the conflicts (git's rerere ids) that were settled as recorded in the fork.
    """

    id: Text
    subject: Text
    about: str = ""
    feature: Text
    numerics: Text
    switch: str | None = None
    targets: tuple[str, ...] = ()
    state: Literal["applied", "absorbed"] = "applied"
    resolutions: tuple[ObjectId, ...] = ()
    sha256: Sha256


class ArchiveEntry(Model):
    """One file to download.

    `label` is what the binaries call themselves: the release id, or the upstream tag for stock. `content_digest`
    names what was packed: the build's digest over its files, or the git tree of the sources.
    """

    name: FileName
    size: Annotated[int, Field(gt=0)]
    sha256: Sha256
    target: Text
    label: Text
    content_digest: ObjectId


class ModelEntry(Model):
    """A model the evidence was gathered with.

    `sha256` is that of the file; of a generated pair, that of the canonical JSON of its GGUF files' digests by name.
    """

    id: Text
    sha256: Sha256


class Fixed(Model):
    """The deterministic part: equal inputs give equal bytes here."""

    release: Text
    upstream: UpstreamPin
    base_tag: Text
    speed_tree: ObjectId
    recipe: Text
    compiler: Text
    patches: tuple[PatchEntry, ...]
    archives: tuple[ArchiveEntry, ...]
    models: tuple[ModelEntry, ...]


class BuildRef(Model):
    """Which build a suite ran: its label and the digest over its files."""

    label: str
    digest: str


class Gate(Model):
    """A gate's answer as stored; :meth:`result` gives the value the rest of the package works with."""

    gate: Text
    verdict: Verdict
    reason: str
    evidence: dict[str, JsonValue] = Field(default_factory=dict)

    def result(self) -> GateResult:
        """The same answer as a :class:`GateResult`."""
        return GateResult(gate=self.gate, verdict=self.verdict, reason=self.reason, evidence=self.evidence)


class SuiteEvidence(Model):
    """What one suite (`parity`, `throughput`) left: the pair of builds it ran, gates, figures.

    A suite that broke off early left no builds, or not even its name.
    """

    suite: str
    profile: Text
    stock: BuildRef | None
    speed: BuildRef | None
    gates: tuple[Gate, ...]
    figures: dict[str, JsonValue] = Field(default_factory=dict)


class StageTime(Model):
    """How one pipeline stage went; `seconds` is wall time."""

    stage: Text
    outcome: Text
    verdict: Verdict | None = None
    seconds: Annotated[float, Field(ge=0)]


class DriftEntry(Model):
    """A declaration that a speed commit uses and upstream changed without a conflict, between two builds.

    `why` says what changed in words, `diff` line by line. `acknowledged`: the commit's trailer says that somebody
    looked at it; what nobody looked at is only released when parity passes.
    """

    patch: Text
    declaration: Text
    kind: Text
    path: Text
    why: Text
    since: Text
    until: Text
    diff: str
    acknowledged: bool = False

    @property
    def place(self) -> str:
        """The declaration, where it stands, and between which builds it changed."""
        return f"{self.kind} {self.declaration} ({self.path}), between {self.since} and {self.until}"


class Measured(Model):
    """What was found out, when, and on which machine.

    `absorbed_in` names, by commit, the first build known here that contains it.
    """

    profile: Text
    created: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")]
    machine: dict[str, str | int | float]
    suites: tuple[SuiteEvidence, ...]
    stages: tuple[StageTime, ...] = ()
    drift: tuple[DriftEntry, ...] = ()
    absorbed_in: dict[Text, Text] = Field(default_factory=dict)

    def suite(self, name: str) -> SuiteEvidence | None:
        """The evidence of one suite, or None when it left none."""
        return next((found for found in self.suites if found.suite == name), None)

    def drift_of(self, patch_id: str) -> tuple[DriftEntry, ...]:
        """What changed silently under one commit."""
        return tuple(entry for entry in self.drift if entry.patch == patch_id)


class Manifest(Model):
    """Everything a release says about itself."""

    fixed: Fixed
    measured: Measured


class Document(Model):
    """`manifest.json` as it stands on disk."""

    format: Literal[1] = 1
    fixed: Fixed
    fixed_digest: Sha256
    measured: Measured


def fixed_digest(fixed: Fixed) -> str:
    """Hex SHA-256 of the canonical JSON of the deterministic part."""
    return digest_json(fixed.model_dump(mode="json"))


def manifest_json(manifest: Manifest) -> dict[str, JsonValue]:
    """The manifest as plain JSON, with the digest of its deterministic part."""
    document = Document(fixed=manifest.fixed, fixed_digest=fixed_digest(manifest.fixed), measured=manifest.measured)
    return document.model_dump(mode="json")


def parse_manifest(data: JsonMap, *, source: str) -> Manifest:
    """Turn plain JSON into a manifest and check that its parts agree.

    Raises:
        ConfigProblem: lists every fault: shape, digest, ids that repeat or disagree.
    """
    document = parse(Document, data, source=source, hint="run the release stage again to write a new manifest")
    manifest = Manifest(fixed=document.fixed, measured=document.measured)
    faults = [*_digest_faults(document), *consistency_faults(manifest)]
    if faults:
        listed = "".join(f"\n    {fault}" for fault in faults)
        raise ConfigProblem(
            f"{source}: {len(faults)} fault(s){listed}", hint="run the release stage again to write a new manifest"
        )
    return manifest


def consistency_faults(manifest: Manifest) -> Iterator[str]:
    """What contradicts what, one sentence each."""
    fixed = manifest.fixed
    yield from _release_faults(fixed)
    yield from _repeats("fixed.patches", (patch.id for patch in fixed.patches))
    yield from _repeats("fixed.archives", (archive.name for archive in fixed.archives))
    yield from _repeats("fixed.models", (model.id for model in fixed.models))
    yield from _repeats("measured.suites", (suite.suite for suite in manifest.measured.suites))
    yield from _strangers("measured.drift", (entry.patch for entry in manifest.measured.drift), fixed.patches)
    gone = (patch for patch in fixed.patches if patch.state == "absorbed")
    yield from _strangers("measured.absorbed_in", manifest.measured.absorbed_in, gone, kind="absorbed commit")


def _release_faults(fixed: Fixed) -> Iterator[str]:
    try:
        release = ReleaseId.parse(fixed.release)
    except UsageProblem as bad:
        yield f"fixed.release: {bad.message}"
        return
    if str(release.build) != fixed.upstream.tag:
        yield f"fixed.release: {release} stands on {release.build}, but fixed.upstream.tag is {fixed.upstream.tag!r}"


def _strangers(
    where: str, named: Iterable[str], known: Iterable[PatchEntry], *, kind: str = "commit"
) -> Iterator[str]:
    strangers = set(named) - {patch.id for patch in known}
    yield from (f"{where}: {name!r} is no {kind} of this release" for name in sorted(strangers))


def _repeats(where: str, names: Iterable[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{where}: {name!r} stands there {count} times"


def _digest_faults(document: Document) -> Iterator[str]:
    found = fixed_digest(document.fixed)
    if found != document.fixed_digest:
        yield f"fixed_digest: the deterministic part has digest {found}, the file says {document.fixed_digest}"
