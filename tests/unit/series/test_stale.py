"""Files that are not what an export writes, with the beginning of the difference."""

from ci.series.stale import SHOWN, stale_files


def test_equal_files_are_not_named() -> None:
    assert stale_files({"a": b"1\n", "b": b"2\n"}, {"a": b"1\n", "b": b"2\n"}) == ()


def test_a_difference_is_shown_with_its_sides() -> None:
    (stale,) = stale_files({"a": b"x\ncaf\xe9\r\ny\n"}, {"a": b"x\ncafe\ny\n"})
    assert stale.name == "a"
    assert "-caf\\xe9\\r\n+cafe" in stale.diff
    assert stale.brief().splitlines()[1:3] == ["    a", "      @@ -1,3 +1,3 @@"]


def test_a_long_difference_is_cut() -> None:
    (stale,) = stale_files({"a": b""}, {"a": b"line\n" * 100})
    lines = stale.brief().splitlines()
    assert len(lines) == SHOWN + 3
    assert "more lines)" in lines[-1]
