"""Drift at the gates: what changed silently under the patches, and the proof that it asks for.

A patch that applies without a conflict may still be wrong when upstream changed a declaration that it uses. Either
somebody looked at the change and says so in the patch (`Drift-Ack`), or parity must pass: UNPROVEN is not enough.
"""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from ci.errors import DriftRefuted, DriftUnproven
from ci.git import Git
from ci.outcome import GateResult, JsonMap, Verdict
from ci.release.manifest import DriftEntry
from ci.series.drift.drifting import PatchDrift, find_drift
from ci.series.drift.drifts import Drift, text_diff
from ci.series.drift.pending import Pending, load_pending, merge_pending
from ci.series.order import Series
from ci.stage import Context
from ci.stages.values import Rebased
from ci.upstream.tags import BuildTag


def drift_entries(
    git: Git, series: Series, onto: BuildTag, *, applied: Collection[str], patches_dir: Path
) -> tuple[DriftEntry, ...]:
    """The drift under the patches that are on the aim: what the queue carries, and what came with this move.

    Args:
        git: the history, with base and aim.
        series: the queue, as it stands on its base.
        onto: the aim.
        applied: ids of the patches that the aim did not make unnecessary.
        patches_dir: where `drift.toml` lies, if there is one.

    Raises:
        ConfigProblem: `drift.toml` is not what we write.
    """
    kept = replace(series, patches=tuple(patch for patch in series.patches if patch.id in applied))
    found = find_drift(git, kept, onto)
    pending = merge_pending(load_pending(patches_dir), found, kept, onto)
    entries = (*(_open(entry) for entry in pending), *_closed(found, kept.base.tag, onto))
    return tuple(sorted(entries, key=lambda entry: kept.ids.index(entry.patch)))


def _open(pending: Pending) -> DriftEntry:
    return _entry(pending.patch_id, pending.drift, pending.since, pending.until, acknowledged=False)


def _closed(found: tuple[PatchDrift, ...], since: BuildTag, until: BuildTag) -> tuple[DriftEntry, ...]:
    return tuple(
        _entry(patch.patch_id, drift, since, until, acknowledged=True)
        for patch in found
        for drift in patch.acknowledged
    )


def _entry(patch_id: str, drift: Drift, since: BuildTag, until: BuildTag, *, acknowledged: bool) -> DriftEntry:
    return DriftEntry(
        patch=patch_id,
        declaration=drift.declaration,
        kind=drift.kind.value,
        path=drift.path,
        why=drift.why,
        since=str(since),
        until=str(until),
        diff=text_diff(drift.before, drift.after),
        acknowledged=acknowledged,
    )


def unacknowledged(context: Context) -> tuple[DriftEntry, ...]:
    """The drift that nobody looked at."""
    return tuple(entry for entry in context.value(Rebased).drift if not entry.acknowledged)


def parity_verdict(context: Context) -> Verdict:
    """What the parity stage said; UNPROVEN where it said nothing."""
    verdicts = (outcome.verdict for outcome in context.outcomes if outcome.stage == "parity")
    return next(verdicts, None) or Verdict.UNPROVEN


def inputs(context: Context) -> JsonMap:
    """What `proof` depends on: nothing where there is no drift to be proved harmless."""
    entries = unacknowledged(context)
    return {
        "entries": [entry.model_dump(mode="json") for entry in entries],
        "parity": parity_verdict(context).value if entries else None,
    }


def proof(context: Context) -> tuple[GateResult, ...]:
    """The gate that parity answers for the drift; none where there is no drift to be proved harmless.

    Raises:
        DriftUnproven: parity is UNPROVEN.
        DriftRefuted: parity is FAIL.
    """
    entries, verdict = unacknowledged(context), parity_verdict(context)
    if not entries:
        return ()
    if verdict is not Verdict.PASS:
        raise _refusal(entries, verdict)
    return (
        GateResult(
            gate="drift",
            verdict=Verdict.PASS,
            reason=f"{len(entries)} declaration(s) changed under the commits and nobody looked; parity passed",
            evidence={"declarations": [f"{entry.patch}: {entry.place}" for entry in entries]},
        ),
    )


def _refusal(entries: tuple[DriftEntry, ...], verdict: Verdict) -> DriftUnproven | DriftRefuted:
    """Names every patch and declaration, and both ways out."""
    listed = "".join(f"\n    {entry.patch}: {entry.place}: {entry.why}" for entry in entries)
    acks = "".join(f"\n    {entry.patch}: Drift-Ack: {entry.declaration} {entry.until}" for entry in entries)
    kind = DriftRefuted if verdict is Verdict.FAIL else DriftUnproven
    return kind(
        f"parity is {verdict.value}, and upstream changed without a conflict what patches use; nothing was packed"
        f"{listed}",
        hint="get parity to PASS (invoke pipeline --from parity), or look at each change and add its trailer to the "
        f"message of its patch:{acks}",
    )
