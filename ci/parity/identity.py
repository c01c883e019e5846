"""Are the two sides of a comparison two builds at all? The same binary twice proves nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from ci.builds.alike import differences
from ci.outcome import GateResult, Verdict

GATE = "two-builds"
SERVER_PARTS = ("llama-server", "lib")  # a build's other programs do not run in this suite


@dataclass(frozen=True, kw_only=True)
class Side:
    """What one side says it is, and what it is.

    Attributes:
        variant: `stock` or `speed`.
        label: release id of the build.
        making: how it was built and from which upstream build, in words by name.
        files: SHA-256 by file name.
        build_info: what its running server reports.
    """

    variant: str
    label: str
    making: Mapping[str, str]
    files: dict[str, str]
    build_info: str

    @property
    def server_files(self) -> dict[str, str]:
        """The files that decide what a server says."""
        return {name: digest for name, digest in self.files.items() if name.startswith(SERVER_PARTS)}


def judge_two_builds(stock: Side, speed: Side) -> GateResult:
    """PASS when stock and speed are different programs, made alike from the same upstream build."""
    reason = next(iter(_doubts(stock, speed)), None)
    changed = sorted(name for name in {*stock.files, *speed.files} if stock.files.get(name) != speed.files.get(name))
    return GateResult(
        gate=GATE,
        verdict=Verdict.UNPROVEN if reason else Verdict.PASS,
        reason=reason or f"{stock.build_info} and {speed.build_info}: {len(changed)} files differ",
        evidence={
            "n_compared": len({*stock.files, *speed.files}),
            "n_expected": max(len(stock.files), len(speed.files)),
            "labels": [stock.label, speed.label],
            "build_info": [stock.build_info, speed.build_info],
            "changed_files": changed,
        },
    )


def _doubts(stock: Side, speed: Side) -> list[str]:
    doubts = []
    if (stock.variant, speed.variant) != ("stock", "speed"):
        doubts.append(f"expected a stock and a speed build, found {stock.variant} and {speed.variant}")
    if stock.server_files == speed.server_files:
        doubts.append(f"the same binary twice: {stock.label} and {speed.label} hold the same server files")
    if stock.build_info == speed.build_info:
        doubts.append(f"the same binary twice: both servers report {stock.build_info!r}")
    if stock.label == speed.label:
        doubts.append(f"both builds carry the label {stock.label!r}")
    unlike = differences(stock.making, speed.making)
    if unlike:
        doubts.append(f"stock and speed were not made alike: {'; '.join(unlike)}")
    return doubts
