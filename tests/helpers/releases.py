"""Release manifests for tests: a realistic one, and ways to bend it."""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from ci.config import parse
from ci.outcome import JsonValue
from ci.release.manifest import Manifest

JsonObject: TypeAlias = dict[str, JsonValue]
RELEASE = "b11434-speed.3"
STOCK_DIGEST = "1" * 64
SPEED_DIGEST = "2" * 64
GAINS = (0.081, 0.078, 0.093, 0.071, 0.088, 0.064, 0.079, 0.091)


def gate(name: str, verdict: str = "PASS", reason: str = "as expected", **evidence: JsonValue) -> JsonObject:
    return {"gate": name, "verdict": verdict, "reason": reason, "evidence": evidence}


def side(digest: str, tokens_per_s: float, acceptance: float | None, per_round: float) -> JsonObject:
    return {
        "digest": digest,
        "tokens_per_s": tokens_per_s / 2,  # the machine was busy: half of each second went to others
        "cpu_ms_per_token": 1000 / tokens_per_s,
        "acceptance": acceptance,
        "tokens_per_round": per_round,
    }


def scenario(
    name: str = "real-plain",
    shift: float = 0.0,
    *,
    raw: Sequence[float] | None = None,
    claims: bool = True,
    clock: str = "cpu",
    acceptance: float | None = None,
    per_round: float = 1.0,
    **bounds: JsonValue,
) -> JsonObject:
    """The gate of one scenario with the evidence of `ci.throughput`; keywords replace parts of `log_ratio`."""
    ratios = [gain + shift for gain in GAINS] if raw is None else list(raw)
    mean = sum(ratios) / max(len(ratios), 1)
    found = {"estimate": mean, "lower": mean - 0.011, "upper": mean + 0.012, "alpha": 0.004, "n": len(ratios)}
    sides = {
        "a": side(STOCK_DIGEST, 61.2, acceptance, per_round),
        "b": side(SPEED_DIGEST, 61.2 * math.exp(mean), acceptance, per_round),
    }
    return gate(
        name,
        "PASS",
        "faster",
        claims=claims,
        clock=clock,
        log_ratio=found | bounds,
        log_ratios=ratios,
        sides=sides,
        n_pairs=8,
    )


def suite(name: str, gates: Sequence[JsonObject], figures: JsonObject | None = None, **more: JsonValue) -> JsonObject:
    evidence: JsonObject = {
        "suite": name,
        "profile": "quick",
        "stock": {"label": "b11434", "digest": STOCK_DIGEST},
        "speed": {"label": RELEASE, "digest": SPEED_DIGEST},
        "gates": list(gates),
        "figures": figures or {},
    }
    return evidence | more


def parity(verdict: str = "PASS", reason: str = "768 of 768 token ids equal") -> JsonObject:
    gates = [
        gate("real-greedy", verdict, reason, n_prompts=12, n_compared=768, n_expected=768, forks=[]),
        gate("real-ngram-mod", "PASS", "768 ids equal", n_compared=768, forks=[], draft_n=340),
        gate("two-builds", "PASS", "14 files differ", n_compared=21),
    ]
    return suite("parity", gates)


def throughput(
    verdict: str = "PASS", reason: str = "all 2 scenarios pass", scenarios: Sequence[JsonValue] | None = None
) -> JsonObject:
    rows = [scenario(), scenario("exact-large, draft", 0.05, acceptance=0.62, per_round=2.41)]
    return suite("throughput", [*(rows if scenarios is None else scenarios), gate("throughput", verdict, reason)])


def patch(name: str, subject: str, **more: JsonValue) -> JsonObject:
    entry: JsonObject = {
        "id": name,
        "subject": subject,
        "feature": "host-path",
        "numerics": "bitwise",
        "switch": f"LLAMA_ARG_{name.upper().replace('-', '_')}=off",
        "targets": ["cpu"],
        "sha256": "a" * 64,
    }
    return entry | more


