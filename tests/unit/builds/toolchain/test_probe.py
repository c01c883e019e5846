"""What an image says of itself, read strictly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.builds.toolchain.probe import VERSIONS, parse_probe
from ci.errors import EngineProblem

DIGEST = "ab" * 32
SAID = (f"digest {DIGEST}", *(f"{name} {name} version 1" for name in VERSIONS), "arch compute_75", "arch compute_120")


def test_digest_versions_and_architectures() -> None:
    probed = parse_probe(SAID)
    assert (probed.digest, probed.nvcc) == (DIGEST, "nvcc version 1")
    assert probed.archs == ("compute_75", "compute_120")
    assert probed.identity.startswith(f"toolchain {DIGEST}; clang clang version 1; gcc gcc version 1; nvcc ")
    assert "\n" not in probed.identity


@pytest.mark.parametrize("at", range(len(VERSIONS) + 1))
@pytest.mark.parametrize("instead", [(), ("digest abc",), ("clang ",)])
def test_an_answer_with_a_gap_is_refused(at: int, instead: tuple[str, ...]) -> None:
    gap = SAID[at].partition(" ")[0]
    lines = [*instead, *(line for line in SAID if not line.startswith(f"{gap} "))]
    with pytest.raises(EngineProblem, match=gap):
        parse_probe(lines)


def test_an_answer_without_architectures_is_refused() -> None:
    with pytest.raises(EngineProblem, match="nvcc's architectures"):
        parse_probe(line for line in SAID if not line.startswith("arch"))
    with pytest.raises(EngineProblem, match="nvcc's architectures"):
        parse_probe([*SAID[:-2], "arch nvcc fatal: cannot"])


@given(st.lists(st.text(max_size=20) | st.sampled_from(SAID)))
def test_anything_is_whole_or_refused(lines: list[str]) -> None:
    try:
        probed = parse_probe(lines)
    except EngineProblem:
        return
    assert all(probed.versions)
    assert probed.archs
    assert len(probed.digest) == 64
