"""Which images a toolchain may stand on, and what is said when there is none."""

import pytest

from ci.builds.box import Job
from ci.builds.engine import Image
from ci.builds.target import find_lane
from ci.builds.toolchain.base import IMPORTED, PUBLIC, check_cuda_reference, find_base
from ci.errors import BaseMissing, EngineProblem, UsageProblem
from tests.helpers.fake_engine import Answer, FakeEngine, image_id

CU13, CU12 = find_lane("cu13"), find_lane("cu12")
PINNED = f"nvidia/cuda:12.8.2-devel-ubuntu22.04@sha256:{7:064x}"
WHOLE: Answer = (0, ("system debian 11",))


def image(number: int, *repo_digests: str) -> Image:
    return Image(id=image_id(number), labels={}, size=1, repo_digests=repo_digests)


def engine(*names: str, answer: Answer = WHOLE) -> FakeEngine:
    return FakeEngine({name: image(at) for at, name in enumerate(names, 1)}, answer=lambda _: answer)


def test_the_imported_base_comes_before_the_public_one() -> None:
    found = find_base(engine(PUBLIC, IMPORTED), "", "me")
    assert (found.id, found.name, found.lacks) == (image_id(2), image_id(2), ())
    assert find_base(engine(PUBLIC), "", "me").id == image_id(1)


def test_without_either_the_public_one_is_pulled_and_known_by_its_digest() -> None:
    empty = engine()
    empty.registry[PUBLIC] = image(9, "debian@sha256:99")
    found = find_base(empty, "", "me")
    assert (found.id, found.name) == (image_id(9), "debian@sha256:99")


def test_without_a_registry_the_commands_that_make_one_are_named() -> None:
    with pytest.raises(BaseMissing) as missing:
        find_base(engine(), "", "me")
    assert "no such host" in missing.value.message
    assert "debootstrap" in missing.value.hint
    assert f"docker import - {IMPORTED}" in missing.value.hint
    assert missing.value.exit_code == 6


def test_a_named_base_is_taken_from_the_engine_or_pulled_by_digest() -> None:
    mine = engine("mine:1", IMPORTED)
    assert find_base(mine, "mine:1", "me").id == image_id(1)
    reference = f"debian@sha256:{5:064x}"
    mine.registry[reference] = image(5, reference)
    assert find_base(mine, reference, "me").name == reference


def test_a_named_base_that_is_nowhere_is_a_fault() -> None:
    with pytest.raises(UsageProblem, match=r"--base mine:2: the engine has no such image"):
        find_base(engine("mine:1"), "mine:2", "me")
    with pytest.raises(EngineProblem, match="no such host"):
        find_base(engine(), f"debian@sha256:{5:064x}", "me")


def test_compilers_that_a_base_lacks_are_noted() -> None:
    bare = engine(IMPORTED, answer=(0, ("system debian 11", "lacks g++-10", "lacks clang-16")))
    assert find_base(bare, "", "me").lacks == ("g++-10", "clang-16")


@pytest.mark.parametrize(
    "answer",
    [(0, ("system debian 12",)), (0, ("system ubuntu 22.04",)), (0, ()), (2, ("sh: not found",)), (1, WHOLE[1])],
)
def test_a_base_that_is_no_debian_11_is_refused(answer: Answer) -> None:
    with pytest.raises(UsageProblem, match="not debian 11"):
        find_base(engine(IMPORTED, answer=answer), "", "me")


def test_the_base_is_looked_at_without_a_network_and_as_an_ordinary_user() -> None:
    jobs: list[Job] = []
    usual = engine(IMPORTED)
    find_base(usual, "", "me:1")
    jobs = usual.jobs
    assert [(job.image, job.owner, job.user) for job in jobs] == [(image_id(1), "me:1", "1000:1000")]


def test_cuda_comes_from_a_pinned_image_or_from_wheels() -> None:
    check_cuda_reference(CU13, "")
    check_cuda_reference(CU12, PINNED)
    check_cuda_reference(CU12, image_id(4))


@pytest.mark.parametrize(
    "reference", ["nvidia/cuda:12.8.2-devel-ubuntu22.04", "nvidia/cuda@sha256:12", f"@{image_id(4)}"]
)
def test_an_image_without_a_whole_digest_is_refused(reference: str) -> None:
    with pytest.raises(UsageProblem, match="a digest cannot") as refused:
        check_cuda_reference(CU12, reference)
    assert "--image nvidia/cuda:" in refused.value.hint


def test_a_lane_that_needs_an_image_says_what_to_type() -> None:
    with pytest.raises(UsageProblem, match="none was named") as refused:
        check_cuda_reference(CU12, "")
    assert refused.value.hint.startswith("invoke toolchain --lane cu12 --image nvidia/cuda:")


def test_an_image_for_a_lane_of_wheels_is_refused() -> None:
    with pytest.raises(UsageProblem, match="takes CUDA from wheels"):
        check_cuda_reference(CU13, PINNED)
