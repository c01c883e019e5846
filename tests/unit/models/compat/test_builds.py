"""Which build knows a speculation type, and which archive of ours is for a card."""

import pytest

from ci.builds.arch import Capability
from ci.builds.target import load_targets
from ci.models.compat.answers import Fit
from ci.models.compat.builds import SINCE, archive_answer, speculation_answer

TARGETS = [target for lanes in load_targets().values() for target in lanes]
TURING = Capability(major=7, minor=5)


@pytest.mark.parametrize(
    ("build", "fit"),
    [
        (10159, Fit.REFUSED),
        (9000, Fit.REFUSED),
        (10160, Fit.UNKNOWN),
        (10172, Fit.UNKNOWN),
        (10173, Fit.OK),
        (11434, Fit.OK),
    ],
)
def test_dspark_came_between_two_builds(build: int, fit: Fit) -> None:
    answer = speculation_answer("draft-dspark", build)
    assert answer.fit is fit
    assert "after b10159, in b10173 or before" in (answer.reason, answer.expected) or fit is not Fit.OK


def test_a_build_between_says_between_which() -> None:
    answer = speculation_answer("draft-dspark", 10165)
    assert answer.reason == "draft-dspark came after b10159, in b10173 or before, and b10165 lies between"


def test_an_unheard_of_type_is_never_ok() -> None:
    assert speculation_answer("draft-oracle", 11434).fit is Fit.UNKNOWN


def test_every_type_knows_an_order_of_builds() -> None:
    assert all(since.without < since.known for since in SINCE.values())


@pytest.mark.parametrize(
    ("driver", "fit", "reason"),
    [
        ("535.183.01", Fit.OK, "sm75-cu12"),
        ("580", Fit.OK, "sm75-cu13"),
        ("470", Fit.REFUSED, "the driver is too old"),
        ("", Fit.UNKNOWN, "the driver is not given; there are sm75-cu13 from driver 580, sm75-cu12 from driver 525"),
    ],
)
def test_the_driver_chooses_the_lane(driver: str, fit: Fit, reason: str) -> None:
    answer = archive_answer(TURING, driver, TARGETS)
    assert (answer.fit, answer.reason) == (fit, reason)


def test_a_card_without_a_target_of_ours_is_told_so() -> None:
    answer = archive_answer(Capability(major=8, minor=9), "580", TARGETS)
    assert answer.fit is Fit.REFUSED
    assert "no target of ours carries machine code for compute capability 8.9" in answer.reason


def test_an_unknown_card_is_never_ok() -> None:
    assert archive_answer(None, "580", TARGETS).fit is Fit.UNKNOWN
