"""Whether a build knows a speculation type, and whether one of ours is for a card and its driver."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ci.builds.arch import Capability, Cover, covers
from ci.builds.target import Target
from ci.models.compat.answers import Answer, Fit

RULE = "speculation type"
ARCHIVE_RULE = "build for the card"


@dataclass(frozen=True, kw_only=True)
class Since:
    """When upstream learnt a speculation type, as far as source archives of single builds tell.

    Attributes:
        without: last build seen without it; 0 where none was.
        known: first build seen with it.
    """

    without: int
    known: int

    def __str__(self) -> str:
        return f"after b{self.without}, in b{self.known} or before" if self.without else f"in b{self.known} or before"


SINCE: Mapping[str, Since] = MappingProxyType(
    {
        "draft-dspark": Since(without=10159, known=10173),
        "draft-dflash": Since(without=9093, known=10159),
        "draft-mtp": Since(without=9093, known=10159),
        "draft-eagle3": Since(without=9093, known=10159),
        "draft-simple": Since(without=9093, known=10159),
    }
)
"""By the type's name on the command line, read from common/speculative.cpp of the builds named. b9093 has some of
them under shorter names (`draft`, `eagle3`)."""


def speculation_answer(spec_type: str, build: int) -> Answer:
    """Whether a build has that value of `--spec-type`; between two archives nobody knows.

    Args:
        spec_type: such as `draft-dspark`.
        build: number of the upstream build, such as 11434.
    """
    since, found = SINCE.get(spec_type), f"b{build}"
    if since is None:
        return Answer(rule=RULE, fit=Fit.UNKNOWN, reason=f"nobody noted when {spec_type} came", found=found)
    if build >= since.known:
        return Answer(rule=RULE, fit=Fit.OK, reason=f"b{build} knows {spec_type}", found=found, expected=str(since))
    early = build <= since.without
    reason = f"{spec_type} came {since}" if early else f"{spec_type} came {since}, and b{build} lies between"
    fit = Fit.REFUSED if early else Fit.UNKNOWN
    return Answer(rule=RULE, fit=fit, reason=reason, found=found, expected=f"b{since.known} or newer")


def archive_answer(capability: Capability | None, driver: str, targets: Iterable[Target]) -> Answer:
    """Which archive of ours runs on a card, by its machine code and the driver that its toolkit needs.

    Args:
        capability: of the card; None where nobody knows it.
        driver: its version, such as `535.183.01`; empty where nobody knows it.
        targets: all targets, one for each lane, the usual lane first.
    """
    if capability is None:
        return Answer(rule=ARCHIVE_RULE, fit=Fit.UNKNOWN, reason="the card's compute capability is not given")
    fitting = [target for target in targets if target.lane and covers(target.archs, capability) is Cover.NATIVE]
    lanes = {target.id: target.lane.minimum_driver for target in fitting if target.lane}
    listed = ", ".join(f"{name} from driver {minimum}" for name, minimum in lanes.items())
    if not lanes:
        reason = f"no target of ours carries machine code for compute capability {capability}: build one yourself"
        return Answer(rule=ARCHIVE_RULE, fit=Fit.REFUSED, reason=reason, found=str(capability))
    major = driver.partition(".")[0]
    if not major.isdecimal():
        reason = f"the driver is not given; there are {listed}"
        return Answer(rule=ARCHIVE_RULE, fit=Fit.UNKNOWN, reason=reason, expected=listed)
    usable = [name for name, minimum in lanes.items() if int(major) >= int(minimum)]
    if not usable:
        return Answer(
            rule=ARCHIVE_RULE, fit=Fit.REFUSED, reason="the driver is too old", found=driver, expected=listed
        )
    return Answer(rule=ARCHIVE_RULE, fit=Fit.OK, reason=usable[0], found=f"driver {driver}", expected=listed)
