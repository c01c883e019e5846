"""The benchmark of device code's size: nothing missing may count as small."""

import pytest

from ci.errors import BuildFailed
from tests.bench.arch_size import BROAD, FILES, ONE, parse_lists, parse_sizes

LISTS = (*ONE, BROAD)
SAID = [
    "[1/6] Building CUDA object scale.cu.o",
    *(f"::archs {name} {name}" for name in ONE),
    f"::archs {BROAD} 75-virtual;86-real",
    *(f"::bytes {name} {file} {1000 + at}" for at, name in enumerate(LISTS) for file in FILES),
]


def test_sizes_are_read_by_list_and_file() -> None:
    sizes = parse_sizes(SAID)
    assert len(sizes) == len(LISTS) * len(FILES)
    assert sizes[BROAD, FILES[0]] == 1002


@pytest.mark.parametrize("end", ["scale.cu 1000", "scale.cu 1001", "scale.cu 1002"])
def test_a_size_that_is_missing_or_nothing_is_an_error(end: str) -> None:
    kept = [line for line in SAID if not line.endswith(end)]
    with pytest.raises(BuildFailed, match=r"no device code in scale\.cu"):
        parse_sizes(kept)
    lost = next(line for line in SAID if line.endswith(end))
    with pytest.raises(BuildFailed, match=r"no device code in scale\.cu"):
        parse_sizes([*kept, lost.rpartition(" ")[0] + " 0"])


def test_the_list_that_upstream_chose_must_be_named() -> None:
    assert parse_lists(SAID)[BROAD] == "75-virtual;86-real"
    with pytest.raises(BuildFailed, match="does not name the architectures"):
        parse_lists([line for line in SAID if not line.startswith(f"::archs {BROAD}")])
