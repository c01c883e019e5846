"""A pipeline as far as `throughput` without compiler and model: tiny history, made builds that answer, made evidence.

Run as a program with a folder it makes the release there: the last two stages, in a process that can be killed.
"""

import random
import sys
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

from ci.builds.audit.values import AuditReport, Finding
from ci.builds.store import Build, Variant
from ci.console import Console
from ci.digest import digest_json
from ci.files import exclusive, sha256_file, write_json
from ci.home import Home
from ci.models.exact_pair import SMALL, ensure_pair
from ci.outcome import JsonValue, Verdict
from ci.pipeline import run_pipeline
from ci.release.manifest import SuiteEvidence
from ci.stage import Context, Options
from ci.stages import package, release, values
from tests.helpers import fake_llama, releases
from tests.helpers.histories import Past, changed, numbered
from tests.helpers.made_build import FILES, made_build, made_key

ONTO, RELEASE = "b7", "b7-speed.1"
SOURCE_BYTES = 4_000_000
"""Enough that packing the sources takes a moment."""

ANSWERS = """#!{python} -I
import os, sys
if "--version" in sys.argv:
    print("version: 0.1 (build 7, commit {label})")
    sys.exit()
os.environ["FAKE_BUILD"] = "b7-{label}"
"""


def made_home(root: Path) -> Home:
    """State and checkout of the release in `root`; the checkout holds the series."""
    return Home(root=root / "state", checkout=root / "checkout")


def made_context(root: Path, evidence: Mapping[str, JsonValue] | None = None) -> Context:
    """What the stages before `package` leave; equal for equal arguments, wherever `root` is.

    Args:
        root: a folder, empty or of an earlier call.
        evidence: replaces the evidence by suite name; None stands for a suite that left none.
    """
    home = made_home(root)
    past = made_history(home)
    stock, speed = answering_build(home, past, "stock"), answering_build(home, past, "speed")
    proofs = made_evidence(home, stock, speed, evidence or {})
    pair = ensure_pair(home, SMALL)
    return Context(
        home=home,
        console=Console(),
        options=Options(),
        values=(
            values.Synced(base=ONTO, base_tree=stock.tree, onto=ONTO, onto_tree=stock.tree),
            values.Shelved(digests={"exact-pair-small": digest_json(pair.digests)}),
            values.Rebased(
                release=RELEASE,
                onto=ONTO,
                head=past.tip,
                tree=speed.tree,
                patches=(values.Carried(id="one", subject="Make one fast", state="applied"),),
            ),
            values.Built(stock=stock.path, stock_digest=stock.digest, speed=speed.path, speed_digest=speed.digest),
            values.ParityProof(evidence=proofs["parity"]),
            values.ThroughputProof(evidence=proofs["throughput"]),
        ),
    )


def made_history(home: Home) -> Past:
    """Build 7, one patch on it, and the series in the checkout; the sources hold a file that does not compress."""
    past = Past(home.root)
    past.tip = past.git.resolve("refs/heads/speed") or ""
    if past.tip:
        return past
    noise = random.Random(7).randbytes(SOURCE_BYTES)  # noqa: S311 - the same bytes each time
    past.build(ONTO, {"a.txt": numbered(30), "noise": noise})
    past.patch("one", {"a.txt": changed(numbered(30), 12)})
    past.save(home.patches)
    past.git.update_ref("refs/heads/speed", past.tip, None)
    return past


def answering_build(home: Home, past: Past, variant: Variant) -> Build:
    """A stored build whose server is the stand-in: it says its version and answers as build 7."""
    label, commit = (ONTO, ONTO) if variant == "stock" else (RELEASE, past.tip)
    tree = past.git.tree_of(commit)
    assert tree is not None
    source = ANSWERS.format(python=sys.executable, label=label) + Path(fake_llama.__file__).read_text("utf-8")
    return made_build(
        home.root, made_key(variant=variant, label=label, tree=tree), {**FILES, "llama-server": source.encode()}
    )


def made_evidence(home: Home, stock: Build, speed: Build, replaced: Mapping[str, JsonValue]) -> dict[str, Path]:
    """Evidence files about these two builds, by suite."""
    sides = {
        "stock": {"label": stock.label, "digest": stock.digest},
        "speed": {"label": speed.label, "digest": speed.digest},
    }
    paths = {}
    for whole in (releases.parity(), releases.throughput()):
        name = str(whole["suite"])
        paths[name] = home.records / "evidence" / f"{name}.json"
        left = replaced.get(name, {**whole, **sides})
        paths[name].unlink(missing_ok=True)
        if left is not None:
            SuiteEvidence.model_validate(left)
            write_json(paths[name], left)
    return paths


def found_sound(_: Home, archive: Path, **__: object) -> AuditReport:
    """What an audit says of an archive that it has nothing against."""
    finding = Finding(rule="made", verdict=Verdict.PASS, found="made", expected="made")
    size = archive.stat().st_size
    digest = sha256_file(archive)
    return AuditReport(archive=archive.name, sha256=digest, size=size, subject="cpu", findings=(finding,), files={})


def make_release(root: Path, evidence: Mapping[str, JsonValue] | None = None) -> Context:
    """Run the last two stages as the pipeline does, but for the auditor: these are no builds, and it would say so."""
    context = made_context(root, evidence)
    with exclusive(context.home.lock), patch.object(package, "judged", found_sound):
        return run_pipeline((package.STAGE, release.STAGE), context)


if __name__ == "__main__":
    make_release(Path(sys.argv[1]))