def archive(name: str, label: str, target: str = "cpu", digest: str = SPEED_DIGEST) -> JsonObject:
    return {
        "name": name,
        "size": 23_456_789,
        "sha256": "b" * 64,
        "target": target,
        "label": label,
        "content_digest": digest,
    }


def document_parts(suites: Sequence[JsonValue] | None = None) -> dict[str, Any]:
    """Plain JSON of a realistic release: `fixed` and `measured`."""
    fixed = {
        "release": RELEASE,
        "upstream": {"tag": "b11434", "tree": "c" * 40},
        "base_tag": "b11401",
        "speed_tree": "d" * 40,
        "recipe": "cpu-1",
        "compiler": "c++ (Debian 12.2.0-14) 12.2.0",
        "patches": [
            patch("host-greedy-argmax", "server: take the argmax without sorting the vocabulary"),
            patch("host-reuse-candidates", "sampling: keep one candidate array per slot", about="It was built anew."),
            patch("hybrid-exact", "server: restore hybrid state", switch=None, numerics="repair rollback"),
        ],
        "archives": [
            archive("llama-b11434-speed.3-bin-linux-cpu-x64.tar.gz", RELEASE),
            archive("llama-b11434-bin-linux-cpu-x64.tar.gz", "b11434", digest=STOCK_DIGEST),
            archive("llama-b11434-speed.3-source.tar.gz", RELEASE, "source", "e" * 64),
        ],
        "models": [{"id": "smollm2-135m-q4_1", "sha256": "f" * 64}],
    }
    measured = {
        "profile": "quick",
        "created": "2026-11-30T16:30:00Z",
        "machine": {
            "cpu": "Example CPU @ 2.40GHz",
            "cores": 2,
            "memory_gb": 7.8,
            "system": "Linux 6.1",
            "libc": "glibc 2.36",
        },
        "suites": list([parity(), throughput()] if suites is None else suites),
        "stages": [
            {"stage": "sync", "outcome": "skipped", "seconds": 41.2},
            {"stage": "build", "outcome": "done", "seconds": 613.0},
            {"stage": "parity", "outcome": "done", "verdict": "PASS", "seconds": 95.0},
            {"stage": "throughput", "outcome": "done", "verdict": "PASS", "seconds": 128.5},
        ],
    }
    return {"fixed": fixed, "measured": measured}


def manifest(
    suites: Sequence[JsonValue] | None = None, *, measured: JsonObject | None = None, **fixed: JsonValue
) -> Manifest:
    """A realistic manifest; `measured` replaces parts of that half, other keyword arguments parts of `fixed`."""
    parts = document_parts(suites)
    whole = {"fixed": parts["fixed"] | fixed, "measured": parts["measured"] | (measured or {})}
    return parse(Manifest, whole, source="test")


def drift_entry(patch_id: str = "host-reuse-candidates", **more: JsonValue) -> JsonObject:
    entry: JsonObject = {
        "patch": patch_id,
        "declaration": "mmq_args",
        "kind": "struct",
        "path": "ggml/src/ggml-cuda/mmq.cuh",
        "why": "field ncols_opt added",
        "since": "b11401",
        "until": "b11434",
        "diff": "@@ -1,2 +1,3 @@\n     int64_t ncols;\n+    int64_t ncols_opt;\n }",
        "acknowledged": False,
    }
    return entry | more


def settled_manifest() -> Manifest:
    """A realistic manifest of a release with one commit that upstream has, and one that met a conflict."""
    patches = [
        patch("gone", "is upstream's", state="absorbed"),
        patch("settled", "merged", resolutions=["5" * 40, "6" * 40]),
    ]
    return manifest(measured={"absorbed_in": {"gone": "b11420"}}, patches=patches)


def drifted_manifest(*entries: JsonValue) -> Manifest:
    """A realistic manifest of a release under whose commits upstream changed something."""
    return manifest(measured={"drift": list(entries)})
