"""The queue as a whole: what belongs together, and every way in which it may not."""

from pathlib import Path

import pytest

from ci.errors import EXIT_USAGE, SeriesProblem
from ci.series import order
from ci.series.order import Series, load_series
from ci.series.queue import queue_digest
from ci.upstream.tags import BuildTag
from tests.helpers.mails import MAIL

BASE = f'tag = "b100"\ntree = "{"a" * 40}"\nrevision = 1\n'


@pytest.fixture
def patches(tmp_path: Path) -> Path:
    (tmp_path / "base.toml").write_text(BASE)
    (tmp_path / "series").write_text("one.patch\ntwo.patch\n")
    for name in ("one", "two"):
        (tmp_path / f"{name}.patch").write_bytes(mail(name))
    return tmp_path


def mail(patch_id: str) -> bytes:
    return MAIL.replace(b"Speed-Id: one", f"Speed-Id: {patch_id}".encode())


def problem(patches: Path) -> str:
    with pytest.raises(SeriesProblem) as caught:
        load_series(patches)
    assert caught.value.exit_code == EXIT_USAGE
    return caught.value.message


def test_a_whole_queue_loads_in_order(patches: Path) -> None:
    (patches / "series").write_text("# the order matters\n\ntwo.patch  # first\r\none.patch\n\n")
    series = load_series(patches)
    assert series.ids == ("two", "one")
    assert (series.base.tag, series.base.tree, series.base.revision, series.base.commit) == (
        BuildTag(100),
        "a" * 40,
        1,
        None,
    )


def test_other_things_in_the_directory_are_left_alone(patches: Path) -> None:
    (patches / "retired").mkdir()
    (patches / "retired" / "old.patch").write_bytes(mail("old"))
    (patches / ".three.patch.x.part").write_bytes(b"half")
    (patches / "README.md").write_text("hello")
    assert load_series(patches).ids == ("one", "two")


def test_the_digest_follows_order_and_bytes_and_not_the_revision(patches: Path) -> None:
    first = load_series(patches).digest
    (patches / "base.toml").write_text(BASE.replace("revision = 1", "revision = 2"))
    assert load_series(patches).digest == first
    (patches / "series").write_text("two.patch\none.patch\n")
    swapped = load_series(patches).digest
    (patches / "one.patch").write_bytes(mail("one") + b"\n")
    assert len({first, swapped, load_series(patches).digest}) == 3


@pytest.mark.parametrize("text", ["", "# only words\n\n"])
def test_an_empty_series_is_refused(patches: Path, text: str) -> None:
    (patches / "series").write_text(text)
    assert "series: names no patch" in problem(patches)


def test_a_patch_that_series_does_not_name_is_refused(patches: Path) -> None:
    (patches / "three.patch").write_bytes(mail("three"))
    assert "three.patch: not in series" in problem(patches)


def test_a_name_without_a_file_is_refused(patches: Path) -> None:
    (patches / "two.patch").unlink()
    assert "two.patch: named in series, no such file" in problem(patches)


def test_a_name_that_stands_twice_is_refused(patches: Path) -> None:
    (patches / "series").write_text("one.patch\ntwo.patch\none.patch\n")
    assert "series: one.patch: 2 times" in problem(patches)


def test_two_files_with_one_id_are_refused(patches: Path) -> None:
    (patches / "two.patch").write_bytes(mail("one"))
    message = problem(patches)
    assert "two.patch: its Speed-Id is 'one': the file must be named one.patch" in message
    assert "two.patch: Speed-Id 'one' is also that of one.patch" in message


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("sub/one.patch", "without a slash"),
        ("../one.patch", "without a slash"),
        ("-one.patch", "must not begin with a dash"),
        ("one.patch -p0", "without options"),
        ("one.diff", "expected <Speed-Id>.patch"),
        ("One.patch", "expected <Speed-Id>.patch"),
        (".patch", "expected <Speed-Id>.patch"),
    ],
)
def test_a_name_that_is_no_plain_patch_file_is_refused(patches: Path, entry: str, words: str) -> None:
    (patches / "series").write_text(f"one.patch\ntwo.patch\n{entry}\n")
    message = problem(patches)
    assert f"series: {entry!r}" in message
    assert words in message


def test_a_link_in_place_of_a_patch_is_refused(patches: Path, tmp_path: Path) -> None:
    (patches / "two.patch").rename(tmp_path / "elsewhere")
    (patches / "two.patch").symlink_to(tmp_path / "elsewhere")
    assert "two.patch: a symbolic link" in problem(patches)


def test_a_patch_that_needs_a_newer_base_is_refused(patches: Path) -> None:
    newer = mail("two").replace(b"Requires-Upstream: b100", b"Requires-Upstream: b101")
    (patches / "two.patch").write_bytes(newer)
    assert "two.patch: Requires-Upstream b101 is newer than the base b100" in problem(patches)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "base.toml: no such file"),
        ("tag = ", "not valid TOML"),
        (BASE.replace("b100", "master"), "'master' is not an upstream build"),
        (BASE.replace("a" * 40, "abc"), "tree:"),
        (BASE.replace("revision = 1", "revision = 0"), "revision:"),
        (BASE.replace("revision = 1", "revision = true"), "revision:"),
        (BASE.replace("revision", "revison"), "did you mean 'revision'?"),
    ],
)
def test_a_base_that_cannot_be_is_refused(patches: Path, text: str | None, words: str) -> None:
    (patches / "base.toml").unlink() if text is None else (patches / "base.toml").write_text(text)
    assert words in problem(patches)


def test_every_fault_of_every_file_comes_in_one_message(patches: Path) -> None:
    (patches / "base.toml").unlink()
    (patches / "series").write_text("one.patch\nlost.patch\n-x\n")
    (patches / "one.patch").write_bytes(mail("one").replace(b"Speed-Feature: host-path\n", b""))
    message = problem(patches)
    assert "5 fault(s)" in message
    for words in ("base.toml", "lost.patch", "'-x'", "two.patch: not in series", "Speed-Feature: missing"):
        assert words in message


def test_what_several_files_lack_is_said_once_under_their_names(patches: Path) -> None:
    for name in ("one", "two"):
        raw = (
            mail(name)
            .replace(b"Speed-Feature: host-path\n", b"")
            .replace(b"Speed-Targets: cpu", b"Speed-Targets: TODO")
        )
        (patches / f"{name}.patch").write_bytes(raw)
    lines = problem(patches).splitlines()
    at = lines.index("    one.patch, two.patch:")
    assert "4 fault(s)" in lines[0]
    assert [line.partition(": ")[0] for line in lines[at + 1 : at + 3]] == [
        " " * 8 + "Speed-Feature",
        " " * 8 + "Speed-Targets",
    ]


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    assert f"{tmp_path / 'none'}: no such directory" in problem(tmp_path / "none")


def test_an_edit_while_the_queue_is_read_is_noticed_by_its_digest(
    patches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edited_meanwhile(patches_dir: Path) -> Series:
        series = load_series(patches_dir)
        (patches_dir / "one.patch").write_bytes(mail("one") + b"\n")
        return series

    untouched = queue_digest(patches)
    assert order.load_queue(patches) == (load_series(patches), untouched)
    monkeypatch.setattr(order, "load_series", edited_meanwhile)
    assert order.load_queue(patches)[1] == untouched != queue_digest(patches)
