from pathlib import Path

import pytest

from ci.errors import UsageProblem
from ci.home import Home


def test_state_lives_in_the_checkout_by_default() -> None:
    home = Home.find(Path("/c"), {})
    assert (home.root, home.out, home.patches) == (Path("/c/.speedfork"), Path("/c/out"), Path("/c/patches"))


def test_the_environment_moves_it() -> None:
    assert Home.find(Path("/c"), {"SPEEDFORK_HOME": "/s"}).records == Path("/s/records")


def test_a_relative_home_is_refused_with_the_command_that_mends_it() -> None:
    with pytest.raises(UsageProblem, match=r"export SPEEDFORK_HOME=\$PWD/s"):
        Home.find(Path("/c"), {"SPEEDFORK_HOME": "s"})
